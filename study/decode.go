package study

import (
	"cmp"
	"encoding"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// decode sets v to what stands at a node. A fault is noted and stops nothing
// else; what it concerns keeps its default.
func (r *reader) decode(n *yaml.Node, v reflect.Value, path string) {
	r.places[path] = r.placeOf(n)
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		v.Set(reflect.New(t.Elem()))
		r.decode(n, v.Elem(), path)
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		want := "expected " + kindOf(t)
		if takesFields(t) {
			want += "; {} stands for its defaults"
		}
		r.wrong(n, path, "nothing", want)
		return
	}
	switch {
	case t == durationType:
		r.duration(n, v, path)
	case isText(t) && (n.Kind == yaml.ScalarNode || !takesFields(t)):
		r.text(n, v, path)
	case reflect.PointerTo(t).Implements(mappingType):
		r.mapping(n, v.Addr().Interface().(mapping), path)
	default:
		r.kind(n, v, path)
	}
}

func (r *reader) kind(n *yaml.Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		r.fields(n, v, path)
	case reflect.Slice:
		r.list(n, v, path)
	case reflect.String:
		if !r.scalar(n, v.Type(), path) {
			return
		}
		if strings.ContainsFunc(n.Value, isControl) {
			r.wrong(n, path, show(n), "expected text without control characters")
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if r.scalar(n, v.Type(), path) {
			switch n.ShortTag() + n.Value {
			case "!!booltrue", "!!boolTrue", "!!boolTRUE":
				v.SetBool(true)
			case "!!boolfalse", "!!boolFalse", "!!boolFALSE":
				v.SetBool(false)
			default:
				r.wrong(n, path, show(n), "expected true or false")
			}
		}
	case reflect.Int, reflect.Int64:
		r.integer(n, v, path)
	case reflect.Float64:
		r.float(n, v, path)
	default:
		panic("study: no way to read a " + v.Type().String())
	}
}

// isControl reports a character that could move a terminal's cursor, or that
// YAML takes only in an escape.
func isControl(c rune) bool {
	return unicode.IsControl(c) && c != '\n' && c != '\t' || c == '\uFEFF' || c >= '\uFFFE' && c <= '\uFFFF'
}

func (r *reader) placeOf(n *yaml.Node) place {
	if set, ok := r.sets[n]; ok {
		return place{set: set}
	}
	return place{line: n.Line, column: n.Column}
}

// wrong notes a fault at a node.
func (r *reader) wrong(n *yaml.Node, path, value, want string) {
	r.errs = append(r.errs, r.at(r.placeOf(n), path, value, want))
}

// scalar reports whether a node is a single value, and notes it when not.
func (r *reader) scalar(n *yaml.Node, t reflect.Type, path string) bool {
	if n.Kind != yaml.ScalarNode {
		r.wrong(n, path, show(n), "expected "+kindOf(t))
		return false
	}
	return true
}

func (r *reader) duration(n *yaml.Node, v reflect.Value, path string) {
	if !r.scalar(n, v.Type(), path) {
		return
	}
	d, err := time.ParseDuration(n.Value)
	if err == nil {
		v.SetInt(int64(d))
		return
	}
	want := "expected a duration such as 5ms, 30s or 1h30m"
	if numberText.MatchString(n.Value) {
		want = "has no unit: write " + n.Value + "ms or " + n.Value + "s"
	}
	r.wrong(n, path, show(n), cmp.Or(outOfRange(v.Type(), n.Value), want))
}

func (r *reader) text(n *yaml.Node, v reflect.Value, path string) {
	if !r.scalar(n, v.Type(), path) {
		return
	}
	err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value))
	if err == nil {
		if name, ok := shorthand[v.Type()]; ok {
			r.places[join(path, name)] = r.placeOf(n)
		}
		return
	}
	want := err.Error()
	if i := strings.LastIndex(want, ": expected "); i >= 0 {
		want = want[i+2:]
	}
	if numberText.MatchString(n.Value) && takesFields(v.Type()) && v.Type() != gatesType {
		want = "has no unit: write " + n.Value + "ms or " + n.Value + "s"
	}
	beyond := outOfRange(v.Type(), n.Value)
	if v.Type() == roomType { // it knows its own range
		beyond = ""
	}
	r.wrong(n, path, show(n), cmp.Or(beyond, want))
}

