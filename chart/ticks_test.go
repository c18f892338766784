package chart

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func labels(ticks []tick) string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.label)
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		lo, hi float64
		around snugness
		want   string
	}{
		// Steps of 1, 2, 5 that end at round numbers.
		{Axis{}, 0, 5, nice, "0 1 2 3 4 5"},
		{Axis{}, 0, 9.1, nice, "0 2 4 6 8 10"},
		{Axis{}, 0, 28, nice, "0 5 10 15 20 25 30"},
		// As many decimals as the step needs, and 0.3 without a tail.
		{Axis{}, 0, 0.5, nice, "0.0 0.1 0.2 0.3 0.4 0.5"},
		{Axis{}, 0.92, 0.98, nice, "0.92 0.93 0.94 0.95 0.96 0.97 0.98"},
		{Axis{}, 0, 0.00046, nice, "0.0000 0.0001 0.0002 0.0003 0.0004 0.0005"},
		// 0 is shown when it is near, and not when it is far.
		{Axis{}, 4, 10, nice, "0 2 4 6 8 10"},
		{Axis{}, 60, 100, nice, "60 70 80 90 100"},
		{Axis{}, 60, 100, based, "0 20 40 60 80 100"},
		// A little over a round number, and more than a little.
		{Axis{}, -0.02, 1.02, nice, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{Axis{}, -0.1, 1.1, nice, "-0.2 0.0 0.2 0.4 0.6 0.8 1.0 1.2"},
		// Below 0, and across it without a minus before it.
		{Axis{}, -12, 4, based, "-15 -10 -5 0 5"},
		{Axis{}, -10, -4, nice, "-10 -8 -6 -4 -2 0"},
		// Thousands; a tight axis ends where its data end.
		{Axis{}, 0, 12_000, tight, "0 2,000 4,000 6,000 8,000 10,000 12,000"},
		{Axis{}, 50, 480, tight, "100 200 300 400"},
		{Axis{}, 0, 3e6, nice, "0 500,000 1,000,000 1,500,000 2,000,000 2,500,000 3,000,000"},
		// Milliseconds become seconds from ten seconds on, and steps are round in seconds.
		{Axis{Unit: Milliseconds}, 0, 9_999, tight, "0 2,000 4,000 6,000 8,000"},
		{Axis{Unit: Milliseconds}, 0, 120_000, tight, "0 20 40 60 80 100 120"},
		// One number, or none.
		{Axis{}, 7, 7, tight, "4 6 8 10"},
		{Axis{}, 0, 0, nice, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{Axis{}, -3, -3, nice, "-5 -4 -3 -2 -1 0"},
		// Two numbers that no axis can tell apart are one.
		{Axis{}, 1, 1 + 1e-12, tight, "0.6 0.8 1.0 1.2 1.4"},
		// What the axis must show.
		{Axis{Include: []float64{0, 1}}, 0.4, 0.6, nice, "0.0 0.2 0.4 0.6 0.8 1.0"},
		// Powers of ten, with 2 and 5 when these have room, few when there are many.
		{Axis{Log: true}, 1, 1000, nice, "1 10 100 1,000"},
		{Axis{Log: true}, 3, 60, nice, "2 5 10 20 50 100"},
		{Axis{Log: true}, 0.002, 700, nice, "0.01 0.1 1 10 100 1,000"},
		{Axis{Log: true}, 1e-6, 1e6, nice, "0.000001 0.001 1 1,000 1,000,000"},
		// Less than a decade is told apart by equal steps.
		{Axis{Log: true}, 40, 60, tight, "40 45 50 55 60"},
		// Numbers that nobody writes out.
		{Axis{}, 0, 3e18, nice, "0 5e17 1e18 1.5e18 2e18 2.5e18 3e18"},
		{Axis{}, 0, 2e-11, nice, "0 5e-12 1e-11 1.5e-11 2e-11"},
	} {
		sc := c.axis.fit(extent{c.lo, c.hi, true}, c.around, 6)
		if got := labels(sc.ticks); got != c.want {
			t.Errorf("%+v from %v to %v:\n got %s\nwant %s", c.axis, c.lo, c.hi, got, c.want)
		}
	}
}

// The logarithm of 1000 is a little under 3 for the computer.
func TestDecade(t *testing.T) {
	for e := -200; e <= 200; e++ {
		power := math.Pow10(e)
		if got := decade(power); got != e {
			t.Errorf("of %v: %d", power, got)
		}
		if got := decade(math.Nextafter(power, 0)); got != e-1 {
			t.Errorf("just under %v: %d", power, got)
		}
	}
}

// Ticks lie on the axis, rise, are not too many, and each is written as
// what it is; pixels rise with numbers.
func TestScaleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyAxis(t, "axis")
		var e extent
		for _, v := range rapid.SliceOfN(anyNumber(), 0, 5).Draw(t, "numbers") {
			if v, ok := a.clean(v); ok {
				e.add(v)
			}
		}
		around := snugness(rapid.IntRange(0, 2).Draw(t, "around"))
		want := rapid.IntRange(2, 12).Draw(t, "want")
		sc := a.fit(e, around, want)
		sc.from, sc.to = 0, 1000
		if !(sc.lo < sc.hi) || e.any && (sc.at(e.lo) < 0 || sc.lo > e.lo/sc.divisor || sc.hi < e.hi/sc.divisor) {
			t.Fatalf("%+v does not hold %+v", sc, e)
		}
		if n := len(sc.ticks); n > 2*want+2 || around != tight && n < min(2, want-1) {
			t.Errorf("%d ticks of %d: %v", n, want, labels(sc.ticks))
		}
		before := math.Inf(-1)
		for i, tk := range sc.ticks {
			at := sc.place(tk.at)
			if !(at > before) {
				t.Errorf("tick %d of %v does not rise", i, sc.ticks)
			}
			before = at
			v, err := strconv.ParseFloat(strings.ReplaceAll(tk.label, ",", ""), 64)
			if err != nil || math.Abs(v-tk.at) > 1e-9*(math.Abs(tk.at)+(sc.hi-sc.lo)) {
				t.Errorf("%v is written as %q", tk.at, tk.label)
			}
		}
	})
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "0"},
		{1, "1"}, {0.5, "0.5"}, {1.0 / 3, "0.333"}, {-2.0 / 3, "-0.667"},
		{12.34, "12.3"}, {99.96, "100"}, {123.4, "123"},
		{1234, "1,234"}, {999_999.6, "1,000,000"}, {-12_345, "-12,345"}, // all digits before the point
		{0.001234, "0.00123"}, {0.0000001, "0.0000001"},
		{0.9994, "0.999"}, {0.9996, "0.9996"}, {0.99999, "0.99999"}, {0.99999999, "0.999999"}, // not the whole
		{-0.9996, "-0.9996"},
		{3.456e-12, "3.46e-12"}, {2e20, "2e20"},
	} {
		if got := number(c.v); got != c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
}

