package measure

import (
	"math"
	"time"
)

// GrayTest compares the incidence of completion of several groups. It takes
// requests as independent, which those of one run are not: it is descriptive.
type GrayTest struct {
	Statistic *float64 `json:"statistic"` // chi-squared under equal incidence
	DF        int      `json:"df"`
	P         *float64 `json:"p"`
	Reason    string   `json:"reason,omitempty"` // why there is none
}

const noOverlap = "no test: the groups were never at risk together"

// Gray tests whether the groups' completion incidence is the same (Gray, A
// class of K-sample tests for comparing the cumulative incidence of a competing
// risk, Annals of Statistics 16, 1988), with equal weights over time, rho = 0.
//
// Per group r and just before a time: Y_r at risk, S_r the share outstanding,
// G_r = 1 - F_r, h_r = Y_r/S_r, and R_r = h_r G_r, those at risk had the errored
// stayed so. With D completions at that time, D_k of them in group k, the score
// is
//
//	z_k = sum D_k - D R_k/R
//
// and with the pooled incidence dF = D/h, G = 1 - F and no difference between
// groups its covariance is
//
//	V_kl = sum_r sum_t a_kr a_lr dF/h_r (1 - (D-1)/(h S_r-1)) + b_kr b_lr d_r/h_r^2 (1 - (d_r-1)/(Y_r-1))
//	d_kr = h_k ([k = r] - h_r/h)
//	b_kr = -G/S_r (c_kr(end) - c_kr),   c_kr = sum d_kr dF/G
//	a_kr = d_kr + c_kr(end) - c_kr + b_kr
//
// where d_r are the errors of group r, G and S_r in b are those after the time,
// and the factors in brackets correct for ties, as for sampling without
// replacement. The statistic z' V^-1 z has K-1 degrees of freedom.
func Gray(groups ...*Curve) GrayTest {
	k := len(groups)
	if k < 2 {
		return GrayTest{Reason: "no test: fewer than two groups"}
	}
	g := GrayTest{DF: k - 1}
	total := int64(0)
	for _, c := range groups {
		if c.Scheduled == 0 {
			g.Reason = "no test: a group has no requests"
			return g
		}
		total += c.Completed
	}
	if total == 0 {
		g.Reason = "no test: nothing completed"
		return g
	}
	t := grayed{groups: k - 1, z: make([]float64, k-1)}
	for range k - 1 {
		t.c = append(t.c, make([]float64, k))
		t.d = append(t.d, make([]float64, k))
		t.v = append(t.v, make([]float64, k-1))
	}
	eachTime(groups, t.score)
	t.end, t.c = t.c, nil
	for range k - 1 {
		t.c = append(t.c, make([]float64, k))
	}
	eachTime(groups, t.covary)
	x, ok := solve(t.v, t.z)
	if !ok {
		g.Reason = noOverlap
		return g
	}
	statistic := 0.0
	for i := range x {
		statistic += x[i] * t.z[i]
	}
	statistic = max(statistic, 0)
	p := chiSquaredTail(statistic, float64(g.DF))
	g.Statistic, g.P = &statistic, &p
	return g
}

// moment is all groups at one time.
type moment struct {
	groups  []side
	d, h, r float64 // completions; sums of h_r and R_r
	rise    float64 // dF
	before  float64 // G before
	after   float64 // G after
}

// side is one group at one time.
type side struct {
	atRisk, completed, errored float64
	before, after              float64 // S
	h, r                       float64
	next                       int // its first point at this time or later
}

// eachTime walks over the distinct times of all groups, in order. The moment is
// good for the call alone.
func eachTime(curves []*Curve, visit func(*moment)) {
	m := moment{groups: make([]side, len(curves)), after: 1}
	for {
		now, more := time.Duration(math.MaxInt64), false
		for i, c := range curves {
			if next := m.groups[i].next; next < len(c.Points) {
				now, more = min(now, c.Points[next].Time), true
			}
		}
		if !more {
			return
		}
		m.d, m.h, m.r, m.rise, m.before = 0, 0, 0, 0, m.after
		for i, c := range curves {
			s := &m.groups[i]
			s.look(c, now)
			m.d += s.completed
			m.h += s.h
			m.r += s.r
		}
		if m.d > 0 {
			m.rise = m.d / m.h
			m.after = max(m.before-m.rise, 0)
		}
		visit(&m)
	}
}

