package measure

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Scalar is one number of one run, or its refusal.
type Scalar struct {
	Value float64
	// Refused says in words why there is no value: "> 30 s", "unattainable".
	Refused string
	// Beyond says that the refused value lies above every value that a run can
	// have: it orders last, and a median below it is still known.
	Beyond bool
}

// known reports whether the run has a value; NaN and infinity are none.
func (s Scalar) known() bool {
	return s.Refused == "" && !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0)
}

// ScalarOf returns a quantile as the scalar of a run, in milliseconds.
func ScalarOf(q Quantile) Scalar {
	if q.Status == Reached {
		return Scalar{Value: float64(*q.Millis) / 1e6}
	}
	return Scalar{Refused: string(q.Status), Beyond: q.Status != Empty}
}

// Spread sums up a scalar over repeats. The run is the unit: requests of one
// run are not independent, so they are not pooled. There is no bootstrap: five
// values resample to a handful of means.
type Spread struct {
	Name     string     `json:"name"`
	Values   []*float64 `json:"values"`   // in the order of the repeats; null where refused
	Verdicts []string   `json:"verdicts"` // all in order of size, refusals in words after the values
	N        int        `json:"n"`
	Refused  int        `json:"refused"`
	Lead     Lead       `json:"lead"` // what to print first

	Median *float64 `json:"median"`
	Least  *float64 `json:"min"`
	Most   *float64 `json:"max"`
	Mean   *float64 `json:"mean"`
	SD     *float64 `json:"sd"`
	Low    *float64 `json:"low"` // 95 % t-interval of the mean
	High   *float64 `json:"high"`

	Reason string `json:"reason,omitempty"` // why a number is absent
	Flag   string `json:"flag,omitempty"`   // what to beware of
}

// Lead names the summary that a scalar is led by.
type Lead string

// A heavy-tailed scalar, such as a recovery time, leads with its median and
// range: its mean hangs on the worst repeat.
const (
	LeadMean   Lead = "mean"
	LeadMedian Lead = "median"
)

// NoSpread flags repeats that are all equal.
const NoSpread = "all values are equal: the interval has no width, and says nothing of what did not vary"

// SpreadOf sums up one scalar over repeats: every value, median, range, mean
// and mean ± t(.975, N-1) s/√N (Student, 1908). Fewer than two repeats have no
// interval. A refused value is carried through: then there is no mean, and the
// verdicts stand in order instead.
func SpreadOf(name string, repeats []Scalar, heavyTailed bool) Spread {
	s := Spread{Name: name, N: len(repeats), Lead: LeadMean, Values: make([]*float64, len(repeats))}
	if heavyTailed {
		s.Lead = LeadMedian
	}
	var values []float64
	for i, r := range repeats {
		if !r.known() {
			s.Refused++
			continue
		}
		s.Values[i] = &repeats[i].Value
		values = append(values, r.Value)
	}
	slices.Sort(values)
	s.Verdicts = verdicts(values, repeats)
	if s.N == 0 {
		s.Reason = "no repeats"
		return s
	}
	if s.Refused > 0 {
		s.refuse(values, repeats)
		return s
	}
	s.Median, s.Least, s.Most = middle(values, s.N), &values[0], &values[len(values)-1]
	mean, sd := meanSD(values)
	s.Mean = &mean
	if s.N < 2 {
		s.Reason = "no interval: refused with fewer than 2 repeats"
		return s
	}
	low, high := tInterval(mean, sd, s.N)
	s.SD, s.Low, s.High = &sd, &low, &high
	if sd == 0 {
		s.Flag = NoSpread
	}
	return s
}

// refuse leaves out what refused repeats leave unknown. Where each lies beyond
// every value, the middle of the order is still a value or nothing.
func (s *Spread) refuse(values []float64, repeats []Scalar) {
	s.Lead = LeadMedian
	s.Reason = "no mean: refused in " + strconv.Itoa(s.Refused) + " of " + strconv.Itoa(s.N) + " repeats: " + strings.Join(s.Verdicts, ", ")
	if slices.ContainsFunc(repeats, func(r Scalar) bool { return !r.known() && !(r.Refused != "" && r.Beyond) }) || len(values) == 0 {
		return
	}
	s.Least, s.Median = &values[0], middle(values, s.N)
}

// middle returns the median of n values, of which the least are known; nil
// when that does not tell it.
func middle(known []float64, n int) *float64 {
	if n/2 >= len(known) {
		return nil
	}
	m := known[n/2]
	if n%2 == 0 {
		m = known[n/2-1] + (m-known[n/2-1])/2
	}
	return &m
}

// verdicts returns the values, ascending, then the refusals in words: first
// those by which nothing is known of the size.
func verdicts(values []float64, repeats []Scalar) []string {
	list := make([]string, 0, len(repeats))
	for _, v := range values {
		list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
	}
	var refused []Scalar
	for _, r := range repeats {
		switch {
		case r.Refused != "":
			refused = append(refused, r)
		case !r.known():
			refused = append(refused, Scalar{Refused: "no number"})
		}
	}
	sort.SliceStable(refused, func(i, j int) bool {
		a, b := refused[i], refused[j]
		if a.Beyond != b.Beyond {
			return !a.Beyond
		}
		return a.Refused < b.Refused // "beyond" comes before "unattainable"
	})
	for _, r := range refused {
		list = append(list, r.Refused)
	}
	return list
}

// meanSD returns the mean and the sample standard deviation; 0 of one value.
// Values are taken from the first, so that equal ones have no spread at all.
func meanSD(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x - xs[0]
	}
	mean /= float64(len(xs))
	for _, x := range xs {
		d := x - xs[0] - mean
		sd += d * d
	}
	if len(xs) > 1 {
		sd = math.Sqrt(sd / float64(len(xs)-1))
	}
	return xs[0] + mean, sd
}

// tInterval returns mean ± t(.975, n-1) s/√n.
func tInterval(mean, sd float64, n int) (low, high float64) {
	half := tQuantile(n-1) * sd / math.Sqrt(float64(n))
	return mean - half, mean + half
}

// tQuantile returns the 97.5 % quantile of Student's t.
func tQuantile(df int) float64 {
	return studentQuantile(1-tail, float64(df))
}
