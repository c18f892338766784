package study

import (
	"encoding"
	"reflect"
	"strings"
	"sync"
	"time"

	"brunt/check"
	"brunt/dependency"
	"brunt/measure"
	"brunt/target"
)

// field is one setting of a configuration struct.
type field struct {
	name  string // in the study
	index []int  // for reflect, through embedded structs
	typ   reflect.Type
	owner reflect.Type // the struct that declares it
	goes  string       // its name in Go
	brief bool         // not in the configuration while it is at its default
}

var fieldCache sync.Map // reflect.Type -> []field

// fieldsOf lists the settings of a struct in their order, those of embedded
// structs in place. What has no yaml name is no setting.
func fieldsOf(t reflect.Type) []field {
	if f, ok := fieldCache.Load(t); ok {
		return f.([]field)
	}
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, tagged := f.Tag.Lookup("yaml")
		switch {
		case f.Anonymous && !tagged:
			for _, in := range fieldsOf(f.Type) {
				in.index = append([]int{i}, in.index...)
				all = append(all, in)
			}
		case tagged && name != "-":
			all = append(all, field{name, []int{i}, f.Type, t, f.Name, f.Tag.Get("config") == "changed"})
		}
	}
	fieldCache.Store(t, all)
	return all
}

func fieldNames(t reflect.Type) []string {
	fields := fieldsOf(t)
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// fieldNamed finds a setting by its name in the study.
func fieldNamed(t reflect.Type, name string) (field, bool) {
	for _, f := range fieldsOf(t) {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

var (
	durationType  = reflect.TypeFor[time.Duration]()
	stageType     = reflect.TypeFor[Stage]()
	latencyType   = reflect.TypeFor[dependency.Latency]()
	behaviourType = reflect.TypeFor[dependency.Behaviour]()
	roomType      = reflect.TypeFor[dependency.Room]()
	serviceType   = reflect.TypeFor[Service]()
	targetType    = reflect.TypeFor[target.Config]()
	byAttemptType = reflect.TypeFor[dependency.ByAttempt]()
	gatesType     = reflect.TypeFor[Gates]()
	replayType    = reflect.TypeFor[dependency.Replay]()
	quantityType  = reflect.TypeFor[Quantity]()
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
	defaultsType  = reflect.TypeFor[interface{ SetDefaults() }]()
	mappingType   = reflect.TypeFor[mapping]()
)

// mapping is what an Ordered of any type can do for the reader.
type mapping interface {
	// entry adds a value under a name, after fill has set it.
	entry(name string, fill func(reflect.Value))
	// each visits names and values in order.
	each(visit func(name string, v reflect.Value))
	// elem is the type of the values.
	elem() reflect.Type
}

// shorthand is the setting that a word stands for where a mapping could be.
var shorthand = map[reflect.Type]string{replayType: "folder", gatesType: "enforce", latencyType: "constant", byAttemptType: "constant"}

// isText reports whether a type can be written as a word.
func isText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// isMapping reports whether a type is an Ordered, and of what.
func isMapping(t reflect.Type) (of reflect.Type, ok bool) {
	if !reflect.PointerTo(t).Implements(mappingType) {
		return nil, false
	}
	return reflect.New(t).Interface().(mapping).elem(), true
}

// isShare reports whether a type is a share of a whole. Package measure has one
// of its own: it must serve rows that no study made.
func isShare(t reflect.Type) bool {
	return t == reflect.TypeFor[measure.PPM]() || t == reflect.TypeFor[check.Share]()
}

// takesFields reports whether a type is written as a mapping of settings.
func takesFields(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0
}

// setDefaults sets a value to its type's defaults, if it has any.
func setDefaults(v reflect.Value) {
	if reflect.PointerTo(v.Type()).Implements(defaultsType) {
		v.Addr().Interface().(interface{ SetDefaults() }).SetDefaults()
	}
}

// isOne reports whether an Error path is at, above or below another.
func isOne(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}
