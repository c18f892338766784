package measure

import (
	"math/bits"
	"slices"
	"time"

	"brunt/record"
)

// A timeSpread counts times in bins that grow with them: an octave has 1<<fine of
// them. Curves are drawn by bins of at most 1.6 %, columns of at most 6 %.
const (
	fineBits   = 6
	coarseBits = 4
)

// timeSpread counts how requests ended, by the time that it took. Each bin knows the
// longest time in it, so that times that are all alike come out exact.
type timeSpread struct {
	fine int
	bins []spreadBin // ascending; those that are not empty
	last int         // the bin that was met last
}

type spreadBin struct {
	at                           int32
	completed, errored, censored int64
	most                         time.Duration
}

// binOf is the bin of a time: the octave, and the part of it.
func binOf(t time.Duration, fine int) int32 {
	v := uint64(max(t, 0))
	octave := bits.Len64(v)
	if octave <= fine+1 {
		return int32(v)
	}
	shift := octave - 1 - fine
	return int32(shift<<fine) + int32(v>>shift)
}

func (s *timeSpread) add(t time.Duration, outcome record.Outcome) {
	at := binOf(t, s.fine)
	if s.last >= len(s.bins) || s.bins[s.last].at != at {
		i, found := slices.BinarySearchFunc(s.bins, at, func(b spreadBin, at int32) int { return int(b.at) - int(at) })
		if !found {
			s.bins = slices.Insert(s.bins, i, spreadBin{at: at, most: t})
		}
		s.last = i
	}
	b := &s.bins[s.last]
	b.most = max(b.most, t)
	switch outcome {
	case record.Completed:
		b.completed++
	case record.Errored:
		b.errored++
	default:
		b.censored++
	}
}

// Column is the latency of the completed requests that were intended in one
// stretch of time.
type Column struct {
	Completed int64
	P50, P95  Millis // nearest rank, at most 6 % above; of Completed > 0
	Bins      []Bin  // ascending
}

// Bin counts latencies from one to below another. An octave has sixteen bins.
type Bin struct {
	From, To Millis
	Count    int64
}

func (s *timeSpread) column() Column {
	c := Column{}
	for _, b := range s.bins {
		c.Completed += b.completed
	}
	p50, p95 := Rank(percentiles[0], c.Completed), Rank(percentiles[1], c.Completed)
	seen := int64(0)
	for _, b := range s.bins {
		if before := seen; b.completed > 0 {
			seen += b.completed
			if before < p50 && p50 <= seen {
				c.P50 = Millis(b.most)
			}
			if before < p95 && p95 <= seen {
				c.P95 = Millis(b.most)
			}
			c.Bins = append(c.Bins, Bin{Millis(binStart(b.at, s.fine)), Millis(binStart(b.at+1, s.fine)), b.completed})
		}
	}
	return c
}

// binStart is the least time of a bin.
func binStart(at int32, fine int) time.Duration {
	if at < 2<<fine {
		return time.Duration(at)
	}
	shift := at>>fine - 1
	return time.Duration(at-shift<<fine) << shift
}

// CurveShape is the completion-incidence curve of one phase as it is drawn: in
// steps of at most 1.6 % of the time.
type CurveShape struct {
	Phase    string
	Offered  int64
	Censored int64
	Points   []ShapePoint
	Band     []ShapeBand // none where there is no sampling error
	Final    float64     // share that completed
	Ceiling  float64     // had every outstanding request completed later
}

// ShapePoint is the share of requests completed by a time.
type ShapePoint struct {
	At    Millis
	Share float64
}

// ShapeBand is the pointwise 95 % interval of a share.
type ShapeBand struct{ Share, Low, High float64 }

// bandEvery is by how much a share must have risen for its interval to be worth
// computing again.
const bandEvery = 1. / 40

func (s *timeSpread) shape(phase string, horizon time.Duration, sampled bool) CurveShape {
	c, err := CurveOf(func(yield func(Count) bool) {
		for _, b := range s.bins {
			if !yield(Count{Time: b.most, Completed: b.completed, Errored: b.errored, Censored: b.censored}) {
				return
			}
		}
	}, horizon)
	if err != nil { // bins ascend and hold no count below 0
		panic(err)
	}
	out := CurveShape{Phase: phase, Offered: c.Scheduled, Censored: c.Censored, Final: c.Final(), Ceiling: c.Ceiling()}
	banded := -1.
	for i := range c.Points {
		p := &c.Points[i]
		if p.Completed == 0 {
			continue
		}
		out.Points = append(out.Points, ShapePoint{At: Millis(p.Time), Share: p.Incidence})
		if sampled && (p.Incidence >= banded+bandEvery || p.Incidence >= out.Final) {
			band := c.BandAt(p)
			out.Band = append(out.Band, ShapeBand{p.Incidence, band.Low, band.High})
			banded = p.Incidence
		}
	}
	return out
}
