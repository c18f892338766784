package chart

import (
	"cmp"
	"math"
	"slices"
)

// Levels are the values of a setting. Names go to the right and down.
// Numbers, used when there are no names, go to the right and up, in order of
// size and with equal steps.
type Levels struct {
	Title   string
	Unit    Unit
	Names   []string
	Numbers []float64
}

// level is one column or row that is drawn.
type level struct {
	index int // in Cells
	label string
}

// ordered returns the levels that are drawn in the order of the drawing,
// every so manieth of all if there are more than most, and the unit in which
// they are written. Up turns numbers around, for what is drawn from the top.
func (l Levels) ordered(up bool, most int) (drawn []level, every int, unit Unit) {
	unit = l.Unit
	var all []level
	for i, name := range l.Names {
		all = append(all, level{i, name})
	}
	if len(l.Names) == 0 {
		all, unit = l.numbered()
		if up {
			slices.Reverse(all)
		}
	}
	every = (len(all) + most - 1) / most
	for i, v := range all {
		if i%every == 0 {
			drawn = append(drawn, v)
		}
	}
	return drawn, every, unit
}

// numbered are the numbers in order, all in one unit.
func (l Levels) numbered() ([]level, Unit) {
	a := Axis{Unit: l.Unit}
	var e extent
	var order []int
	for i, v := range l.Numbers {
		if v, ok := a.clean(v); ok {
			e.add(v)
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(l.Numbers[i], l.Numbers[j]) })
	sc := a.fit(e, tight, wantUp)
	all := make([]level, len(order))
	for i, index := range order {
		all[i] = level{index, "none"}
		if v, ok := a.clean(l.Numbers[index]); ok {
			all[i].label = sc.text(v)
		}
	}
	return all, sc.unit
}

// widest is how much room the labels need at a size.
func widest(levels []level, size float64) float64 {
	most := 0.0
	for _, l := range levels {
		most = math.Max(most, width(l.label, size))
	}
	return most
}