// look sets a group to a time, and steps over its point there.
func (s *side) look(c *Curve, now time.Duration) {
	incidence := 0.0
	*s = side{next: s.next, before: 1}
	if s.next > 0 {
		last := &c.Points[s.next-1]
		s.before, incidence = last.Outstanding, last.Incidence
	}
	s.after = s.before
	if s.next == len(c.Points) {
		return
	}
	p := &c.Points[s.next]
	s.atRisk = float64(p.AtRisk)
	if s.before > 0 {
		s.h = s.atRisk / s.before
		s.r = s.h * (1 - incidence)
	}
	if p.Time == now {
		s.completed, s.errored, s.after = float64(p.Completed), float64(p.Errored), p.Outstanding
		s.next++
	}
}

// grayed gathers the test's sums, of all groups but the last one: the scores
// of all add up to 0.
type grayed struct {
	groups int
	z      []float64
	d      [][]float64 // d_kr at the time
	c, end [][]float64 // c_kr up to the time, and at the end
	v      [][]float64
}

// weigh sets d_kr and adds to c_kr.
func (g *grayed) weigh(m *moment) {
	for k := range g.groups {
		for r := range m.groups {
			g.d[k][r] = 0
			if m.h > 0 {
				g.d[k][r] = -m.groups[k].h * m.groups[r].h / m.h
			}
			if k == r {
				g.d[k][r] += m.groups[k].h
			}
			if m.before > 0 {
				g.c[k][r] += g.d[k][r] * m.rise / m.before
			}
		}
	}
}

func (g *grayed) score(m *moment) {
	g.weigh(m)
	if m.d == 0 {
		return
	}
	for k := range g.groups {
		g.z[k] += m.groups[k].completed
		if m.r > 0 {
			g.z[k] -= m.d * m.groups[k].r / m.r
		}
	}
}

func (g *grayed) covary(m *moment) {
	g.weigh(m)
	for r, s := range m.groups {
		if s.h == 0 || m.d == 0 && s.errored == 0 {
			continue
		}
		ratio := 0.0
		if s.after > 0 {
			ratio = m.after / s.after
		}
		completions := m.rise / s.h * withoutReplacement(m.d, m.h*s.before)
		errors := s.errored / (s.h * s.h) * withoutReplacement(s.errored, s.atRisk)
		for k := range g.groups {
			restK := g.end[k][r] - g.c[k][r]
			for l := range g.groups {
				restL := g.end[l][r] - g.c[l][r]
				g.v[k][l] += (g.d[k][r]+(1-ratio)*restK)*(g.d[l][r]+(1-ratio)*restL)*completions + ratio*restK*ratio*restL*errors
			}
		}
	}
}

// withoutReplacement returns 1 - (d-1)/(n-1), the correction for d ties among n.
func withoutReplacement(d, n float64) float64 {
	if d <= 1 || n <= 1 {
		return 1
	}
	return max(1-(d-1)/(n-1), 0)
}

// solve returns v^-1 z by Gaussian elimination with pivots on the diagonal: v
// is a covariance. It does not when v is singular.
func solve(v [][]float64, z []float64) ([]float64, bool) {
	n := len(z)
	x, diagonal := make([]float64, n), make([]float64, n)
	copy(x, z)
	for i := range n {
		diagonal[i] = v[i][i]
	}
	for i := range n {
		pivot := v[i][i]
		if !(pivot > 1e-12*diagonal[i]) { // a rounded 0
			return nil, false
		}
		for j := i + 1; j < n; j++ {
			f := v[j][i] / pivot
			for l := i; l < n; l++ {
				v[j][l] -= f * v[i][l]
			}
			x[j] -= f * x[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for l := i + 1; l < n; l++ {
			x[i] -= v[i][l] * x[l]
		}
		x[i] /= v[i][i]
	}
	return x, true
}
