package measure

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestDistributions: each is that of gonum's distuv, to the bit.
func TestDistributions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0.5001, 0.9999).Draw(t, "p")
		a, b := rapid.Float64Range(0.5, 1e4).Draw(t, "a"), rapid.Float64Range(0.5, 1e4).Draw(t, "b")
		df := float64(rapid.IntRange(1, 200).Draw(t, "df"))
		x := rapid.Float64Range(0, 50).Draw(t, "x")
		student := distuv.StudentsT{Sigma: 1, Nu: df}
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"beta", betaQuantile(p, a, b), distuv.Beta{Alpha: a, Beta: b}.Quantile(p)},
			{"normal", normalQuantile(p), distuv.UnitNormal.Quantile(p)},
			{"the tail of Student's t", studentTail(x, df), student.CDF(-x)},
			{"the quantile of Student's t", studentQuantile(p, df), student.Quantile(p)},
			{"the tail of chi squared", chiSquaredTail(x, df), distuv.ChiSquared{K: df}.Survival(x)},
		} {
			if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
				t.Errorf("%s (p %v, a %v, b %v, df %v, x %v): %v, expected %v", c.name, p, a, b, df, x, c.got, c.want)
			}
		}
	})
}
