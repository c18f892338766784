package load

import (
	"brunt/check"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/clock"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ramping is a ramp over whole seconds between rates per second.
func ramping(length float64, from, to int64) Segment {
	return Segment{To: seconds(length), Rate: clock.PerSecond(from), End: clock.PerSecond(to)}
}

// swinging is a sine over whole seconds.
func swinging(length float64, rate int64, amplitude check.Share, period float64) Segment {
	return Segment{To: seconds(length), Rate: clock.PerSecond(rate), Sine: Sine{amplitude, seconds(period)}}
}

// later moves a segment, and its sine begins so long before it.
func (s Segment) later(by, began time.Duration) Segment {
	s.From, s.To, s.Origin = s.From+by, s.To+by, s.From+by-began
	return s
}

// The integrated rate against its closed form, in seconds.
func TestIntegratedRate(t *testing.T) {
	const tau = 2 * math.Pi
	tests := []struct {
		name string
		seg  Segment
		n    func(t float64) float64
		rate func(t float64) float64
	}{
		// from 100/s to 500/s in 10 s: 100 t + 20 t^2
		{"up", ramping(10, 100, 500),
			func(t float64) float64 { return 100*t + 20*t*t }, func(t float64) float64 { return 100 + 40*t }},
		// the same the other way
		{"down", ramping(10, 500, 100),
			func(t float64) float64 { return 500*t - 20*t*t }, func(t float64) float64 { return 500 - 40*t }},
		// a change of one in a billion keeps its place
		{"hardly", ramping(10, 1_000_000_000, 999_999_999),
			func(t float64) float64 { return 1e9*t - 0.05*t*t }, func(t float64) float64 { return 1e9 - 0.1*t }},
		// the integral of 100 (1 + sin(2 pi t/20)/2): 100 t + 500/pi (1 - cos(2 pi t/20))
		{"sine", swinging(50, 100, 500_000, 20),
			func(t float64) float64 { return 100*t + 500/math.Pi*(1-math.Cos(tau*t/20)) },
			func(t float64) float64 { return 100 * (1 + math.Sin(tau*t/20)/2) }},
		// all the way down to 0
		{"whole sine", swinging(50, 100, check.Whole, 20),
			func(t float64) float64 { return 100*t + 1000/math.Pi*(1-math.Cos(tau*t/20)) },
			func(t float64) float64 { return 100 * (1 + math.Sin(tau*t/20)) }},
		// one that began 7 s before counts from its own start
		{"sine under way", swinging(50, 100, 500_000, 20).later(0, 7*time.Second),
			func(t float64) float64 {
				return 100*t + 500/math.Pi*(math.Cos(tau*7/20)-math.Cos(tau*(t+7)/20))
			},
			func(t float64) float64 { return 100 * (1 + math.Sin(tau*(t+7)/20)/2) }},
	}
	for _, test := range tests {
		s := ready(test.seg)
		schedule := New(Load{Arrivals: Constant}, []Segment{test.seg}, chance.New(1))
		for i := range 101 {
			at := (test.seg.To - test.seg.From) / 100 * time.Duration(i)
			n, rate := s.at(int64(at))
			x := at.Seconds()
			if want := test.n(x); math.Abs(n-want) > 1e-12*(1+want) {
				t.Errorf("%s: N(%v) = %.15g, want %.15g", test.name, at, n, want)
			}
			want := test.rate(x)
			if math.Abs(rate*1e9-want) > 1e-12*(100+want) {
				t.Errorf("%s: rate %.15g at %v, want %.15g", test.name, rate*1e9, at, want)
			}
			if got := schedule.RateAt(at); at < test.seg.To && math.Abs(got-want) > 1e-12*(100+want) {
				t.Errorf("%s: RateAt(%v) = %.15g, want %.15g", test.name, at, got, want)
			}
		}
	}
}

func drawRate(t *rapid.T, label string) clock.Rate {
	s := fmt.Sprintf("%d/%d%s", rapid.IntRange(1, 1000).Draw(t, label), rapid.IntRange(1, 50).Draw(t, label+" per"),
		rapid.SampledFrom([]string{"ms", "s"}).Draw(t, label+" unit"))
	r, err := clock.ParseRate(s)
	if err != nil {
		t.Skip("not a usable rate")
	}
	return r
}

func ratio(r clock.Rate) *big.Rat {
	count, per := r.Fraction()
	return big.NewRat(count, int64(per))
}

// exactly is N of a ramp in rational numbers: a t + (b-a) t^2/(2L).
func exactly(s Segment, t int64) *big.Rat {
	x := new(big.Rat).SetInt64(t)
	square := new(big.Rat).Sub(ratio(s.End), ratio(s.Rate))
	square.Mul(square, big.NewRat(1, 2*int64(s.To-s.From)))
	square.Mul(square, x).Mul(square, x)
	return square.Add(square, x.Mul(x, ratio(s.Rate)))
}

// Every arrival of a ramp is at floor of the instant at which it is due, and
// there are as many as the integral, rounded up.
func TestRampIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Segment{Rate: drawRate(t, "rate"), End: drawRate(t, "end")}
		s.To = time.Duration(rapid.Int64Range(1, 1e9).Draw(t, "length"))
		if rapid.Bool().Draw(t, "round") { // an arrival at every whole second, where float64 may see either side of it
			length := rapid.Int64Range(2, 5).Draw(t, "seconds")
			low := rapid.Int64Range(1, 200).Draw(t, "low")
			high := low + 2*length*rapid.Int64Range(1, 20).Draw(t, "slope")
			s = ramping(float64(length), low, high)
			if rapid.Bool().Draw(t, "falls") {
				s.Rate, s.End = s.End, s.Rate
			}
		}
		total := exactly(s, int64(s.To))
		if f, _ := total.Float64(); f > 3000 {
			t.Skip("many arrivals")
		}
		c := &Cursor{schedule: &Schedule{load: Load{Arrivals: Constant}, stretches: []stretch{{s, rampCurve(s)}}}}
		k := int64(0)
		for at, ok := c.Next(); ok; at, ok = c.Next() {
			due := new(big.Rat).SetInt64(k)
			if exactly(s, int64(at)).Cmp(due) > 0 || exactly(s, int64(at)+1).Cmp(due) <= 0 || at < 0 || at >= s.To {
				t.Fatalf("%+v: arrival %d at %d ns", s, k, at)
			}
			k++
		}
		if below := new(big.Rat).SetInt64(k - 1); below.Cmp(total) >= 0 || new(big.Rat).SetInt64(k).Cmp(total) < 0 {
			t.Fatalf("%+v: %d arrivals, the integral is %v", s, k, total.FloatString(9))
		}
		if n := c.schedule.Expected(); n != k {
			t.Fatalf("%+v: %d arrivals, expected %d", s, k, n)
		}
	})
}

