package lab

import (
	"slices"
	"testing"

	"brunt/measure"
)

// TestEquallyOffered: stacks that were offered less, or nothing, as in a run that
// is broken off, are not held against the others.
func TestEquallyOffered(t *testing.T) {
	for _, c := range []struct {
		offered []int64
		want    []string
	}{
		{[]int64{100, 100}, []string{"a", "b"}},
		{[]int64{100, 40, 0}, []string{"a"}},
		{[]int64{0, 100}, []string{"b"}},
		{[]int64{0, 0}, nil},
		{nil, nil},
	} {
		var rows []phaseOf
		for i, n := range c.offered {
			rows = append(rows, phaseOf{string(rune('a' + i)), &measure.Phase{Offered: n}})
		}
		var got []string
		for _, row := range equallyOffered(rows) {
			got = append(got, row.composition)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("offered %v: %v are compared, expected %v", c.offered, got, c.want)
		}
	}
}
