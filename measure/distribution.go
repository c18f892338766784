package measure

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The distributions that intervals and tests are made of, by the special functions
// of NIST's Digital Library of Mathematical Functions (chapter 8). gonum's distuv
// has them too, and brings a whole linear algebra along.

// betaQuantile returns the p-quantile of Beta(a, b): the inverse of the regularized
// incomplete beta function (DLMF 8.17).
func betaQuantile(p, a, b float64) float64 { return mathext.InvRegIncBeta(a, b, p) }

// normalQuantile returns the p-quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// studentTail returns the probability that Student's t with df degrees of freedom
// is beyond t, to one side: half of I_x(df/2, 1/2) at x = df/(df+t²) (DLMF 8.17).
func studentTail(t, df float64) float64 { return 0.5 * mathext.RegIncBeta(df/2, 0.5, df/(t*t+df)) }

// studentQuantile returns the p-quantile of Student's t, for p above a half: the
// inverse of studentTail.
func studentQuantile(p, df float64) float64 {
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*(1-p))
	return math.Sqrt(df * (1 - x) / x)
}

// chiSquaredTail returns the probability that chi squared with df degrees of
// freedom is beyond x >= 0: Q(df/2, x/2), the upper regularized incomplete gamma
// function (DLMF 8.2).
func chiSquaredTail(x, df float64) float64 { return mathext.GammaIncRegComp(df/2, x/2) }