// A ramp that leads nowhere has the instants of a rate that stays, to the
// nanosecond: floor(i/rate).
func TestLevelRampIsConstant(t *testing.T) {
	for _, text := range []string{"3/s", "100/s", "7/13ms", "99999/s"} {
		s := Segment{To: time.Second, Rate: rate(t, text), End: rate(t, text)}
		level := &Schedule{load: Load{Arrivals: Constant}, stretches: []stretch{{s, rampCurve(s)}}}
		flat := New(Load{Arrivals: Constant}, []Segment{{To: time.Second, Rate: s.Rate}}, chance.New(1))
		if !slices.Equal(instants(level), instants(flat)) {
			t.Errorf("%s: a ramp to the same rate has other instants", text)
		}
	}
}

// pi to 70 digits.
var pi, _, _ = big.ParseFloat("3.1415926535897932384626433832795028841971693993751058209749445923078164", 10, 220, big.ToNearestEven)

// cosine is cos(2 pi t/period), by its series in 220 bits.
func cosine(t, period int64) *big.Float {
	bits := func() *big.Float { return new(big.Float).SetPrec(220) }
	x := bits().Mul(pi, bits().SetInt64(2*(t%period)))
	x.Quo(x, bits().SetInt64(period))
	x.Mul(x, x)
	sum, term := bits().SetInt64(1), bits().SetInt64(1)
	for i := int64(1); i < 60; i++ {
		term.Mul(term, x).Quo(term, bits().SetInt64(-(2*i-1)*2*i))
		sum.Add(sum, term)
	}
	return sum
}

// precisely is N of a sine in 220 bits.
func precisely(s Segment, t int64) float64 {
	bits := func() *big.Float { return new(big.Float).SetPrec(220) }
	rate := bits().SetRat(ratio(s.Rate))
	began, period := int64(s.From-s.Origin), int64(s.Sine.Period)
	n := bits().Sub(cosine(began, period), cosine(began+t, period))
	n.Mul(n, bits().SetInt64(period)).Mul(n, bits().SetRat(big.NewRat(int64(s.Sine.Amplitude), int64(check.Whole))))
	n.Quo(n, pi).Quo(n, bits().SetInt64(2))
	n.Add(n, bits().SetInt64(t)).Mul(n, rate)
	f, _ := n.Float64()
	return f
}

