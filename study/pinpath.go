package study

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"brunt/load"
	"brunt/measure"
	"brunt/policy"
)

// spot is what a path leads to in any study.
type spot struct {
	typ      reflect.Type // not a pointer
	owner    reflect.Type // the struct that it is a field of, or nil
	name     string       // its name there
	optional bool         // it may be left out
}

// unlimited are the settings at which 0 is no limit, and so the weakest.
var unlimited = map[reflect.Type][]string{
	reflect.TypeFor[measure.SLO]():      {"end_to_end", "first_token"},
	reflect.TypeFor[measure.Detector](): {"timeout"},
	reflect.TypeFor[load.Load]():        {"max_in_flight"},
	reflect.TypeFor[policy.Limit]():     {"queue_timeout"},
	reflect.TypeFor[policy.Backoff]():   {"cap"},
}

func (s spot) unlimited() bool { return slices.Contains(unlimited[s.owner], s.name) }

// unit is what the value of a pin is of, where it is the length of a list.
func (s spot) unit() string {
	if _, isMap := isMapping(s.typ); isMap || s.typ.Kind() == reflect.Slice {
		return " of them"
	}
	return ""
}

// spotAt follows a path by types alone. done is the path so far.
func spotAt(s spot, steps []string, done string) (spot, error) {
	for s.typ.Kind() == reflect.Pointer {
		s.typ, s.optional = s.typ.Elem(), true
	}
	of, listed := isMapping(s.typ)
	if !listed && s.typ.Kind() == reflect.Slice {
		of, listed = s.typ.Elem(), true
	}
	if len(steps) == 0 {
		s.optional = s.optional || listed
		return s, nil
	}
	if listed {
		return listedAt(s, of, steps, done)
	}
	if !takesFields(s.typ) {
		return s, fmt.Errorf("no setting %q in %s: that is a single value", clip(steps[0]), done)
	}
	f, ok := fieldNamed(s.typ, steps[0])
	if !ok {
		return s, fmt.Errorf("no setting %q in %s: %s", clip(steps[0]), orStudy(done), suggest(steps[0], fieldNames(s.typ)))
	}
	return spotAt(spot{typ: f.typ, owner: f.owner, name: f.name}, steps[1:], join(done, steps[0]))
}

// listedAt follows a step into a list or a mapping by name.
func listedAt(s spot, of reflect.Type, steps []string, done string) (spot, error) {
	in := spot{typ: of}
	_, byName := namedBy(of)
	if s.typ.Kind() != reflect.Slice {
		byName = true
	}
	_, err := strconv.Atoi(steps[0])
	switch {
	case steps[0] == "*" || err == nil && s.typ.Kind() == reflect.Slice:
		return spotAt(in, steps[1:], join(done, steps[0]))
	case of == stageType: // the policy of a stage
		return spotAt(in, steps, done)
	case !byName:
		return s, fmt.Errorf("no element %q in %s: expected an index or *", clip(steps[0]), done)
	}
	var first error
	for k := 1; k <= len(steps); k++ { // a name may hold dots
		found, err := spotAt(in, steps[k:], join(done, strings.Join(steps[:k], ".")))
		if err == nil {
			return found, nil
		}
		if first == nil {
			first = err
		}
	}
	return s, first
}

// found is a setting of one study that a path leads to.
type found struct {
	path  string
	value reflect.Value // invalid when the study lacks what the path names
	set   bool          // not left out
}

// finder follows a path through a study.
type finder struct {
	all     []found
	changes bool // inside of what a phase changes: what is left out there changes nothing
}

// find follows the steps from a value. A stage that a stack does not have is
// passed over; whatever else a path names and the study lacks is found as
// missing.
func (w *finder) find(v reflect.Value, steps []string, path string, set bool) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			if w.changes {
				return
			}
			v, set = reflect.New(v.Type().Elem()), false
			setDefaults(v.Elem())
		} else {
			set = true
		}
		v = v.Elem()
	}
	if len(steps) == 0 {
		if _, isMap := isMapping(v.Type()); isMap || v.Kind() == reflect.Slice {
			set = !isEmpty(v)
		}
		if set || !w.changes || !v.IsZero() {
			w.all = append(w.all, found{path, v, set})
		}
		return
	}
	if m, ok := addressable(v).Interface().(mapping); ok {
		w.named(m, steps, path, set)
		return
	}
	if v.Kind() == reflect.Slice {
		w.element(v, steps, path, set)
		return
	}
	f, _ := fieldNamed(v.Type(), steps[0]) // spotAt has been there
	defer func(before bool) { w.changes = before }(w.changes)
	if v.Type() == reflect.TypeFor[Phase]() && f.name != "name" && f.name != "for" {
		w.changes, set = true, false
	}
	w.find(v.FieldByIndex(f.index), steps[1:], join(path, f.name), set)
}

// named follows a step into a mapping by name.
func (w *finder) named(m mapping, steps []string, path string, set bool) {
	before := len(w.all)
	some := false
	m.each(func(name string, v reflect.Value) {
		own := strings.Split(name, ".")
		switch {
		case steps[0] == "*":
			w.find(v, steps[1:], join(path, name), set)
		case len(own) <= len(steps) && slices.Equal(own, steps[:len(own)]):
			w.find(v, steps[len(own):], join(path, name), set)
			some = true
		}
	})
	if steps[0] != "*" && !some && len(w.all) == before {
		w.missing(path, steps)
	}
}

func (w *finder) missing(path string, steps []string) {
	if !w.changes {
		w.all = append(w.all, found{path: join(path, strings.Join(steps, "."))})
	}
}

// element follows a step into a list.
func (w *finder) element(v reflect.Value, steps []string, path string, set bool) {
	into := func(i int, rest []string) {
		if e := v.Index(i); e.Type() == stageType && len(rest) > 0 {
			w.stage(e, rest, join(path, strconv.Itoa(i)))
		} else {
			w.find(e, rest, join(path, strconv.Itoa(i)), set)
		}
	}
	i, err := strconv.Atoi(steps[0])
	switch {
	case steps[0] == "*":
		for i := range v.Len() {
			into(i, steps[1:])
		}
		return
	case err == nil && i >= 0 && i < v.Len():
		into(i, steps[1:])
		return
	case err != nil && v.Type().Elem() == stageType:
		w.stages(v, steps, path)
		return
	}
	f, byName := namedBy(v.Type().Elem())
	for i := range v.Len() {
		if !byName {
			break
		}
		own := strings.Split(v.Index(i).FieldByIndex(f.index).String(), ".")
		if len(own) <= len(steps) && slices.Equal(own, steps[:len(own)]) {
			into(i, steps[len(own):])
			return
		}
	}
	w.missing(path, steps)
}

// stages follows the name of a policy to every such stage of a stack, also of
// those that stand in the branches of its fallbacks.
func (w *finder) stages(stack reflect.Value, steps []string, path string) {
	for i := range stack.Len() {
		at := join(path, strconv.Itoa(i))
		w.stage(stack.Index(i), steps, at)
		if f := stack.Index(i).Addr().Interface().(*Stage).Fallback; f != nil {
			for k := range f.To {
				w.stages(reflect.ValueOf(&f.To[k]).Elem(), steps, join(at, "fallback.to."+strconv.Itoa(k)))
			}
		}
	}
}

// stage follows the name of a policy into a stage, if it is one of that policy.
func (w *finder) stage(v reflect.Value, steps []string, path string) {
	f, _ := fieldNamed(stageType, steps[0])
	if in := v.FieldByIndex(f.index); !in.IsZero() {
		w.find(in, steps[1:], join(path, f.name), true)
	}
}