func (r *reader) integer(n *yaml.Node, v reflect.Value, path string) {
	if !r.scalar(n, v.Type(), path) {
		return
	}
	i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
	digits := strings.TrimLeft(n.Value, "+-")
	switch {
	case err != nil && isPlain(n) && outOfRange(v.Type(), n.Value) != "": // YAML takes a large one for something else
		r.wrong(n, path, show(n), outOfRange(v.Type(), n.Value))
	case err != nil || n.ShortTag() != "!!int":
		r.wrong(n, path, show(n), "expected a whole number")
	case len(digits) > 1 && digits[0] == '0':
		r.wrong(n, path, show(n), "expected a whole number that does not begin with 0")
	default:
		v.SetInt(i)
	}
}

func (r *reader) float(n *yaml.Node, v reflect.Value, path string) {
	if !r.scalar(n, v.Type(), path) {
		return
	}
	f, ok := number(n.Value)
	tag := n.ShortTag()
	switch {
	case !ok && isPlain(n):
		r.wrong(n, path, show(n), cmp.Or(outOfRange(v.Type(), n.Value), "expected a number"))
	case !ok || tag != "!!int" && tag != "!!float":
		r.wrong(n, path, show(n), "expected a number")
	default:
		v.SetFloat(f)
	}
}

// isPlain reports a scalar without quotes and tag: one that may be a number.
func isPlain(n *yaml.Node) bool { return n.Style&^yaml.FlowStyle == 0 }

func (r *reader) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, path, show(n), "expected "+kindOf(v.Type()))
		return
	}
	if len(n.Content) == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // not nil: it was said
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		e := list.Index(i)
		setDefaults(e)
		r.decode(c, e, join(path, strconv.Itoa(i)))
	}
	v.Set(list)
}

// pairs visits the keys of a mapping, and notes those that are no names or
// stand there twice.
func (r *reader) pairs(n *yaml.Node, path string, visit func(key, value *yaml.Node)) {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Value == "" || key.ShortTag() == "!!null" {
			r.wrong(key, join(path, show(key)), show(key), "expected a name before the colon")
			continue
		}
		if first := seen[key.Value]; first != nil {
			r.wrong(key, join(path, clip(key.Value)), show(key), "stands here twice: first on line "+strconv.Itoa(first.Line))
			continue
		}
		seen[key.Value] = key
		visit(key, value)
	}
}

func (r *reader) mapping(n *yaml.Node, m mapping, path string) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, path, show(n), "expected a mapping from names to "+kindsOf(m.elem()))
		return
	}
	r.pairs(n, path, func(key, value *yaml.Node) {
		if !isName(key.Value) { // checked here, as paths are made of names
			r.wrong(key, join(path, clip(key.Value)), strconv.Quote(clip(key.Value)), "expected as a name "+nameRule)
			return
		}
		m.entry(key.Value, func(v reflect.Value) {
			setDefaults(v)
			r.decode(value, v, join(path, key.Value))
		})
	})
}

func (r *reader) fields(n *yaml.Node, v reflect.Value, path string) {
	t := v.Type()
	if n.Kind != yaml.MappingNode {
		r.wrong(n, path, show(n), "expected "+kindOf(t))
		return
	}
	if t == stageType && policies(n) != 1 {
		r.wrong(n, path, "a mapping with "+strconv.Itoa(policies(n))+" policies",
			"a stage is a mapping with exactly one policy, and shared beside it at most; the settings stand one level deeper: {retry: {attempts: 3}}")
	}
	setDefaults(v)
	r.pairs(n, path, func(key, value *yaml.Node) {
		f, ok := fieldNamed(t, key.Value)
		if !ok {
			what := "unknown field "
			if t == stageType {
				what = "unknown policy "
			}
			r.wrong(key, join(path, clip(key.Value)), what+strconv.Quote(clip(key.Value)), suggest(key.Value, fieldNames(t)))
			return
		}
		r.decode(value, v.FieldByIndex(f.index), join(path, f.name))
	})
}

// sharedKey is what may stand beside the policy of a stage.
const sharedKey = "shared"

// policies counts the keys of a stage, but for what may stand beside its policy.
func policies(stage *yaml.Node) int {
	count := 0
	for i := 0; i < len(stage.Content); i += 2 {
		if stage.Content[i].Value != sharedKey {
			count++
		}
	}
	return count
}

func clip(s string) string {
	if len(s) > longestName {
		return strings.ToValidUTF8(s[:longestName], "") + "…"
	}
	return s
}

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}