// Every arrival of a sine is where it is due, as far as float64 tells arrivals
// apart, and there are as many as the integral, rounded up.
func TestSineIsPrecise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := swinging(1, rapid.Int64Range(1, 80).Draw(t, "rate"), check.Share(rapid.Int64Range(1, int64(check.Whole)).Draw(t, "amplitude")), 1)
		s.Sine.Period = time.Duration(rapid.Int64Range(1, 3e9).Draw(t, "period"))
		if rapid.Bool().Draw(t, "round") {
			s.Sine.Period = s.Sine.Period/1e8*1e8 + 1e8
		}
		s = s.later(time.Hour, time.Duration(rapid.Int64Range(0, 3600e9).Draw(t, "began")))
		schedule := New(Load{Arrivals: Constant}, []Segment{s}, chance.New(1))
		k, last := int64(0), s.From
		for at := range schedule.Instants() {
			const slack = 1e-10
			in := int64(at - s.From)
			if precisely(s, in) > float64(k)+slack || precisely(s, in+1) < float64(k)-slack {
				t.Fatalf("%+v: arrival %d at %d ns", s, k, in)
			}
			if at < last || at >= s.To {
				t.Fatalf("%+v: arrival %d at %v, after one at %v", s, k, at, last)
			}
			k, last = k+1, at
		}
		if n := precisely(s, int64(s.To-s.From)); math.Abs(float64(k)-n-0.5) > 0.5+1e-9 {
			t.Fatalf("%+v: %d arrivals, the integral is %v", s, k, n)
		}
		if n := schedule.Expected(); n != k {
			t.Fatalf("%+v: %d arrivals, expected %d", s, k, n)
		}
	})
}

// Over whole periods a sine makes exactly what its mean rate does.
func TestSineOfWholePeriods(t *testing.T) {
	for _, amplitude := range []check.Share{1, 333_333, check.Whole} {
		for _, began := range []float64{0, 3, 7.5, 19.999999999} {
			s := swinging(60, 50, amplitude, 20).later(time.Minute, seconds(began))
			if n := New(Load{Arrivals: Constant}, []Segment{s}, chance.New(1)).Expected(); n != 3000 {
				t.Errorf("%+v: %d arrivals, want 3000", s, n)
			}
		}
	}
	// Also where the last request is due a billionth of one before the end,
	// which a float64 of a hundred million does not hold.
	sine := Segment{Rate: rate(t, "999983/1.000000007s"), Sine: Sine{Amplitude: 500_000}}
	count, per := sine.Rate.Fraction()
	rest := new(big.Int).ModInverse(big.NewInt(count), big.NewInt(int64(per))) // count*rest = 1 mod per
	sine.To = 100*per + time.Duration(rest.Int64())
	sine.Sine.Period = sine.To
	if n, want := New(Load{Arrivals: Constant}, []Segment{sine}, chance.New(1)).Expected(), sine.Rate.Count(sine.To); n != want {
		t.Errorf("%+v: %d arrivals, want %d", sine, n, want)
	}
}

// swing against 220 bits.
func TestSwing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.Int64Range(1, 1<<58).Draw(t, "period")
		at := rapid.Int64Range(0, 1<<60).Draw(t, "t")
		squared, sine := swing(at, period)
		c, _ := cosine(at, period).Float64()
		if want := (1 - c) / 2; math.Abs(squared-want) > 3e-16 {
			t.Fatalf("sin^2(pi %d/%d) = %.17g, want %.17g", at, period, squared, want)
		}
		if want := 1 - c*c; math.Abs(sine*sine-want) > 1e-15 || math.Signbit(sine) != (at%period > period-at%period) && sine != 0 {
			t.Fatalf("sin(2 pi %d/%d) = %.17g, its square is %.17g", at, period, sine, want)
		}
	})
}

// The instants do not depend on the architecture: these are the same numbers
// everywhere.
func TestInstantsArePinned(t *testing.T) {
	list := []Segment{
		ramping(20, 100, 500),
		swinging(35, 300, 900_000, 7).later(20*time.Second, 11*time.Second),
		ramping(20, 700, 3).later(55*time.Second, 0),
	}
	for arrivals, want := range map[Arrivals]uint64{Constant: 0x80275643df272ee7, Poisson: 0xa0662378fc084b5a} {
		h := fnv.New64a()
		for at := range New(Load{Arrivals: arrivals}, list, chance.New(1)).Instants() {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(at)))
		}
		if got := h.Sum64(); got != want {
			t.Errorf("%s: the instants hash to %#x, want %#x", arrivals, got, want)
		}
	}
}

// moving is a load of every shape, one after the other, for 50 s.
func moving() []Segment {
	return []Segment{
		ramping(10, 20, 80),
		swinging(20, 40, 800_000, 15).later(10*time.Second, 4*time.Second),
		{From: 30 * time.Second, To: 40 * time.Second, Rate: clock.PerSecond(10)},
		ramping(10, 90, 5).later(40*time.Second, 0),
	}
}

