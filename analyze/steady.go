package analyze

import "math"

// steady returns lower limits of k in n where n stays and k goes slowly: on a
// curve of a million points two exact limits a point would take most of the
// time. In the angle asin(sqrt(k/n)) the limit is smooth: in each of many narrow
// cells it is a polynomial through six exact values. Tests hold it to 1e-11.
type steady struct {
	n     float64
	cell  int
	nodes [6]float64 // angles
	terms [6]float64 // divided differences of the limit's angle less its own
}

const (
	cells = 400 // of a right angle
	// margin is how many cells at either end have exact limits: near 0 and n the
	// limit is not smooth enough.
	margin = 4
	// worthwhile is from where on a curve may have more points than cells have
	// nodes.
	worthwhile = 20_000
)

// lower returns the lower limit.
func (s *steady) lower(k, n float64) float64 {
	if n < worthwhile {
		return lowerTail(k, n-k+1)
	}
	angle := math.Asin(math.Sqrt(k / n))
	cell := int(angle * (cells / (math.Pi / 2)))
	if cell < margin || cell >= cells-margin {
		return lowerTail(k, n-k+1)
	}
	if n != s.n || cell != s.cell {
		s.fit(n, cell)
	}
	at := s.terms[len(s.terms)-1]
	for i := len(s.terms) - 2; i >= 0; i-- {
		at = at*(angle-s.nodes[i]) + s.terms[i]
	}
	sin := math.Sin(angle + at)
	return sin * sin
}

// fit lays a polynomial through the values at the Chebyshev nodes of a cell, in
// Newton's form.
func (s *steady) fit(n float64, cell int) {
	s.n, s.cell = n, cell
	for i := range s.nodes {
		within := (1 + math.Cos(math.Pi*(2*float64(i)+1)/(2*float64(len(s.nodes))))) / 2
		s.nodes[i] = (float64(cell) + within) * (math.Pi / 2 / cells)
		sin, cos := math.Sincos(s.nodes[i])
		limit := lowerTail(n*sin*sin, n*cos*cos+1)
		s.terms[i] = math.Asin(math.Sqrt(limit)) - s.nodes[i]
	}
	for order := 1; order < len(s.terms); order++ {
		for i := len(s.terms) - 1; i >= order; i-- {
			s.terms[i] = (s.terms[i] - s.terms[i-1]) / (s.nodes[i] - s.nodes[i-order])
		}
	}
}