// What is written differs from the number by less than one in the third digit.
func TestNumberIsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, ok := Axis{}.clean(anyNumber().Draw(t, "v"))
		if !ok {
			return
		}
		got, err := strconv.ParseFloat(strings.ReplaceAll(number(v), ",", ""), 64)
		if err != nil || math.Abs(got-v) > 0.00501*math.Abs(v) {
			t.Errorf("%v is written as %s (%v)", v, number(v), err)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		room float64
		most int
		want []string
	}{
		{"", 100, 3, nil},
		{"one two three", 500, 3, []string{"one two three"}},
		{"one two three", 60, 3, []string{"one two", "three"}},
		// The last line takes the rest, and is cut.
		{"one two three four five six", 60, 2, []string{"one two", "three f…"}},
		// A word without room is cut too.
		{"unbreakable", 40, 2, []string{"unb…"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, 12, c.room, c.most)); diff != "" {
			t.Errorf("%q in %v:\n%s", c.text, c.room, diff)
		}
	}
	if got, want := squeeze("compositions.retry.attempts", 12, 150), "com…etry.attempts"; width(got, 12) > 150 || !strings.HasSuffix(got, ".attempts") {
		t.Errorf("squeezed to %q, want something like %q", got, want)
	}
}

// Where even two ticks are too many, a label gives way to the one before it,
// at the place where it is written: moved in from the border.
func TestApart(t *testing.T) {
	sc := scale{lo: 0, hi: 2, from: Width - 100, to: Width, ticks: []tick{{0, "100,000,000"}, {1, "200,000,000"}, {2, "3"}}}
	if !sc.crowded(little) {
		t.Error("not crowded")
	}
	sc.apart(little)
	if got := labels(sc.ticks); got != "100,000,000  3" {
		t.Errorf("left are %q", got)
	}
	if sc = (scale{lo: 0, hi: 2, from: 100, to: 400, ticks: sc.ticks}); sc.crowded(little) {
		t.Error("three labels in 300 pixels are crowded")
	}
}
