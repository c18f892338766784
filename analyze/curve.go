package analyze

import (
	"time"

	"brunt/measure"
	"brunt/record"
)

// tolerance is what an estimate may miss a quantile by and still reach it,
// where it is not plain counting.
const tolerance = 1e-12

// Point is the curve of a stratum at one time.
type Point struct {
	Time      time.Duration
	AtRisk    int64 // just before, everyone with this time or a later one
	Completed int64 // at this time
	Errored   int64
	Censored  int64

	Incidence   float64 // F: share completed by this time
	Outstanding float64 // S: share neither completed nor errored
	Variance    float64 // of Incidence
	// Band is the pointwise 95 % interval of Incidence; see [measure.Curve.Band].
	Band measure.Interval

	CompletedSoFar int64 // up to and at this time
	ErroredSoFar   int64
	CensoredBefore int64 // before this time; 0 makes Incidence plain counting

	event int64 // at risk at the last event up to this time, or now if there was none
}

// walker walks along the curve of one stratum, with entries in order of time.
// Its formulas are those of package measure (Aalen and Johansen, 1978, with the
// delta variance of Dinse and Larson, 1986), on counts instead of rows, and one
// point at a time:
//
//	S(t) = prod (1 - d/n), F(t) = sum S(t-) c/n
//	Var F(t) = sum (F(t)-F_j)^2 d_j/(n_j(n_j-d_j)) + sum S(t_j-)^2 c_j(n_j-c_j)/n_j^3
//	         - 2 sum (F(t)-F_j) S(t_j-) c_j/n_j^2
//
// Where nothing was censored before, F is completed/scheduled and Var is
// F(1-F)/n exactly, and they are computed so.
type walker struct {
	scheduled int64
	atRisk    int64
	point     Point    // the last one
	now       [3]int64 // at the time of the point that is being counted, by outcome
	time      time.Duration
	counting  bool // now holds something
	plain     bool // nothing was censored before the last event

	f, fLow float64 // F, and what its sum has lost
	// S is held as a share of its value at the last censoring: between two of
	// them it is a ratio of counts, and no product.
	s, sBase float64
	nBase    int64

	a, fa, ffa float64 // sums of a_j = d_j/(n_j(n_j-d_j)), (F-F_j) a_j, (F-F_j)^2 a_j
	b, fb      float64 // sums of b_j = S(t_j-) c_j/n_j^2, (F-F_j) b_j
	own        float64 // the second sum
}

func newWalker(scheduled int64) *walker {
	return &walker{scheduled: scheduled, atRisk: scheduled, plain: true, s: 1, sBase: 1, nBase: scheduled,
		point: Point{AtRisk: scheduled, Outstanding: 1, event: scheduled}}
}

// count takes entries in order of time. It reports whether a point before them
// is complete: then it stands in w.point.
func (w *walker) count(e entry) (complete bool) {
	if w.counting && e.time != w.time {
		w.step()
		complete = true
	}
	w.time, w.counting = e.time, true
	w.now[e.outcome()] += int64(e.count)
	return complete
}

// end completes the last point, if there is one.
func (w *walker) end() (complete bool) {
	if !w.counting {
		return false
	}
	w.step()
	w.counting = false
	return true
}

func (w *walker) step() {
	before := &w.point
	p := Point{
		Time: w.time, AtRisk: w.atRisk, Completed: w.now[record.Completed], Errored: w.now[record.Errored], Censored: w.now[record.Censored],
		CensoredBefore: w.scheduled - w.atRisk - before.CompletedSoFar - before.ErroredSoFar, event: w.atRisk,
	}
	w.now = [3]int64{}
	ends := p.Completed + p.Errored
	if ends == 0 && before.CompletedSoFar+before.ErroredSoFar > 0 {
		p.event = before.event
	}
	p.CompletedSoFar = before.CompletedSoFar + p.Completed
	p.ErroredSoFar = before.ErroredSoFar + p.Errored
	if p.CensoredBefore > 0 && ends > 0 {
		w.plain = false
	}
	w.estimate(float64(p.AtRisk), float64(p.Completed), float64(ends))
	w.s = w.sBase * float64(p.AtRisk-ends) / float64(w.nBase)
	w.atRisk -= ends + p.Censored
	if p.Censored > 0 {
		w.sBase, w.nBase = w.s, w.atRisk
	}
	if p.CensoredBefore == 0 {
		n := float64(w.scheduled)
		w.f, w.fLow = float64(p.CompletedSoFar)/n, 0
		p.Variance = w.f * (float64(w.scheduled-p.CompletedSoFar) / n) / n
	} else {
		p.Variance = max(w.ffa+w.own-2*w.fb, 0)
	}
	p.Incidence, p.Outstanding = w.f+w.fLow, w.s
	w.point = p
}

// estimate adds the ends of one time to the sums: c completions, d ends in all,
// n at risk.
func (w *walker) estimate(n, c, d float64) {
	rise := w.s * c / n
	w.ffa += rise * (2*w.fa + rise*w.a)
	w.fa += rise * w.a
	w.fb += rise * w.b
	if d < n { // else nobody is left for whom it could matter
		w.a += d / (n * (n - d))
	}
	w.b += w.s * c / (n * n)
	w.own += w.s * w.s * c * (n - c) / (n * n * n)
	// Compensated (Neumaier, 1974): a million rises must not lose the last digits.
	sum := w.f + rise
	if w.f >= rise {
		w.fLow += (w.f - sum) + rise
	} else {
		w.fLow += (rise - sum) + w.f
	}
	w.f = sum
}

// reaches reports whether the incidence at p is at least q.
func (w *walker) reaches(p *Point, q measure.PPM) bool {
	if p.CensoredBefore == 0 {
		return p.CompletedSoFar*int64(measure.Million) >= int64(q)*w.scheduled
	}
	return p.Incidence >= q.Float()-tolerance
}
