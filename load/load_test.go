package load

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
)

func rate(t testing.TB, s string) clock.Rate {
	t.Helper()
	r, err := clock.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func instants(s *Schedule) []time.Duration { return slices.Collect(s.Instants()) }

// segments joins stretches of so many seconds at rates a second.
func segments(seconds int64, rates ...int64) []Segment {
	var list []Segment
	for i, r := range rates {
		from := time.Duration(int64(i)*seconds) * time.Second
		list = append(list, Segment{From: from, To: from + time.Duration(seconds)*time.Second, Rate: clock.PerSecond(r)})
	}
	return list
}

func TestConstant(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name     string
		segments []Segment
		want     []time.Duration
	}{
		// arrival i at floor(i/rate)
		{"thirds", []Segment{{From: 0, To: 2 * s, Rate: rate(t, "3/s")}}, []time.Duration{0, 333333333, 666666666, s, 1333333333, 1666666666}},
		// the end does not belong to it: no arrival at 2 s
		{"closed on the left", []Segment{{From: 0, To: 2 * s, Rate: rate(t, "1/s")}}, []time.Duration{0, s}},
		// a nanosecond more, and there is one
		{"a nanosecond more", []Segment{{From: 0, To: 2*s + 1, Rate: rate(t, "1/s")}}, []time.Duration{0, s, 2 * s}},
		// two phases at one rate are one: the second does not begin with an arrival
		{"equal rates", []Segment{{From: 0, To: s, Rate: rate(t, "2/3s")}, {From: s, To: 4 * s, Rate: rate(t, "40/min")}}, []time.Duration{0, 1500 * time.Millisecond, 3 * s}},
		// another rate starts anew at its phase
		{"rate of a phase", []Segment{{From: 0, To: s, Rate: rate(t, "2/3s")}, {From: s, To: 2 * s, Rate: rate(t, "2/s")}, {From: 2 * s, To: 4 * s, Rate: rate(t, "2/3s")}},
			[]time.Duration{0, s, 1500 * time.Millisecond, 2 * s, 3500 * time.Millisecond}},
		// slower than its phase is long: the arrival at its start
		{"slow", []Segment{{From: 0, To: s, Rate: rate(t, "1/h")}}, []time.Duration{0}},
		{"none", nil, nil},
	}
	for _, test := range tests {
		schedule := New(Load{Arrivals: Constant}, test.segments, chance.New(1))
		got := instants(schedule)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if n := schedule.Expected(); n != int64(len(got)) || !schedule.Exact() {
			t.Errorf("%s: expected %d, exact %v", test.name, n, schedule.Exact())
		}
	}
}

// What Expected says is what Instants makes, in order and inside its phase.
func TestConstantIsAsExpected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []Segment
		var at time.Duration
		for range rapid.IntRange(1, 5).Draw(t, "phases") {
			length := time.Duration(rapid.Int64Range(1, 2e9).Draw(t, "length"))
			list = append(list, Segment{From: at, To: at + length, Rate: clock.PerSecond(rapid.Int64Range(1, 300).Draw(t, "rate"))})
			at += length
		}
		schedule := New(Load{Arrivals: Constant}, list, chance.New(1))
		got := instants(schedule)
		if int64(len(got)) != schedule.Expected() {
			t.Fatalf("%d arrivals, expected %d", len(got), schedule.Expected())
		}
		if !slices.IsSorted(got) || got[0] != 0 || got[len(got)-1] >= at {
			t.Fatalf("arrivals out of order or place: %v", got)
		}
	})
}

// An absurd load is counted, not made, and does not overflow.
func TestExpectedOfAnAbsurdLoad(t *testing.T) {
	day := 24 * time.Hour
	huge := []Segment{{From: 0, To: 36500 * day, Rate: rate(t, "1000000000/s")}, {From: 36500 * day, To: 73000 * day, Rate: rate(t, "999999999/s")}}
	if n := New(Load{Arrivals: Constant}, huge, chance.New(1)).Expected(); n < 4e18 {
		t.Errorf("expected %d arrivals", n)
	}
	hour := []Segment{{From: 0, To: time.Hour, Rate: rate(t, "1000000000/s")}}
	if n := New(Load{Arrivals: Constant}, hour, chance.New(1)).Expected(); n != 3600e9 {
		t.Errorf("expected %d arrivals, want 3.6e12", n)
	}
}