// Poisson: the counts in each fifth of a moving load, over many seeds, have the
// integral of the rate as their mean and as their variance, within three
// standard errors: sqrt(m/n) of the mean, and sqrt((m+2m^2)/n) of the variance.
func TestMovingPoissonCounts(t *testing.T) {
	const seeds, parts = 1000, 10
	list := moving()
	sums, squares := make([]float64, parts), make([]float64, parts)
	for seed := range int64(seeds) {
		counts := make([]float64, parts)
		for at := range New(Load{Arrivals: Poisson}, list, chance.New(seed)).Instants() {
			counts[at/(5*time.Second)]++
		}
		for i, c := range counts {
			sums[i] += c
			squares[i] += c * c
		}
	}
	for i := range parts {
		want := integral(list, time.Duration(i+1)*5*time.Second) - integral(list, time.Duration(i)*5*time.Second)
		mean := sums[i] / seeds
		variance := (squares[i] - seeds*mean*mean) / (seeds - 1)
		if most := 3 * math.Sqrt(want/seeds); math.Abs(mean-want) > most {
			t.Errorf("part %d: mean count %.3f, want %.3f within %.3f", i, mean, want, most)
		}
		if most := 3 * math.Sqrt((want+2*want*want)/seeds); math.Abs(variance-want) > most {
			t.Errorf("part %d: variance of the count %.2f, want %.2f within %.2f", i, variance, want, most)
		}
	}
}

// integral adds up N of segments until an instant.
func integral(list []Segment, until time.Duration) (n float64) {
	for _, seg := range list {
		in := min(until, seg.To) - seg.From
		if in <= 0 {
			continue
		}
		if s := ready(seg); s.curve != nil {
			part, _ := s.at(int64(in))
			n += part
		} else {
			n += in.Seconds() * seg.Rate.PerSecond()
		}
	}
	return n
}

// The same luck meets every shape: at the instant of an arrival the integral
// has come to the same number as with any other load of that seed.
func TestMovingPoissonLuck(t *testing.T) {
	unit := instants(New(Load{Arrivals: Poisson}, []Segment{{To: 3000 * time.Second, Rate: clock.PerSecond(1)}}, chance.New(4)))
	list := moving()
	n := 0
	for at := range New(Load{Arrivals: Poisson}, list, chance.New(4)).Instants() {
		due := unit[n].Seconds()
		if before, after := integral(list, at), integral(list, at+1); before > due+2e-9 || after < due-2e-9 {
			t.Fatalf("arrival %d at %v: the integral is %v, want %v", n, at, before, due)
		}
		n++
	}
	if due := integral(list, time.Minute); unit[n].Seconds() < due || unit[n-1].Seconds() > due {
		t.Errorf("%d arrivals while the integral came to %v", n, due)
	}
}

// Noise moves submissions of a moving load, and no arrival.
func TestMovingLoadWithNoise(t *testing.T) {
	s := New(Load{Arrivals: Constant}, moving(), chance.New(1))
	noisy := s.Noisy(time.Millisecond, 2)
	if !slices.Equal(instants(s), instants(noisy)) || noisy.Expected() != s.Expected() {
		t.Error("noise moved arrivals")
	}
	if noisy.Delay(7) == 0 && noisy.Delay(8) == 0 {
		t.Error("no noise")
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	round := []Segment{ramping(1000, 100, 500)} // many arrivals on whole nanoseconds
	for _, arrivals := range []Arrivals{Constant, Poisson} {
		for _, list := range [][]Segment{round, moving(), {swinging(1000, 100, check.Whole, 7)}} {
			c := New(Load{Arrivals: arrivals}, list, chance.New(1)).Cursor()
			for range 50 {
				c.Next()
			}
			if n := testing.AllocsPerRun(500, func() { c.Next() }); n != 0 {
				t.Errorf("%s: %v allocations an arrival", arrivals, n)
			}
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for name, seg := range map[string]Segment{
		"constant": {To: 1000 * time.Second, Rate: clock.PerSecond(10_000)},
		"ramp":     ramping(1000, 10_000, 11_000),
		"fall":     ramping(1000, 10_000, 1000),
		"sine":     swinging(1000, 10_000, 500_000, 20),
	} {
		for _, arrivals := range []Arrivals{Constant, Poisson} {
			b.Run(name+"/"+string(arrivals), func(b *testing.B) {
				s := New(Load{Arrivals: arrivals}, []Segment{seg}, chance.New(1))
				c := s.Cursor()
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := c.Next(); !ok {
						c = s.Cursor()
					}
				}
			})
		}
	}
}
