package load

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
)

// written is a segment in words.
func written(list []Segment) (words []string) {
	for _, s := range list {
		text := s.From.String() + " to " + s.To.String() + ": " + s.Rate.String()
		if !s.End.IsZero() {
			text += " to " + s.End.String()
		}
		if s.Sine != (Sine{}) {
			text += " by " + s.Sine.Amplitude.String() + " in " + s.Sine.Period.String() + " since " + s.Origin.String()
		}
		words = append(words, text)
	}
	return words
}

func TestSegments(t *testing.T) {
	const s = time.Second
	base := Load{Arrivals: Constant, Rate: rate(t, "100/s")}
	spike := &Spike{Every: 10 * s, For: 2 * s, Rate: rate(t, "1000/s")}
	sine := &Sine{Amplitude: 500_000, Period: 20 * s}
	spiky, swinging := base, base
	spiky.Spike, swinging.Sine = spike, sine
	tests := []struct {
		name     string
		load     Load
		phase    Override
		from, to time.Duration
		want     []string
	}{
		{"the study's", base, Override{}, 30 * s, 40 * s, []string{"30s to 40s: 100/s"}},
		{"another rate", base, Override{Rate: rate(t, "7/s")}, 30 * s, 40 * s, []string{"30s to 40s: 7/s"}},
		{"ramp from a rate of its own", base, Override{Rate: rate(t, "7/s"), To: rate(t, "9/s")}, 30 * s, 40 * s, []string{"30s to 40s: 7/s to 9/s"}},
		// rate is the study's when left out
		{"ramp from the study's rate", base, Override{To: rate(t, "9/s")}, 30 * s, 40 * s, []string{"30s to 40s: 100/s to 9/s"}},
		// the first at rate, the last at to
		{"steps", base, Override{To: rate(t, "500/s"), Steps: 5}, 30 * s, 40 * s,
			[]string{"30s to 32s: 100/s", "32s to 34s: 200/s", "34s to 36s: 300/s", "36s to 38s: 400/s", "38s to 40s: 500/s"}},
		// neither time nor rate divides evenly: instants round down, rates are exact
		{"uneven steps", base, Override{To: rate(t, "200/s"), Steps: 4}, 0, 10,
			[]string{"0s to 2ns: 100/s", "2ns to 5ns: 1/7.5ms", "5ns to 7ns: 1/6ms", "7ns to 10ns: 200/s"}},
		// a spike is the last part of its stretch; what remains of the last one has none
		{"spikes", base, Override{Spike: spike}, 30 * s, 55 * s,
			[]string{"30s to 38s: 100/s", "38s to 40s: 1000/s", "40s to 48s: 100/s", "48s to 50s: 1000/s", "50s to 55s: 100/s"}},
		{"a spike cut short", base, Override{Rate: rate(t, "5/s"), Spike: spike}, 30 * s, 39 * s, []string{"30s to 38s: 5/s", "38s to 39s: 1000/s"}},
		{"sine", base, Override{Sine: sine}, 30 * s, 40 * s, []string{"30s to 40s: 100/s by 50% in 20s since 30s"}},
		// the study's shapes count from the start of the run
		{"the study's spikes", spiky, Override{}, 19 * s, 29 * s,
			[]string{"19s to 20s: 1000/s", "20s to 28s: 100/s", "28s to 29s: 1000/s"}},
		{"the study's sine", swinging, Override{}, 30 * s, 40 * s, []string{"30s to 40s: 100/s by 50% in 20s since 0s"}},
		// and are not there in a phase that says anything about its load
		{"no more sine", swinging, Override{Rate: rate(t, "100/s")}, 30 * s, 40 * s, []string{"30s to 40s: 100/s"}},
		{"spikes instead of a sine", swinging, Override{Spike: spike}, 30 * s, 40 * s, []string{"30s to 38s: 100/s", "38s to 40s: 1000/s"}},
	}
	for _, test := range tests {
		got := written(test.load.Segments(&test.phase, test.from, test.to))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Whatever a phase says, its segments fill it without a gap, and the arrivals
// are as many as expected, in order and inside.
func TestSegmentsFillThePhase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond := func(label string) clock.Rate { return clock.PerSecond(rapid.Int64Range(1, 300).Draw(t, label)) }
		time1 := func(label string, most int64) time.Duration {
			return time.Duration(rapid.Int64Range(1e7, most).Draw(t, label))
		}
		l := Load{Arrivals: Constant, Rate: perSecond("rate")}
		shape := func() (spike *Spike, sine *Sine) {
			switch rapid.IntRange(0, 2).Draw(t, "shape") {
			case 1:
				every := time1("every", 1e9)
				spike = &Spike{Every: every, For: time.Duration(rapid.Int64Range(1, int64(every)-1).Draw(t, "for")), Rate: perSecond("spike")}
			case 2:
				sine = &Sine{Amplitude: check.Share(rapid.Int64Range(1, int64(check.Whole)).Draw(t, "amplitude")), Period: time1("period", 3e9)}
			}
			return spike, sine
		}
		l.Spike, l.Sine = shape()
		var list []Segment
		var end time.Duration
		for range rapid.IntRange(1, 4).Draw(t, "phases") {
			var o Override
			if rapid.Bool().Draw(t, "own") {
				o.Rate = perSecond("rate")
				if o.Spike, o.Sine = shape(); o.Spike == nil && o.Sine == nil {
					o.To = perSecond("to")
					o.Steps = rapid.SampledFrom([]int{0, 2, 3, 7}).Draw(t, "steps")
				}
			}
			from := end
			end += time1("length", 2e9)
			list = append(list, l.Segments(&o, from, end)...)
		}
		at := time.Duration(0)
		for _, s := range list {
			if s.From != at || s.To <= s.From {
				t.Fatalf("a segment from %v to %v after one until %v", s.From, s.To, at)
			}
			at = s.To
		}
		if at != end {
			t.Fatalf("segments until %v of %v", at, end)
		}
		schedule := New(l, list, chance.New(1))
		n, last := int64(0), time.Duration(0)
		for at := range schedule.Instants() {
			if at < last || at >= end {
				t.Fatalf("an arrival at %v after one at %v", at, last)
			}
			n, last = n+1, at
		}
		if n != schedule.Expected() {
			t.Fatalf("%d arrivals, expected %d", n, schedule.Expected())
		}
	})
}

