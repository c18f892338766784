// Package check collects what is wrong with a configuration, all of it at
// once. Each configuration struct has a Check method that reports its faults
// here by field; the study reader turns the paths into places in a file.
//
// A Problems value belongs to one goroutine.
package check

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Problem is one fault, or one doubt, in a configuration.
type Problem struct {
	Path  string // dotted path of the setting: phases.0.for
	Value string // what stands there; empty when something is missing
	Want  string // what was expected, and what to do
	Doubt bool   // true for a warning: it can be run, but hardly means what was intended
}

// Error says what is wrong, without the place.
func (p Problem) Error() string {
	if p.Value == "" {
		return p.Path + ": " + p.Want
	}
	return fmt.Sprintf("%s: %s: %s", p.Path, p.Value, p.Want)
}

// Problems collects faults under a path.
type Problems struct {
	path string
	all  *[]Problem
}

// New returns an empty collection.
func New() Problems { return Problems{all: new([]Problem)} }

// All returns what has been collected, in the order in which it was reported.
func (p Problems) All() []Problem { return *p.all }

// In returns the same collection one step further down: In("phases", "0").
func (p Problems) In(steps ...string) Problems {
	for _, s := range steps {
		p.path = join(p.path, s)
	}
	return p
}

func join(path, step string) string {
	switch {
	case path == "":
		return step
	case step == "":
		return path
	}
	return path + "." + step
}

// Add reports a fault of a field ("" for the struct itself). A nil value
// means that something is missing.
func (p Problems) Add(field string, value any, want string, args ...any) {
	p.add(false, field, value, want, args)
}

// Doubt reports a warning about a field ("" for the struct itself).
func (p Problems) Doubt(field string, value any, want string, args ...any) {
	p.add(true, field, value, want, args)
}

func (p Problems) add(doubt bool, field string, value any, want string, args []any) {
	v := ""
	if value != nil {
		v = fmt.Sprint(value)
	}
	if len(args) > 0 {
		want = fmt.Sprintf(want, args...)
	}
	*p.all = append(*p.all, Problem{Path: join(p.path, field), Value: v, Want: want, Doubt: doubt})
}

// Longest is the longest duration that a study may name: no experiment lasts
// ten years, and sums of such durations stay far from overflowing.
const Longest = 10 * 365 * 24 * time.Hour

// Positive reports a duration that is not above 0, or absurdly long.
func (p Problems) Positive(field string, d time.Duration) {
	if d <= 0 {
		p.Add(field, d, "expected a duration above 0")
	}
	p.notAbsurd(field, d)
}

// NotNegative reports a duration below 0, or absurdly long.
func (p Problems) NotNegative(field string, d time.Duration) {
	if d < 0 {
		p.Add(field, d, "expected a duration of 0 or more")
	}
	p.notAbsurd(field, d)
}

func (p Problems) notAbsurd(field string, d time.Duration) {
	if d > Longest {
		p.Add(field, d, "expected a duration below ten years")
	}
}

// Between reports a value outside [least, most].
func Between[T cmp.Ordered](p Problems, field string, v, least, most T) {
	if !(v >= least && v <= most) {
		p.Add(field, v, "expected %v to %v", least, most)
	}
}

// OneOf reports a word that is not in the list.
func OneOf[T ~string](p Problems, field string, v T, words ...T) {
	for _, w := range words {
		if v == w {
			return
		}
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	p.Add(field, fmt.Sprintf("%q", string(v)), "expected %s", strings.Join(list, ", "))
}
