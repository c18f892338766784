package dependency

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/chance"
	"brunt/check"
)

func draws(l *Latency, n int64) []time.Duration {
	sample := l.sampler()
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = sample(chance.New(3).Draw(chance.Latency, int64(i), 0, 0))
	}
	return list
}

func mean(list []time.Duration) float64 {
	var sum float64
	for _, d := range list {
		sum += float64(d)
	}
	return sum / float64(len(list))
}

func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// kolmogorov is the greatest distance between the distribution of a sample and
// a distribution function.
func kolmogorov(list []time.Duration, f func(time.Duration) float64) (d float64) {
	slices.Sort(list)
	n := float64(len(list))
	for i, x := range list {
		p := f(x)
		d = max(d, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	return d
}

// Each distribution against its own function. The bound 1.95/sqrt(n) is
// exceeded with a chance of 0.001 (Kolmogorov); the draws are fixed.
func TestDistributions(t *testing.T) {
	const n = 20000
	lognormal := func(mu, sigma float64) func(time.Duration) float64 {
		return func(d time.Duration) float64 { return normal((math.Log(float64(d)) - mu) / sigma) }
	}
	ln := func(d time.Duration) float64 { return math.Log(float64(d)) }
	tests := []struct {
		name    string
		latency Latency
		f       func(time.Duration) float64
		mean    float64 // ms
	}{
		// ln t normal with mu = ln 700, sigma = ln(1180/700)/1.6449
		{"lognormal p50 p95", Latency{Lognormal: &Lognormal{P50: 700 * ms, P95: 1180 * ms}},
			lognormal(ln(700*ms), math.Log(1180./700)/1.6448536269514722), 700 * math.Exp(math.Pow(math.Log(1180./700)/1.6448536269514722, 2)/2)},
		// without the median: sigma = ln(t99/t90)/(z99-z90), mu = ln t90 - sigma·z90
		{"lognormal p90 p99", Latency{Lognormal: &Lognormal{P90: 100 * ms, P99: 200 * ms}}, func(d time.Duration) float64 {
			sigma := math.Ln2 / (2.3263478740408408 - 1.2815515655446004)
			return lognormal(ln(100*ms)-sigma*1.2815515655446004, sigma)(d)
		}, 0},
		{"exponential", Latency{Exponential: &Exponential{Mean: 40 * ms}}, func(d time.Duration) float64 { return 1 - math.Exp(-float64(d)/float64(40*ms)) }, 40},
		{"uniform", Latency{Uniform: &Uniform{Min: 10 * ms, Max: 50 * ms}}, func(d time.Duration) float64 { return float64(d-10*ms) / float64(40*ms) }, 30},
		{"normal", Latency{Normal: &Normal{Mean: 100 * ms, SD: 10 * ms}}, func(d time.Duration) float64 { return normal(float64(d-100*ms) / float64(10*ms)) }, 100},
	}
	for _, test := range tests {
		list := draws(&test.latency, n)
		// 2 % is more than five standard errors of each of these means
		if got := mean(list) / float64(ms); test.mean != 0 && math.Abs(got/test.mean-1) > 0.02 {
			t.Errorf("%s: mean %.3f ms, want %.3f", test.name, got, test.mean)
		}
		if d, most := kolmogorov(list, test.f), 1.95/math.Sqrt(n); d > most {
			t.Errorf("%s: off its distribution by %.4f, more than %.4f", test.name, d, most)
		}
	}
}

// The two quantiles that were given come out: the share of draws at or below
// each, within five standard errors.
func TestLognormalGoesThroughItsQuantiles(t *testing.T) {
	const n = 40000
	tests := []Lognormal{
		{P50: 20 * ms, P90: 50 * ms}, {P50: 700 * ms, P95: 1180 * ms}, {P50: ms, P99: 2 * time.Second},
		{P90: 50 * ms, P95: 60 * ms}, {P90: 50 * ms, P99: 60 * ms}, {P95: 50 * ms, P99: 400 * ms},
	}
	for _, l := range tests {
		list := draws(&Latency{Lognormal: &l}, n)
		for i, q := range l.quantiles() {
			if q == 0 {
				continue
			}
			p := []float64{0.5, 0.9, 0.95, 0.99}[i]
			below := 0
			for _, d := range list {
				if d <= q {
					below++
				}
			}
			if off, most := math.Abs(float64(below)/n-p), 5*math.Sqrt(p*(1-p)/n); off > most {
				t.Errorf("%+v: %.4f of the draws are within %v, want %v", l, float64(below)/n, q, p)
			}
		}
	}
}

// The normal quantiles that lognormal distributions are laid through.
func TestZScores(t *testing.T) {
	for i, p := range []float64{0.5, 0.9, 0.95, 0.99} {
		if got := normal(zScores[i]); math.Abs(got-p) > 1e-15 {
			t.Errorf("the normal distribution at %v is %v, want %v", zScores[i], got, p)
		}
	}
}

func TestEdgesOfDistributions(t *testing.T) {
	// both ends of a uniform distribution come up, and nothing beyond
	for _, d := range draws(&Latency{Uniform: &Uniform{Min: 3, Max: 5}}, 1000) {
		if d < 3 || d > 5 {
			t.Fatalf("uniform [3, 5]: %d", d)
		}
	}
	if list := draws(&Latency{Uniform: &Uniform{Min: 3, Max: 5}}, 1000); slices.Min(list) != 3 || slices.Max(list) != 5 {
		t.Error("uniform [3, 5] leaves out an end")
	}
	// a normal distribution is cut off at 0: half of this one is
	zeros := 0
	for _, d := range draws(&Latency{Normal: &Normal{Mean: 1, SD: time.Second}}, 10000) {
		if d < 0 {
			t.Fatalf("normal: %v", d)
		}
		if d == 0 {
			zeros++
		}
	}
	if zeros < 4750 || zeros > 5250 {
		t.Errorf("normal with mean 0: %d of 10000 at 0", zeros)
	}
	// no spread
	for _, d := range draws(&Latency{Normal: &Normal{Mean: 7 * ms}}, 10) {
		if d != 7*ms {
			t.Fatalf("normal without spread: %v", d)
		}
	}
	// every time of a file, as often as it stands there
	counts := map[time.Duration]int{}
	for _, d := range draws(&Latency{Empirical: &Empirical{Times: []time.Duration{1, 2, 2, 9}}}, 8000) {
		counts[d]++
	}
	for d, want := range map[time.Duration]int{1: 2000, 2: 4000, 9: 2000} {
		if got := counts[d]; got < want-250 || got > want+250 {
			t.Errorf("empirical: %v came %d times, want about %d", d, got, want)
		}
	}
	if len(counts) != 3 {
		t.Errorf("empirical: %v", counts)
	}
	// the longest tail still fits a duration
	if d := (&Latency{Lognormal: &Lognormal{P50: time.Hour, P90: 1000 * time.Hour}}).sampler()(math.MaxUint64); d != check.Longest {
		t.Errorf("the last draw of a long tail: %v", d)
	}
}

func TestLatencyText(t *testing.T) {
	var l Latency
	if err := l.UnmarshalText([]byte("5ms")); err != nil || l.Constant == nil || *l.Constant != 5*ms {
		t.Errorf("5ms: %+v, error %v", l, err)
	}
	for _, s := range []string{"", "5", "fast", "5ms 6ms"} {
		if err := l.UnmarshalText([]byte(s)); err == nil || !strings.Contains(err.Error(), "is not a latency") {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

func TestLatencyCheck(t *testing.T) {
	tests := []struct {
		name    string
		latency Latency
		paths   string
	}{
		{"a duration", *Fixed(0), ""},
		{"negative", *Fixed(-1), "latency"},
		{"none", Latency{}, "latency"},
		{"two", Latency{Constant: p(ms), Uniform: &Uniform{Max: ms}}, "latency"},
		{"lognormal", Latency{Lognormal: &Lognormal{P50: 1, P99: 2}}, ""},
		{"lognormal, one quantile", Latency{Lognormal: &Lognormal{P50: 1}}, "latency.lognormal"},
		{"lognormal, three quantiles", Latency{Lognormal: &Lognormal{P50: 1, P90: 2, P99: 3}}, "latency.lognormal"},
		{"lognormal, falling", Latency{Lognormal: &Lognormal{P50: 2, P95: 1}}, "latency.lognormal.p95"},
		{"lognormal, no spread", Latency{Lognormal: &Lognormal{P50: 2, P95: 2}}, "latency.lognormal.p95"},
		{"exponential", Latency{Exponential: &Exponential{}}, "latency.exponential.mean"},
		{"uniform, reversed", Latency{Uniform: &Uniform{Min: 2, Max: 1}}, "latency.uniform.max"},
		{"uniform, negative", Latency{Uniform: &Uniform{Min: -1, Max: 1}}, "latency.uniform.min"},
		{"normal", Latency{Normal: &Normal{Mean: 0, SD: -1}}, "latency.normal.mean latency.normal.sd"},
		{"empirical", Latency{Empirical: &Empirical{File: " "}}, "latency.empirical.file"},
	}
	for _, test := range tests {
		p := check.New()
		test.latency.Check(p.In("latency"))
		if got := paths(p); got != test.paths {
			t.Errorf("%s: faults at %q, want %q", test.name, got, test.paths)
		}
	}
}

func paths(p check.Problems) string {
	var list []string
	for _, problem := range p.All() {
		list = append(list, problem.Path)
	}
	return strings.Join(list, " ")
}