// Stretches at one rate are one, however they came to it.
func TestJoinedShapes(t *testing.T) {
	const s = time.Second
	l := Load{Arrivals: Constant, Rate: rate(t, "2/3s")}
	join := func(l Load, phases ...Override) *Schedule {
		var list []Segment
		for i := range phases {
			list = append(list, l.Segments(&phases[i], time.Duration(i)*2*s, time.Duration(i+1)*2*s)...)
		}
		return New(l, list, chance.New(1))
	}
	flat := instants(join(l, Override{}, Override{}, Override{}))
	same := rate(t, "40/min")
	for name, phases := range map[string][]Override{
		"a ramp to its own rate":   {{}, {To: same}, {}},
		"steps to its own rate":    {{}, {To: same, Steps: 3}, {}},
		"spikes of the same rate":  {{Spike: &Spike{Every: s, For: s / 2, Rate: same}}, {}, {}},
		"a sine that swings by 0%": {{Sine: &Sine{Period: s}}, {}, {Sine: &Sine{Period: 2 * s}}},
	} {
		if diff := cmp.Diff(flat, instants(join(l, phases...))); diff != "" {
			t.Errorf("%s is not the plain rate (-want +got):\n%s", name, diff)
		}
	}
	// a ramp that is said twice goes up twice
	up := Override{Rate: rate(t, "10/s"), To: rate(t, "20/s")}
	if got := written([]Segment{join(l, up, up).stretches[1].Segment}); got[0] != "2s to 4s: 10/s to 20/s" {
		t.Errorf("the second ramp is %s", got[0])
	}
	// the study's sine goes on over the border of a phase as if there were none
	l.Rate, l.Sine = rate(t, "37/s"), &Sine{Amplitude: 700_000, Period: 5 * s}
	one := New(l, l.Segments(&Override{}, 0, 6*s), chance.New(1))
	if diff := cmp.Diff(instants(one), instants(join(l, Override{}, Override{}, Override{}))); diff != "" {
		t.Errorf("phases cut a sine (-want +got):\n%s", diff)
	}
	// that of each phase begins anew
	own := Override{Sine: l.Sine}
	got := instants(join(l, own, own))
	first := instants(join(l, own))
	n := len(first)
	for i := range first {
		if got[n+i] != first[i]+2*s {
			t.Fatalf("arrival %d of the second sine is at %v, of the first at %v", i, got[n+i], first[i])
		}
	}
}