// Poisson: counts over many seeds have mean and variance rate·time, in each
// phase of its own rate. The bounds are five standard errors of 400 counts: of
// the mean sqrt(m/400); of the variance about m·sqrt(2/400).
func TestPoissonCounts(t *testing.T) {
	const seeds = 400
	list := segments(10, 20, 5, 80)
	sums, squares := make([]float64, 3), make([]float64, 3)
	for seed := range int64(seeds) {
		counts := make([]float64, 3)
		last := time.Duration(-1)
		for at := range New(Load{Arrivals: Poisson}, list, chance.New(seed)).Instants() {
			if at < last || at >= 30*time.Second {
				t.Fatalf("seed %d: an arrival at %v after one at %v", seed, at, last)
			}
			last = at
			counts[at/(10*time.Second)]++
		}
		for i, c := range counts {
			sums[i] += c
			squares[i] += c * c
		}
	}
	for i, want := range []float64{200, 50, 800} {
		mean := sums[i] / seeds
		variance := squares[i]/seeds - mean*mean
		if most := 5 * math.Sqrt(want/seeds); math.Abs(mean-want) > most {
			t.Errorf("phase %d: mean count %.2f, want %v within %.2f", i, mean, want, most)
		}
		if most := 5 * want * math.Sqrt(2./seeds); math.Abs(variance-want) > most {
			t.Errorf("phase %d: variance of the count %.2f, want %v within %.2f", i, variance, want, most)
		}
	}
}

// The gaps within a phase are exponential: their mean is 1/rate and their
// coefficient of variation 1 (standard error of either about 1/sqrt(n)).
func TestPoissonGaps(t *testing.T) {
	got := instants(New(Load{Arrivals: Poisson}, segments(500, 100), chance.New(5)))
	var sum, squares float64
	for i := 1; i < len(got); i++ {
		gap := (got[i] - got[i-1]).Seconds() * 100
		sum, squares = sum+gap, squares+gap*gap
	}
	n := float64(len(got) - 1)
	mean := sum / n
	variation := math.Sqrt(squares/n-mean*mean) / mean
	if most := 5 / math.Sqrt(n); math.Abs(mean-1) > most || math.Abs(variation-1) > most {
		t.Errorf("mean gap %.4f, coefficient of variation %.4f, want 1 within %.4f", mean, variation, most)
	}
}

// The same luck meets every rate: at twice the rate everything comes in half
// the time, and a phase of another rate leaves what was before it as it was.
func TestPoissonLuck(t *testing.T) {
	slow := instants(New(Load{Arrivals: Poisson}, segments(20, 50), chance.New(9)))
	fast := instants(New(Load{Arrivals: Poisson}, segments(10, 100), chance.New(9)))
	if len(slow) != len(fast) {
		t.Fatalf("%d arrivals at 50/s in 20 s, %d at 100/s in 10 s", len(slow), len(fast))
	}
	for i := range slow {
		if diff := slow[i]/2 - fast[i]; diff < -1 || diff > 1 {
			t.Fatalf("arrival %d at %v and at %v", i, slow[i], fast[i])
		}
	}
	two := instants(New(Load{Arrivals: Poisson}, segments(10, 50, 500), chance.New(9)))
	n, _ := slices.BinarySearch(slow, 10*time.Second)
	if diff := cmp.Diff(slow[:n], two[:n]); diff != "" {
		t.Errorf("the second phase moved arrivals of the first:\n%s", diff)
	}
	// the first arrival of the second phase takes the rest of its gap at the new rate
	rest := float64(slow[n]-10*time.Second) / 10
	if got := float64(two[n] - 10*time.Second); math.Abs(got-rest) > 2 {
		t.Errorf("first arrival of the second phase %.0f ns into it, want %.0f", got, rest)
	}
}

func TestBurstAndTrace(t *testing.T) {
	burst := New(Load{Arrivals: Burst, Burst: 3}, segments(1, 0), chance.New(1))
	if diff := cmp.Diff(make([]time.Duration, 3), instants(burst)); diff != "" || burst.Expected() != 3 || !burst.Exact() {
		t.Errorf("burst: expected %d\n%s", burst.Expected(), diff)
	}
	given := []time.Duration{0, 5, 5, 17}
	trace := New(Load{Arrivals: Trace, Instants: given}, nil, chance.New(1))
	if diff := cmp.Diff(given, instants(trace)); diff != "" || trace.Expected() != 4 || !trace.Exact() {
		t.Errorf("trace: expected %d\n%s", trace.Expected(), diff)
	}
}

// An iterator that is left early stops, and a second one starts anew.
func TestInstantsCanBeLeft(t *testing.T) {
	for _, l := range []Load{
		{Arrivals: Constant}, {Arrivals: Poisson}, {Arrivals: Burst, Burst: 9}, {Arrivals: Trace, Instants: make([]time.Duration, 9)},
	} {
		s := New(l, segments(1, 100), chance.New(1))
		n := 0
		for range s.Instants() {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			t.Errorf("%s: left after %d", l.Arrivals, n)
		}
		if diff := cmp.Diff(instants(s), instants(s)); diff != "" {
			t.Errorf("%s: two iterations differ:\n%s", l.Arrivals, diff)
		}
	}
}

