package sweep

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The front holds exactly what nothing beats, each pair of means once, in
// whatever order the points come.
func TestFront(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		goals := []Goal{{"a", "max"}, {"b", rapid.SampledFrom([]string{"min", "max"}).Draw(t, "b")}, {"c", "min"}}
		points := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 4), 3, 3), 1, 40).Draw(t, "points")
		f := &Front{Goals: goals}
		for _, i := range rapid.Permutation(numbers(len(points))).Draw(t, "order") {
			a, b, c := float64(points[i][0]), float64(points[i][1]), float64(points[i][2])
			f.add(func() Place { return Place{Point: i} }, "x", []*float64{&a, &b, &c})
		}
		f.sort()
		want, listed := map[[3]int]int{}, 0
		for _, p := range points {
			if !slices.ContainsFunc(points, func(q []int) bool { return worse(p, q, goals) }) {
				want[[3]int(p)]++
			}
		}
		got := map[[3]int]int{}
		for i, m := range f.Members {
			got[[3]int{int(m.Means[0]), int(m.Means[1]), int(m.Means[2])}] = 1 + m.Equal
			listed++
			if i > 0 && m.Means[0] > f.Members[i-1].Means[0] {
				t.Fatal("the best comes not first")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if f.Of != len(points) || listed != len(want) {
			t.Fatalf("%d of %d points, %d listed", f.Of, len(points), listed)
		}
	})
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// worse is the definition, spelled out: q is nowhere worse than p, and
// somewhere better.
func worse(p, q []int, goals []Goal) bool {
	better := false
	for i, g := range goals {
		gain := q[i] - p[i]
		if g.Better == "min" {
			gain = -gain
		}
		if gain < 0 {
			return false
		}
		better = better || gain > 0
	}
	return better
}

// A point that lacks a mean is counted and left out.
func TestFrontRefused(t *testing.T) {
	f := &Front{Goals: []Goal{{"a", "max"}, {"b", "min"}}}
	one := 1.0
	f.add(func() Place { return Place{} }, "x", []*float64{&one, nil})
	if f.Refused != 1 || f.Of != 0 || len(f.Members) != 0 {
		t.Errorf("%+v", f)
	}
}