func TestRateAt(t *testing.T) {
	const s = time.Second
	l := Load{Arrivals: Poisson, Rate: rate(t, "100/s")}
	var list []Segment
	for i, o := range []Override{
		{},
		{Rate: rate(t, "200/s"), To: rate(t, "400/s")},
		{Spike: &Spike{Every: 5 * s, For: s, Rate: rate(t, "1000/s")}},
		{Sine: &Sine{Amplitude: 500_000, Period: 8 * s}},
		{To: rate(t, "500/s"), Steps: 5},
	} {
		list = append(list, l.Segments(&o, time.Duration(i)*10*s, time.Duration(i+1)*10*s)...)
	}
	schedule := New(l, list, chance.New(1))
	for at, want := range map[time.Duration]float64{
		-1: 0, 0: 100, 10*s - 1: 100,
		10 * s: 200, 15 * s: 300, 12500 * time.Millisecond: 250,
		20 * s: 100, 24 * s: 1000, 25*s - 1: 1000, 25 * s: 100, 29 * s: 1000,
		30 * s: 100, 32 * s: 150, 34 * s: 100, 36 * s: 50, 31 * s: 100 * (1 + 0.35355339059327373),
		40 * s: 100, 42 * s: 200, 49 * s: 500, 50*s - 1: 500, 50 * s: 0,
	} {
		if diff := cmp.Diff(want, schedule.RateAt(at), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("rate at %v (-want +got):\n%s", at, diff)
		}
	}
	for _, l := range []Load{{Arrivals: Burst, Burst: 3}, {Arrivals: Trace}} {
		if got := New(l, segments(1, 10), chance.New(1)).RateAt(0); got != 0 {
			t.Errorf("%s: a rate of %v", l.Arrivals, got)
		}
	}
}