// The seed decides, and nothing else.
func TestDeterminism(t *testing.T) {
	make := func(seed int64) []time.Duration {
		return instants(New(Load{Arrivals: Poisson}, segments(10, 50, 10), chance.New(seed)))
	}
	if diff := cmp.Diff(make(1), make(1)); diff != "" {
		t.Errorf("one seed, two schedules:\n%s", diff)
	}
	if cmp.Equal(make(1), make(2)) {
		t.Error("two seeds, one schedule")
	}
}

func TestDelay(t *testing.T) {
	const noise = 300 * time.Microsecond
	none := New(Load{Arrivals: Constant}, nil, chance.New(1))
	some := New(Load{Arrivals: Constant, DispatchNoise: noise}, nil, chance.New(1))
	var sum float64
	const n = 10000
	for i := range int64(n) {
		if d := none.Delay(i); d != 0 {
			t.Fatalf("without noise request %d is %v late", i, d)
		}
		d := some.Delay(i)
		if d < 0 || d >= noise {
			t.Fatalf("request %d is %v late, with a noise of %v", i, d, noise)
		}
		sum += float64(d)
	}
	// uniform: mean noise/2, with a standard error of noise/sqrt(12n) = 0.3 %
	if mean := sum / n / float64(noise); math.Abs(mean-0.5) > 0.015 {
		t.Errorf("mean delay %.4f of the noise", mean)
	}
}

// Trials of another noise move submissions, never arrivals; trial 0 is the
// noise of the schedule itself.
func TestNoisy(t *testing.T) {
	const noise = time.Millisecond
	s := New(Load{Arrivals: Constant, DispatchNoise: noise}, segments(1, 100), chance.New(1))
	same, other := s.Noisy(noise, 0), s.Noisy(noise, 1)
	moved := 0
	for i := range int64(100) {
		if same.Delay(i) != s.Delay(i) {
			t.Fatalf("trial 0 delays request %d by %v, the schedule by %v", i, same.Delay(i), s.Delay(i))
		}
		if other.Delay(i) != s.Delay(i) {
			moved++
		}
	}
	if moved < 90 {
		t.Errorf("trial 1 has other delays for %d of 100 requests", moved)
	}
	if quiet := s.Noisy(0, 3); quiet.Delay(5) != 0 || s.Delay(5) == 0 {
		t.Errorf("without noise a delay of %v, with noise %v", quiet.Delay(5), s.Delay(5))
	}
	if diff := cmp.Diff(instants(s), instants(other)); diff != "" {
		t.Errorf("noise moved arrivals:\n%s", diff)
	}
}

// A cursor that has come to the end stays there.
func TestCursorStaysAtItsEnd(t *testing.T) {
	for _, l := range []Load{
		{Arrivals: Constant}, {Arrivals: Poisson}, {Arrivals: Burst, Burst: 2}, {Arrivals: Trace, Instants: make([]time.Duration, 2)},
	} {
		c := New(l, segments(1, 3, 2), chance.New(1)).Cursor()
		for _, ok := c.Next(); ok; _, ok = c.Next() {
		}
		for range 3 {
			if at, ok := c.Next(); ok {
				t.Errorf("%s: an arrival at %v after the last one", l.Arrivals, at)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	r := clock.PerSecond(1)
	tests := []struct {
		load  Load
		paths string
	}{
		{Load{Arrivals: Constant, Rate: r}, ""},
		{Load{Arrivals: Poisson, Rate: r, MaxInFlight: 5, DispatchNoise: 1}, ""},
		{Load{Arrivals: Burst, Burst: 1}, ""},
		{Load{Arrivals: Trace, Trace: "arrivals.txt"}, ""},
		// each kind needs its own setting
		{Load{Arrivals: Constant}, "rate"},
		{Load{Arrivals: Burst}, "burst"},
		{Load{Arrivals: Trace}, "trace"},
		// and has no use for those of others
		{Load{Arrivals: Constant, Rate: r, Burst: 2}, "burst"},
		{Load{Arrivals: Burst, Burst: 2, Rate: r}, "rate"},
		{Load{Arrivals: Poisson, Rate: r, Trace: "arrivals.txt"}, "trace"},
		{Load{Arrivals: "sometimes", Rate: r}, "arrivals rate"},
		{Load{Arrivals: Burst, Burst: -1}, "burst"},
		{Load{Arrivals: Constant, Rate: r, MaxInFlight: -1, DispatchNoise: -1}, "dispatch_noise max_in_flight"},
	}
	for _, test := range tests {
		p := check.New()
		test.load.Check(p)
		var paths []string
		for _, problem := range p.All() {
			paths = append(paths, problem.Path)
		}
		if got := strings.Join(paths, " "); got != test.paths {
			t.Errorf("%+v: faults at %q, want %q", test.load, got, test.paths)
		}
	}
	var l Load
	l.SetDefaults()
	if l.Arrivals != Constant || !l.Rated() {
		t.Errorf("by default %+v", l)
	}
}
