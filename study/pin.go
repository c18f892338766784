package study

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"brunt/check"
)

// check reports what is wrong with a pin by itself: a path that is in no
// study, a value that the setting cannot have.
func (p Pin) check(in check.Problems) {
	if p.Clause == "" {
		in.Add("clause", nil, "missing: expected the clause that pins the setting")
	}
	if p.Why == "" {
		in.Add("why", nil, "missing: expected why the setting is pinned")
	}
	relation := slices.Contains(relations, p.Relation)
	if !relation {
		check.OneOf(in, "relation", p.Relation, relations...)
	}
	if p.Path == "" {
		in.Add("path", nil, "missing: expected the path of a setting, such as phases.*.for")
		return
	}
	at, err := spotAt(spot{typ: reflect.TypeFor[Study]()}, strings.Split(p.Path, "."), "")
	switch {
	case err != nil:
		in.Add("path", p.Path, "%v", err)
		return
	case !relation:
		return
	case p.Relation == Absent:
		if !at.optional {
			in.Add("relation", p.Relation, "expected another one: %s always has a value", p.Path)
		}
		if p.Value != "" {
			in.Add("value", p.Value, "has no meaning with relation: %s", Absent)
		}
		return
	case p.Value == "":
		in.Add("value", nil, "missing: expected %s", pinnedKind(at.typ))
		return
	}
	v, err := parseAmount(at.typ, p.Value)
	switch {
	case err != nil:
		in.Add("value", strconv.Quote(clip(p.Value)), "%v", err)
	case v.number == nil && (p.Relation == AtMost || p.Relation == AtLeast):
		in.Add("relation", p.Relation, "expected %s: words have no order", Equals)
	}
}

// violations returns what a pin says against a study.
func (r *reader) violations(s *Study, p *Protocol, pin Pin) (all []Error) {
	steps := strings.Split(pin.Path, ".")
	at, err := spotAt(spot{typ: reflect.TypeFor[Study]()}, steps, "")
	if err != nil {
		panic(fmt.Sprintf("study: pin %s: %v", pin.Path, err)) // checked before
	}
	var w finder
	w.find(reflect.ValueOf(s).Elem(), steps, "", true)
	for _, f := range w.all {
		have, holds := pin.holds(at, f)
		if holds {
			continue
		}
		where, written := r.places[f.path]
		if !written {
			where = r.places.of("protocol")
			if f.value.IsValid() && have != "missing" {
				have += " by default"
			}
		}
		all = append(all, r.at(where, f.path, have, fmt.Sprintf("protocol %s pins %s (clause %s: %s): %s, or leave the protocol away",
			p, pin.pins(at.unit()), pin.Clause, pin.Why, pin.remedy(at.unit()))))
	}
	return all
}

// holds reports whether a setting keeps to the pin, and what it is.
func (p Pin) holds(at spot, f found) (have string, ok bool) {
	switch {
	case p.Relation == Absent:
		return "given", !f.value.IsValid() || !f.set
	case !f.value.IsValid():
		return "missing", p.Relation == EqualsIfSet
	}
	v := amountOf(f.value)
	have = cmp.Or(v.text, "missing") + at.unit()
	if p.Relation == EqualsIfSet && (!f.set || f.value.IsZero()) {
		return have, true
	}
	want, err := parseAmount(at.typ, p.Value)
	if err != nil {
		panic(fmt.Sprintf("study: pin %s to %s: %v", p.Path, p.Value, err)) // checked before
	}
	without := at.unlimited() && f.value.IsZero()
	switch c := v.compare(want); p.Relation {
	case AtMost:
		if without {
			return "no limit", false
		}
		return have, c <= 0
	case AtLeast:
		return have, c >= 0 || without
	default:
		return have, c == 0
	}
}

// pins says what is pinned.
func (p Pin) pins(unit string) string {
	switch p.Relation {
	case AtMost:
		return "at most " + p.Value + unit
	case AtLeast:
		return "at least " + p.Value + unit
	case EqualsIfSet:
		return p.Value + unit + " where it is used"
	case Absent:
		return "that there is none"
	}
	return p.Value + unit
}

// remedy says what to do.
func (p Pin) remedy(unit string) string {
	switch p.Relation {
	case AtMost:
		return "write " + p.Value + unit + " or less"
	case AtLeast:
		return "write " + p.Value + unit + " or more"
	case Absent:
		return "take it out"
	}
	return "write " + p.Value + unit
}
