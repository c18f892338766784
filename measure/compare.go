package measure

import (
	"fmt"
	"math"
)

// Difference compares one scalar of two compositions that met the same
// arrivals, paired by seed: B - A.
type Difference struct {
	Name        string     `json:"name"`
	Verdict     Verdict    `json:"verdict"`
	N           int        `json:"n"` // pairs
	A           *float64   `json:"a"` // means
	B           *float64   `json:"b"`
	Differences []*float64 `json:"differences"` // per seed; null where one side was refused
	Mean        *float64   `json:"mean"`        // of the differences
	Low         *float64   `json:"low"`         // 95 % t-interval
	High        *float64   `json:"high"`
	T           *float64   `json:"t"`
	P           *float64   `json:"p"` // two-sided
	// Correlation is of the two sides over the seeds: what pairing bought. The
	// variance of the difference is that of unpaired runs times 1 - Saved.
	Correlation *float64 `json:"correlation"`
	Saved       *float64 `json:"variance_saved"`
	Reason      string   `json:"reason,omitempty"` // why a number is absent
	Flag        string   `json:"flag,omitempty"`
}

// Verdict says what a comparison shows.
type Verdict string

// The verdicts of a comparison.
const (
	Differs      Verdict = "difference"
	NoDifference Verdict = "no difference shown" // the interval holds 0
	Descriptive  Verdict = "descriptive"         // one pair: a difference and no interval
	Refused      Verdict = "refused"             // a side has no value
)

// Compare compares b with a, whose values stand in the order of the same
// seeds: a t-interval on the paired differences (Student, 1908). Sides of
// different length are refused, and so is a pair without a value: those that
// are left would be those in which all went well.
func Compare(name string, a, b []Scalar) Difference {
	d := Difference{Name: name, Verdict: Refused, N: len(a)}
	switch {
	case len(a) != len(b):
		d.Reason = fmt.Sprintf("refused: %d and %d values are no pairs", len(a), len(b))
		return d
	case len(a) == 0:
		d.Reason = "refused: no pairs"
		return d
	}
	var as, bs, diffs []float64
	for i := range a {
		if !a[i].known() || !b[i].known() {
			d.Differences = append(d.Differences, nil)
			continue
		}
		diff := b[i].Value - a[i].Value
		d.Differences = append(d.Differences, &diff)
		as, bs, diffs = append(as, a[i].Value), append(bs, b[i].Value), append(diffs, diff)
	}
	if refused := len(a) - len(diffs); refused > 0 {
		d.Reason = fmt.Sprintf("refused: no value on one side in %d of %d pairs", refused, len(a))
		return d
	}
	d.judge(as, bs, diffs)
	return d
}

func (d *Difference) judge(as, bs, diffs []float64) {
	ma, sa := meanSD(as)
	mb, sb := meanSD(bs)
	mean, sd := meanSD(diffs)
	d.A, d.B, d.Mean = &ma, &mb, &mean
	if d.N < 2 {
		d.Verdict, d.Reason = Descriptive, "no interval: one pair, the difference is descriptive"
		return
	}
	low, high := tInterval(mean, sd, d.N)
	d.Low, d.High = &low, &high
	d.Verdict = Differs
	if low <= 0 && high >= 0 {
		d.Verdict = NoDifference
	}
	if sd > 0 {
		t := mean / (sd / math.Sqrt(float64(d.N)))
		p := 2 * studentTail(t, float64(d.N-1))
		d.T, d.P = &t, &p
	} else {
		d.Flag = NoSpread
	}
	if sa > 0 && sb > 0 {
		r := correlation(as, bs, ma, mb, sa, sb)
		saved := 1 - sd*sd/(sa*sa+sb*sb)
		d.Correlation, d.Saved = &r, &saved
	} else {
		d.Reason = "no correlation: the values of one side are all equal"
	}
}

// correlation is Pearson's.
func correlation(as, bs []float64, ma, mb, sa, sb float64) float64 {
	sum := 0.0
	for i := range as {
		sum += (as[i] - ma) / sa * ((bs[i] - mb) / sb)
	}
	return max(-1, min(1, sum/float64(len(as)-1)))
}

// Regression says whether a difference is worse than a limit allows.
type Regression string

// The verdicts on a limit. Unclear says that nobody can tell: a side was
// refused, or there is one pair and chance in it.
const (
	WithinLimit Regression = "within the limit"
	OverLimit   Regression = "over the limit"
	Noise       Regression = "noise can explain it"
	Unclear     Regression = "unclear"
)

// Beyond judges whether B exceeds A by more than a share of A; a limit below 0
// asks whether it falls short by more. A difference over the limit that noise
// can explain, one whose interval holds 0, is no regression. Of one pair only
// deterministic runs tell a difference from noise. With A at 0 any difference
// in the limit's direction is over it.
func (d Difference) Beyond(limit float64, deterministic bool) Regression {
	if d.Verdict == Refused || d.Mean == nil {
		return Unclear
	}
	allowed := limit * math.Abs(*d.A)
	over := *d.Mean > allowed
	if limit < 0 {
		over = *d.Mean < allowed
	}
	switch {
	case !over:
		return WithinLimit
	case deterministic || d.Verdict == Differs:
		return OverLimit
	case d.Verdict == Descriptive:
		return Unclear
	}
	return Noise
}
