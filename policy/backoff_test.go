package policy

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brunt/chance"
)

func (b Backoff) at(n int, u float64, previous *time.Duration) time.Duration {
	return b.delay(n, previous, drawOf(u))
}

// drawOf returns the draw whose Float is u, rounded down to a multiple of 2^-53.
func drawOf(u float64) chance.Draw { return chance.Draw(uint64(u*0x1p53) << 11) }

func TestBackoffDelays(t *testing.T) {
	tests := []struct {
		backoff Backoff
		want    [4]time.Duration // before retries 1 to 4
	}{
		{Backoff{Kind: NoBackoff, Base: 10 * ms}, [4]time.Duration{}},
		{Backoff{Kind: Constant, Base: 10 * ms}, [4]time.Duration{10 * ms, 10 * ms, 10 * ms, 10 * ms}},
		{Backoff{Kind: Linear, Base: 10 * ms}, [4]time.Duration{10 * ms, 20 * ms, 30 * ms, 40 * ms}},
		{Backoff{Kind: Exponential, Base: 10 * ms, Factor: 2}, [4]time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms}},
		// a factor of 1.5 is exact here; what is not is rounded to the nanosecond
		{Backoff{Kind: Exponential, Base: 3, Factor: 1.5}, [4]time.Duration{3, 5, 7, 10}},
		// the cap cuts, from the retry that exceeds it
		{Backoff{Kind: Linear, Base: 10 * ms, Cap: 25 * ms}, [4]time.Duration{10 * ms, 20 * ms, 25 * ms, 25 * ms}},
		// a cap below the base cuts every delay
		{Backoff{Kind: Constant, Base: 10 * ms, Cap: 4 * ms}, [4]time.Duration{4 * ms, 4 * ms, 4 * ms, 4 * ms}},
	}
	for _, test := range tests {
		for i, want := range test.want {
			var previous time.Duration
			if got := test.backoff.at(i+1, 0.75, &previous); got != want {
				t.Errorf("%+v: retry %d after %v, want %v", test.backoff, i+1, got, want)
			}
		}
	}
}

func TestJitterAtPoints(t *testing.T) {
	b := func(j JitterKind, share float64, cap time.Duration) Backoff {
		return Backoff{Kind: Linear, Base: 100, Cap: cap, Jitter: Jitter{j, share}}
	}
	tests := []struct {
		backoff Backoff
		retry   int
		u       float64
		want    time.Duration
	}{
		// full: U[0, d]
		{b(Full, 0, 0), 2, 0, 0},
		{b(Full, 0, 0), 2, 0.25, 50},
		// equal: d/2 + U[0, d/2]
		{b(Equal, 0, 0), 2, 0, 100},
		{b(Equal, 0, 0), 2, 0.5, 150},
		// proportional: U[d(1-r), d(1+r)]
		{b(Proportional, 0.25, 0), 2, 0, 150},
		{b(Proportional, 0.25, 0), 2, 0.5, 200},
		{b(Proportional, 0.25, 0), 2, 0.75, 225},
		// the cap bounds what the jitter made of the delay
		{b(Proportional, 0.25, 210), 2, 0.75, 210},
		{b(Proportional, 0.25, 210), 2, 0.25, 175},
	}
	for _, test := range tests {
		var previous time.Duration
		if got := test.backoff.at(test.retry, test.u, &previous); got != test.want {
			t.Errorf("%+v at %v: %v, want %v", test.backoff, test.u, got, test.want)
		}
	}
}

// A decorrelated delay is U[base, 3·previous], whatever the kind says; the
// previous delay is the base at first, and as it was after the cap later on.
func TestDecorrelatedFollowsItsPrevious(t *testing.T) {
	b := Backoff{Kind: Exponential, Base: 100, Factor: 2, Cap: 1000, Jitter: Jitter{Kind: Decorrelated}}
	var previous time.Duration
	steps := []struct {
		u    float64
		want time.Duration
	}{
		{0.5, 200},   // U[100, 300]
		{0.75, 475},  // U[100, 600]
		{0, 100},     // U[100, 1425]
		{0.875, 275}, // U[100, 300]
		{0.5, 463},   // U[100, 825], 462.5 rounded
		{0.75, 1000}, // U[100, 1389]: 1067, capped
		{0.25, 825},  // U[100, 3000]: from the capped one
	}
	for i, s := range steps {
		if got := b.at(i+1, s.u, &previous); got != s.want {
			t.Fatalf("retry %d: %v, want %v", i+1, got, s.want)
		}
	}
}

