package sweep

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func laid(t interface{ Fatal(...any) }, sampled int, seed int64, axes ...string) *Plan {
	p := &Plan{Seed: seed, Seeds: 1}
	var all []Axis
	for _, text := range axes {
		a, err := ParseAxis(text, 10)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if err := p.lay(all, sampled); err != nil {
		t.Fatal(err)
	}
	return p
}

// The last setting changes first, and every combination comes once.
func TestGrid(t *testing.T) {
	p := laid(t, 0, 1, "a=1..2", "b.c=x,y,z")
	var got []string
	for i := range p.Points {
		got = append(got, p.label(p.Point(i)))
	}
	want := []string{"a=1 c=x", "a=1 c=y", "a=1 c=z", "a=2 c=x", "a=2 c=y", "a=2 c=z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a=2", "b.c=y"}, p.sets(p.Point(4))); diff != "" {
		t.Error(diff)
	}
}

// Of n points exactly one lies in each of the n strata of every range, and
// each value of a list comes up as often as any other, but for one.
func TestLatinHypercube(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		seed := rapid.Int64().Draw(t, "seed")
		p := laid(t, n, seed, "a=50/s..500/s", "b=10ms..10s log 3", "c=1..7", "d=x,y,z")
		if p.Points != n {
			t.Fatalf("%d points", p.Points)
		}
		strata := [4]map[int]int{{}, {}, {}, {}}
		for i := range n {
			at := p.Point(i)
			for k := range p.axes {
				if g := at.Groups[k]; g < 0 || g >= p.groups(k) {
					t.Fatalf("group %d of %d", g, p.groups(k))
				}
			}
			if rate := at.Settings[0].Size; rate < 50 || rate > 500 {
				t.Fatalf("a rate of %v", rate)
			}
			if d := at.Settings[1].Size; d < 10 || d > 10_000 {
				t.Fatalf("%v ms", d)
			}
			for k := range 2 {
				strata[k][int(p.order[k][i])]++
			}
			strata[2][int(at.Settings[2].Size)]++
			strata[3][at.Groups[3]]++
		}
		for k := range 2 {
			if len(strata[k]) != n {
				t.Fatalf("axis %d has points in %d of %d strata", k, len(strata[k]), n)
			}
		}
		for k, levels := range map[int]int{2: 7, 3: 3} {
			for value, count := range strata[k] {
				if count < n/levels-1 || count > n/levels+1 {
					t.Fatalf("axis %d: %v comes up %d times in %d points", k, value, count, n)
				}
			}
		}
	})
}

// Points far apart in the strata are far apart in value: the value lies in its
// stratum.
func TestValuesLieInTheirStrata(t *testing.T) {
	p := laid(t, 100, 3, "a=0s..100s")
	for i := range p.Points {
		stratum := float64(p.order[0][i])
		if s := p.Point(i).Settings[0].Size / 1000; s < stratum-0.1 || s > stratum+1.1 {
			t.Errorf("point %d: %v s in the stratum from %v s", i, s, stratum)
		}
	}
	other := laid(t, 100, 4, "a=0s..100s")
	if cmp.Equal(p.order, other.order) {
		t.Error("another seed samples the same points")
	}
	if again := laid(t, 100, 3, "a=0s..100s"); !cmp.Equal(p.order, again.order) {
		t.Error("the same seed samples other points")
	}
}

func TestShortNames(t *testing.T) {
	for _, c := range []struct {
		why         string
		paths, want string
	}{
		{"the last step", "load.rate|compositions.*.retry.attempts", "rate|attempts"},
		{"as many as tell them apart", "a.retry.attempts|b.retry.attempts", "a.retry.attempts|b.retry.attempts"},
		{"one is the end of the other", "x.seed|seed", "x.seed|seed"},
	} {
		p := &Plan{}
		for path := range strings.SplitSeq(c.paths, "|") {
			p.axes = append(p.axes, Axis{Path: path})
		}
		if got := strings.Join(p.shortNames(), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

func TestLayRefuses(t *testing.T) {
	axis := func(text string) Axis {
		a, err := ParseAxis(text, 10)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		why    string
		axes   []Axis
		points int
		want   string
	}{
		{"nothing varies", nil, 0, "nothing varies"},
		{"a path twice", []Axis{axis("a=1..2"), axis("a=3..4")}, 0, "a varies twice"},
		{"a grid beyond bounds", []Axis{axis("a=1..2000"), axis("b=1..2000")}, 0, "more than 1000000 points"},
		{"too many samples", []Axis{axis("a=1..2")}, 2_000_000, "expected at most 1000000"},
	} {
		err := new(Plan).lay(c.axes, c.points)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}
