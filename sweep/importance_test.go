package sweep

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"brunt/chance"
)

// over gathers the effects of a function of the settings over a plan.
func over(p *Plan, mean func(Point) (float64, *float64)) *effects {
	e := newEffects(p)
	for i := range p.Points {
		at := p.Point(i)
		v, sd := mean(at)
		e.add(at, v, sd)
	}
	return e
}

// On a grid a sum of functions of one setting each splits exactly: of f + g
// with variances 2/3 and 8/3 over the values, f explains 1/5 and g 4/5.
func TestAdditiveEffects(t *testing.T) {
	p := laid(t, 0, 1, "a=1..3", "b=1..3", "c=1..2")
	i, reason := over(p, func(at Point) (float64, *float64) { return at.Settings[0].Size + 2*at.Settings[1].Size, nil }).importance()
	if i == nil {
		t.Fatal(reason)
	}
	for k, want := range []float64{0.2, 0.8, 0} {
		if got := i.Settings[k].Share; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s explains %v, want %v", i.Settings[k].Path, got, want)
		}
	}
	if rest, known := i.rest(); !known || rest > 1e-12 {
		t.Errorf("rest %v %v", rest, known)
	}
	if first := i.first(); first == nil || first.Path != "b" {
		t.Errorf("first is %v", first)
	}
	if i.Luck != nil || i.LuckReason == "" || i.Settings[0].Floor != nil {
		t.Error("one seed tells of luck")
	}
}

// A product of settings that are 0 on average is nothing but a joint effect.
func TestJointEffect(t *testing.T) {
	p := laid(t, 0, 1, "a=-1..1", "b=-1..1")
	i, _ := over(p, func(at Point) (float64, *float64) { return at.Settings[0].Size * at.Settings[1].Size, nil }).importance()
	if rest, _ := i.rest(); math.Abs(rest-1) > 1e-12 {
		t.Errorf("rest is %v, want 1", rest)
	}
	if i.first() != nil {
		t.Error("a setting stands out that does nothing alone")
	}
}

// The floor is what a setting without effect shows on average, where luck is
// all there is and where another setting makes the numbers. Over 400 plans the
// mean of the shares has a standard error below 0.005.
func TestFloorIsWhatNothingShows(t *testing.T) {
	const plans = 400
	for _, c := range []struct {
		why     string
		sampled int
		effect  float64 // of the other setting
	}{
		{"a grid, luck alone", 0, 0},
		{"a grid beside a strong setting", 0, 3},
		{"a sample, luck alone", 30, 0},
		{"a sample beside a strong setting", 30, 3},
	} {
		var shares, floors float64
		for plan := range int64(plans) {
			p := laid(t, c.sampled, plan, "inert=1..5", "other=0..5")
			p.Seeds = 4
			luck := chance.New(plan)
			i, reason := over(p, func(at Point) (float64, *float64) {
				one := 1.0 // luck of the mean of 4 seeds: 1/2
				return luck.Draw(sampling, int64(at.Index), 9, 9).Normal()/2 + c.effect*at.Settings[1].Size, &one
			}).importance()
			if i == nil {
				t.Fatal(reason)
			}
			shares += i.Settings[0].Share / plans
			floors += *i.Settings[0].Floor / plans
		}
		if math.Abs(shares-floors) > 0.025 || floors == 0 {
			t.Errorf("%s: a setting without effect shows %.4f, the floor is %.4f", c.why, shares, floors)
		}
	}
}

// In a full grid the shares of all settings never exceed the whole.
func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := laid(t, 0, 1, "a=1..3", "b=1..2", "c=1..4")
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), p.Points, p.Points).Draw(t, "values")
		i, reason := over(p, func(at Point) (float64, *float64) { return values[at.Index], nil }).importance()
		if i == nil {
			if reason == "" {
				t.Fatal("no reason")
			}
			return
		}
		sum := 0.0
		for _, s := range i.Settings {
			if s.Share < 0 {
				t.Fatalf("a share of %v", s.Share)
			}
			sum += s.Share
		}
		if sum > 1+1e-9 {
			t.Fatalf("shares add up to %v", sum)
		}
	})
}

// A grid that lacks a point is not balanced: shares do not add up, and say so.
func TestGridWithAHole(t *testing.T) {
	p := laid(t, 0, 1, "a=1..3", "b=1..3")
	e := newEffects(p)
	for i := range p.Points - 1 {
		at := p.Point(i)
		e.add(at, at.Settings[0].Size, nil)
	}
	i, reason := e.importance()
	if i == nil {
		t.Fatal(reason)
	}
	if _, known := i.rest(); known || i.Settings[1].Floor == nil || *i.Settings[1].Floor != 2.0/7 {
		t.Errorf("%+v", i)
	}
}

func TestNoImportance(t *testing.T) {
	p := laid(t, 0, 1, "a=1..3")
	if i, reason := over(p, func(Point) (float64, *float64) { return 0.1, nil }).importance(); i != nil || reason != "it is the same at every point that has a mean" {
		t.Errorf("all equal: %v, %q", i, reason)
	}
	if i, reason := newEffects(p).importance(); i != nil || reason != "fewer than two points have a mean" {
		t.Errorf("no points: %v, %q", i, reason)
	}
}