func drawBackoff(t *rapid.T) Backoff {
	return Backoff{
		Kind:   rapid.SampledFrom([]Kind{NoBackoff, Constant, Linear, Exponential}).Draw(t, "kind"),
		Base:   time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base")),
		Factor: rapid.Float64Range(1, 1000).Draw(t, "factor"),
		Cap:    time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, int64(time.Hour))).Draw(t, "cap")),
		Jitter: Jitter{
			Kind:  rapid.SampledFrom([]JitterKind{NoJitter, Full, Equal, Decorrelated, Proportional}).Draw(t, "jitter"),
			Share: rapid.Float64Range(0, 1).Draw(t, "share"),
		},
	}
}

// Every kind and jitter keeps to its range, its cap and its worst case.
func TestBackoffKeepsItsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBackoff(t)
		previous, before := time.Duration(0), b.Base
		for n := 1; n <= 12; n++ {
			d := b.delay(n, &previous, chance.Draw(rapid.Uint64().Draw(t, "draw")))
			if b.Cap > 0 && d > b.Cap {
				t.Fatalf("%+v: retry %d waits %v, above the cap", b, n, d)
			}
			if d < 0 || d > b.longest(n) {
				t.Fatalf("%+v: retry %d waits %v, worst case %v", b, n, d, b.longest(n))
			}
			plain := float64(b.plain(n))
			low, high := plain, plain
			switch {
			case b.Kind == NoBackoff:
				low, high = 0, 0
			case b.Jitter.Kind == Full:
				low = 0
			case b.Jitter.Kind == Equal:
				low = plain / 2
			case b.Jitter.Kind == Proportional:
				low, high = plain*(1-b.Jitter.Share), plain*(1+b.Jitter.Share)
			case b.Jitter.Kind == Decorrelated:
				low, high = float64(b.Base), 3*float64(before)
				before = d
			}
			if b.Cap > 0 {
				low, high = min(low, float64(b.Cap)), min(high, float64(b.Cap))
			}
			const limit = 10 * 365 * 24 * float64(time.Hour) // what any delay is cut to
			if f := float64(d); f < math.Floor(min(low, limit)) || f > math.Ceil(high) {
				t.Fatalf("%+v: retry %d waits %v, want %v to %v", b, n, d, time.Duration(low), time.Duration(high))
			}
		}
	})
}

// The means over many draws, within 1 %: the standard error is below 0.5 % of
// each at 20,000 draws.
func TestJitterMeans(t *testing.T) {
	tests := []struct {
		jitter Jitter
		want   float64 // in delays
	}{
		{Jitter{Kind: NoJitter}, 1},
		{Jitter{Kind: Full}, 0.5},
		{Jitter{Kind: Equal}, 0.75},
		{Jitter{Kind: Decorrelated}, 2}, // before the first retry: U[base, 3·base]
		{Jitter{Proportional, 0.25}, 1},
	}
	const draws = 20000
	for _, test := range tests {
		b := Backoff{Kind: Constant, Base: time.Second, Jitter: test.jitter}
		var sum float64
		for i := range int64(draws) {
			var previous time.Duration
			sum += b.delay(1, &previous, chance.New(7).Draw(chance.Jitter, i, 0, 1)).Seconds()
		}
		if got := sum / draws; math.Abs(got/test.want-1) > 0.01 {
			t.Errorf("%s: mean %.4f delays, want %v", test.jitter.Kind, got, test.want)
		}
	}
}

func TestJitterText(t *testing.T) {
	// what a study may say, and how it is written again
	for text, want := range map[string]string{
		"none": "none", " full ": "full", "equal": "equal", "decorrelated": "decorrelated",
		"proportional(0.25)": "proportional(0.25)", "proportional( 1 )": "proportional(1)",
	} {
		var j Jitter
		if err := j.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, _ := j.MarshalText(); string(got) != want {
			t.Errorf("%q was written again as %q, want %q", text, got, want)
		}
	}
	// near misses, and shares that could make a delay negative or no number
	for _, text := range []string{"", "Full", "proportional", "proportional()", "proportional(1.1)", "proportional(-0.1)", "proportional(nan)", "proportional(0.5", "proportional(0.2_5)", "proportional(0x1p-2)", "half"} {
		j := Jitter{Kind: Equal}
		if err := j.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "is not a jitter") {
			t.Errorf("%q: error %v", text, err)
		}
		if j != (Jitter{Kind: Equal}) {
			t.Errorf("%q changed the jitter to %v although it was refused", text, j)
		}
	}
}
