package measure

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"brunt/record"
)

// DefaultBucket is the width of a goodput bucket.
const DefaultBucket = time.Second

// longestSeries bounds the buckets of one series: a study of 48 days by the
// second.
const longestSeries = 1 << 22

// SLO is what a caller was promised: limits on the time from the intended
// instant. A limit of 0 is none. Only a completion can meet it, at exactly the
// limit too.
type SLO struct {
	// The most time to the end. 0 is no limit.
	EndToEnd time.Duration `yaml:"end_to_end"`
	// The most time to the first token of a stream. 0 is no limit.
	FirstToken time.Duration `yaml:"first_token"`
}

// Met reports whether the request completed within every limit.
func (s SLO) Met(r Row) bool {
	return r.Outcome == record.Completed && s.within(r) && (s.FirstToken <= 0 || s.FirstTokenMet(r))
}

func (s SLO) within(r Row) bool { return s.EndToEnd <= 0 || r.Latency <= s.EndToEnd }

// EndToEndMet reports whether the request completed within the limit on its
// end, whenever its first token came.
func (s SLO) EndToEndMet(r Row) bool { return r.Outcome == record.Completed && s.within(r) }

// FirstTokenMet reports whether the first token came within its limit, however
// the request ended. Without a token it did not.
func (s SLO) FirstTokenMet(r Row) bool {
	return r.FirstToken >= 0 && (s.FirstToken <= 0 || r.FirstToken <= s.FirstToken)
}

// unknown reports whether the request was censored while it could still have
// met the limit on its end: it counts as not good, which may be unjust.
func (s SLO) unknown(r Row) bool {
	return r.Outcome == record.Censored && (s.EndToEnd <= 0 || r.Latency < s.EndToEnd)
}

// Ratio is good requests among scheduled ones. Ratios are added, never
// averaged, so that a thin bucket weighs no more than its requests.
type Ratio struct {
	Good      int64 `json:"good"`
	Scheduled int64 `json:"scheduled"`
}

func (a Ratio) plus(b Ratio) Ratio  { return Ratio{a.Good + b.Good, a.Scheduled + b.Scheduled} }
func (a Ratio) minus(b Ratio) Ratio { return Ratio{a.Good - b.Good, a.Scheduled - b.Scheduled} }

func (a *Ratio) add(good bool) {
	a.Scheduled++
	if good {
		a.Good++
	}
}

// Share returns good/scheduled; nil where nothing was scheduled.
func (a Ratio) Share() *float64 {
	if a.Scheduled <= 0 {
		return nil
	}
	share := float64(a.Good) / float64(a.Scheduled)
	return &share
}

// atLeast reports whether the ratio is at least a share q of a baseline. It
// compares whole numbers, so that exactly 90 % is at least 90 %.
func (a Ratio) atLeast(q PPM, baseline Ratio) bool {
	lhi, llo := bits.Mul64(uint64(a.Good)*uint64(baseline.Scheduled), uint64(Million))
	rhi, rlo := bits.Mul64(uint64(baseline.Good)*uint64(a.Scheduled), uint64(q))
	return lhi > rhi || lhi == rhi && llo >= rlo
}

// Goodput is a series of goodput: requests that are good among all scheduled,
// in buckets of one width, by intended instant.
type Goodput struct {
	From    time.Duration // start of the first bucket
	Width   time.Duration
	Buckets []Ratio
	Outside int64 // requests that lie in no whole bucket
}

// NewGoodput counts rows in buckets of a width that lie wholly in [from, to).
// What good means is the caller's: [SLO.Met], or one component of it.
func NewGoodput(rows []Row, good func(Row) bool, from, to, width time.Duration) (*Goodput, error) {
	switch {
	case width <= 0:
		return nil, fmt.Errorf("goodput in buckets of %v: the width must be above 0", width)
	case to < from:
		return nil, fmt.Errorf("goodput from %v to %v: ends before it begins", from, to)
	case (to-from)/width > longestSeries:
		return nil, fmt.Errorf("goodput from %v to %v in buckets of %v: more than %d buckets", from, to, width, longestSeries)
	}
	g := &Goodput{From: from, Width: width, Buckets: make([]Ratio, (to-from)/width)}
	for _, r := range rows {
		i := (r.Intended - from) / width
		if r.Intended < from || i >= time.Duration(len(g.Buckets)) {
			g.Outside++
			continue
		}
		g.Buckets[i].add(good(r))
	}
	return g, nil
}

// at returns the instant at which bucket i starts.
func (g *Goodput) at(i int) time.Duration { return g.From + time.Duration(i)*g.Width }

// after returns the first bucket that lies wholly after an instant.
func (g *Goodput) after(t time.Duration) int {
	if t <= g.From {
		return 0
	}
	return int(min((t-g.From+g.Width-1)/g.Width, time.Duration(len(g.Buckets))))
}

// sum adds the buckets i to j-1.
func (g *Goodput) sum(i, j int) Ratio {
	var total Ratio
	for _, b := range g.Buckets[i:max(i, j)] {
		total = total.plus(b)
	}
	return total
}

// Threshold is the goodput that one limit on the end would give.
type Threshold struct {
	Limit Millis `json:"limit_ms"`
	Rate
}

// Sweep returns the goodput of rows at each of several limits on the end, in
// the order given; the limit on the first token stays. Where requests were
// censored before a limit, the goodput at it is refused: some of them may have
// met it.
func (s SLO) Sweep(rows []Row, limits []time.Duration, deterministic bool) ([]Threshold, error) {
	sweep := make([]Threshold, 0, len(limits))
	for _, limit := range limits {
		if limit <= 0 {
			return nil, fmt.Errorf("threshold sweep: a limit of %v: it must be above 0", limit)
		}
		slo := SLO{EndToEnd: limit, FirstToken: s.FirstToken}
		var total Ratio
		unknown := int64(0)
		for _, r := range rows {
			total.add(slo.Met(r))
			if slo.unknown(r) {
				unknown++
			}
		}
		t := Threshold{Limit: Millis(limit), Rate: RateOf(total.Good, total.Scheduled, deterministic)}
		if unknown > 0 {
			t.Share, t.Low, t.High = nil, nil, nil
			t.Reason = fmt.Sprintf("refused: %d of %d requests were censored before %v", unknown, total.Scheduled, limit)
		}
		sweep = append(sweep, t)
	}
	return sweep, nil
}

// check says what is wrong with the limits.
func (s SLO) check() error {
	if s.EndToEnd < 0 || s.FirstToken < 0 {
		return errors.New("the SLO has a limit below 0")
	}
	if s.EndToEnd == 0 && s.FirstToken == 0 {
		return errors.New("the SLO has no limit: neither on the end nor on the first token")
	}
	return nil
}