func TestCheckShapes(t *testing.T) {
	const s = time.Second
	r, fast := rate(t, "100/s"), rate(t, "1000/s")
	constant := Load{Arrivals: Constant, Rate: r}
	poisson := Load{Arrivals: Poisson, Rate: r}
	burst := Load{Arrivals: Burst, Burst: 1}
	spike := &Spike{Every: 5 * s, For: s, Rate: fast}
	sine := &Sine{Amplitude: 1, Period: s}
	tests := []struct {
		load  Load
		phase Override
		want  string
	}{
		{constant, Override{}, ""},
		{poisson, Override{Rate: fast, To: r}, ""},
		{constant, Override{To: fast, Steps: 2}, ""},
		{constant, Override{Rate: r, Spike: spike}, ""},
		{constant, Override{Sine: &Sine{check.Whole, s}}, ""},
		// a load without a rate has none of it
		{burst, Override{}, ""},
		{burst, Override{Rate: r, To: r, Steps: 3, Spike: spike, Sine: sine}, "rate to steps spike sine"},
		// one shape at a time
		{constant, Override{To: fast, Spike: spike}, "to"},
		{constant, Override{To: fast, Sine: sine}, "to"},
		{constant, Override{Spike: spike, Sine: sine}, "sine"},
		// steps lead somewhere, in two at least, and not in more than there is time for
		{constant, Override{Steps: 3}, "steps"},
		{constant, Override{To: fast, Steps: 1}, "steps"},
		{constant, Override{To: fast, Steps: -1}, "steps"},
		{poisson, Override{To: fast, Steps: 1001}, "steps"},
		// spikes end before the next begins, and have a rate
		{constant, Override{Spike: &Spike{Every: s, For: s, Rate: fast}}, "spike.for"},
		{constant, Override{Spike: &Spike{Every: s}}, "spike.for spike.rate"},
		{constant, Override{Spike: &Spike{For: s, Rate: fast}}, "spike.every"},
		{poisson, Override{Spike: &Spike{Every: time.Microsecond, For: 1, Rate: fast}}, "spike.every"},
		{constant, Override{Sine: &Sine{check.Whole + 1, s}}, "sine.amplitude"},
		{constant, Override{Sine: &Sine{-1, s}}, "sine.amplitude"},
		{constant, Override{Sine: &Sine{check.Whole, 0}}, "sine.period"},
		// allowed, and doubtful: nothing swings, no spike comes, more requests than the rate says
		{constant, Override{Sine: &Sine{0, s}}, "sine.amplitude?"},
		{constant, Override{Spike: &Spike{Every: 20 * s, For: s, Rate: fast}}, "spike.every?"},
		{constant, Override{Rate: rate(t, "1/min"), Spike: spike}, "spike?"},
		{poisson, Override{Rate: rate(t, "1/min"), Spike: spike}, ""},
		{constant, Override{Rate: rate(t, "1/s"), To: fast, Steps: 11}, "steps?"},
		{poisson, Override{Rate: rate(t, "1/s"), To: fast, Steps: 11}, ""},
	}
	paths := func(p check.Problems) string {
		var all []string
		for _, problem := range p.All() {
			path := problem.Path
			if problem.Doubt {
				path += "?"
			}
			all = append(all, path)
		}
		return strings.Join(all, " ")
	}
	for _, test := range tests {
		p := check.New()
		test.phase.Check(p, &test.load, 10*s)
		if got := paths(p); got != test.want {
			t.Errorf("%s, %+v: faults at %q, want %q", test.load.Arrivals, test.phase, got, test.want)
		}
		// a study says the same about its own
		if test.phase.Spike == nil && test.phase.Sine == nil || !test.phase.To.IsZero() {
			continue
		}
		whole := test.load
		whole.Spike, whole.Sine = test.phase.Spike, test.phase.Sine
		if whole.Rated() && !test.phase.Rate.IsZero() {
			whole.Rate = test.phase.Rate
		}
		p = check.New()
		whole.Check(p)
		whole.CheckWithin(p, 10*s)
		if got := paths(p); got != test.want {
			t.Errorf("%s, of the study %+v: faults at %q, want %q", test.load.Arrivals, test.phase, got, test.want)
		}
	}
}

func TestGreatest(t *testing.T) {
	slow, mid, fast := rate(t, "1/s"), rate(t, "10/s"), rate(t, "100/s")
	spiky := Load{Arrivals: Constant, Rate: slow, Spike: &Spike{Rate: fast}}
	plain := Load{Arrivals: Constant, Rate: mid}
	for _, test := range []struct {
		load  Load
		phase Override
		want  string
	}{
		{plain, Override{}, "load.rate 10/s"},
		{plain, Override{Rate: fast}, "phase.rate 100/s"},
		{plain, Override{To: fast}, "phase.to 100/s"},
		{plain, Override{To: slow}, "load.rate 10/s"},
		{plain, Override{Spike: &Spike{Rate: fast}}, "phase.spike.rate 100/s"},
		{plain, Override{Spike: &Spike{Rate: slow}}, "load.rate 10/s"},
		{spiky, Override{}, "load.spike.rate 100/s"},
		{spiky, Override{Rate: mid}, "phase.rate 10/s"},
	} {
		setting, rate, own := test.load.Greatest(&test.phase)
		got := "load." + setting
		if own {
			got = "phase." + setting
		}
		if got += " " + rate.String(); got != test.want {
			t.Errorf("%+v: the greatest is %s, want %s", test.phase, got, test.want)
		}
	}
}
