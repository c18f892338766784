package study

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"brunt/clock"
	"brunt/policy"
)

// Schema returns the JSON Schema of a study file. It knows names, kinds and
// words, so that an editor can help; the reader knows more.
func Schema() []byte {
	r := &jsonschema.Reflector{
		FieldNameTag:               "yaml",
		Anonymous:                  true,
		ExpandedStruct:             true,
		RequiredFromJSONSchemaTags: true, // there are none: see required
		LookupComment:              func(t reflect.Type, field string) string { return commentOf(t, field) },
	}
	r.Mapper = schemaOf
	r.Namer = defName
	root := r.ReflectFromType(reflect.TypeFor[Study]())
	defs := root.Definitions
	// what stands in a mapping by name is not found from the root
	for _, t := range []reflect.Type{reflect.TypeFor[Stage](), byAttemptType, behaviourType, serviceType, targetType} {
		for name, def := range r.ReflectFromType(t).Definitions {
			defs[name] = def
		}
		defs[defName(t)] = r.ReflectFromType(t)
		defs[defName(t)].Definitions, defs[defName(t)].Version = nil, ""
	}
	completeSchema(root, reflect.TypeFor[Study](), defs, map[reflect.Type]bool{})
	root.Title, root.Description = "brunt study", "A study file of brunt."
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("study: write the schema: %v", err)) // plain values only
	}
	return append(b, '\n')
}

// defName is the name of a type's definition. Two packages have a Rate.
func defName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return ""
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

func commentOf(t reflect.Type, field string) string {
	if field == "" {
		return comments().Docs[nameOf(t)]
	}
	return comments().Docs[nameOf(t)+"."+field]
}

// required lists what a struct cannot go without.
var required = map[reflect.Type][]string{
	reflect.TypeFor[Study]():       {"study", "phases", "compositions"},
	reflect.TypeFor[Phase]():       {"name", "for"},
	reflect.TypeFor[Fallback]():    {"to"},
	reflect.TypeFor[Expectation](): {"measure"},
	reflect.TypeFor[Comparison]():  {"measure", "compositions"},
	reflect.TypeFor[Fault]():       {"phase"},
	reflect.TypeFor[Testbed]():     {"behaviour"},
}

const (
	durationPattern = `^[+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	namePattern     = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`
)

// schemaOf describes the types that are written in another way than their Go
// type says; nil leaves a type to the reflector.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	of, isMap := isMapping(t)
	switch {
	case t == durationType:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Pattern: durationPattern}, {Const: 0}}}
	case t == reflect.TypeFor[clock.Rate]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[^/]+/[^/]+$`}
	case isShare(t):
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "number", Minimum: "0", Maximum: "1"},
			{Type: "string", Pattern: `^([0-9]+\.?[0-9]*|\.[0-9]+) *%?$`},
		}}
	case t == reflect.TypeFor[policy.Jitter]():
		return &jsonschema.Schema{Type: "string", Pattern: `^(none|full|equal|decorrelated|proportional\(.+\))$`}
	case t == reflect.TypeFor[Quantity]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "number"}, {Type: "string"}}}
	case isMap:
		values := &jsonschema.Schema{Ref: "#/$defs/" + defName(of)}
		if of.Kind() == reflect.String {
			values = &jsonschema.Schema{Type: "string"}
		}
		return &jsonschema.Schema{
			Type:                 "object",
			PropertyNames:        &jsonschema.Schema{Pattern: namePattern},
			AdditionalProperties: values,
		}
	case t.Kind() == reflect.String && len(wordsOf(t)) > 0:
		s := &jsonschema.Schema{Type: "string"}
		for _, w := range wordsOf(t) {
			s.Enum = append(s.Enum, w)
		}
		return s
	}
	return nil
}

// completeSchema adds to the schema of a struct, and of those in it, what the
// reflector cannot know: defaults, what is required, which of them are a word
// as well, and that a stage has one key.
func completeSchema(s *jsonschema.Schema, t reflect.Type, defs jsonschema.Definitions, done map[reflect.Type]bool) {
	if done[t] {
		return
	}
	done[t] = true
	s.Required = required[t]
	if t == stageType {
		for _, f := range fieldsOf(t) {
			if f.name != sharedKey {
				s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{f.name}})
			}
		}
	}
	for _, f := range fieldsOf(t) {
		p, ok := s.Properties.Get(f.name)
		if !ok {
			panic("study: the schema lacks " + t.String() + "." + f.name)
		}
		if d, ok := defaultOf(t, f); ok {
			p.Default = d
		}
		if in := structIn(f.typ); in != nil && defs[defName(in)] != nil {
			completeSchema(defs[defName(in)], in, defs, done)
		}
	}
	if isText(t) { // a word or a duration will do
		word := schemaOf(durationType)
		switch t {
		case replayType:
			word = &jsonschema.Schema{Type: "string", Pattern: `\S`}
		case gatesType:
			word = &jsonschema.Schema{Type: "string", Enum: []any{reported, enforced}}
		}
		fields := *s
		*s = jsonschema.Schema{Description: fields.Description, AnyOf: []*jsonschema.Schema{word, &fields}}
		fields.Description = ""
	}
}

// structIn is the struct that a setting of some type is made of, or nil.
func structIn(t reflect.Type) reflect.Type {
	for {
		of, isMap := isMapping(t)
		switch {
		case isMap:
			t = of
		case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
			t = t.Elem()
		case takesFields(t):
			return t
		default:
			return nil
		}
	}
}

// defaultOf returns a setting's default as JSON; ok is false when there is
// none, or when it is made of further settings.
func defaultOf(t reflect.Type, f field) (json.RawMessage, bool) {
	v := reflect.New(t).Elem()
	setDefaults(v)
	v = v.FieldByIndex(f.index)
	if _, isMap := isMapping(f.typ); isMap || v.Kind() == reflect.Pointer || takesFields(f.typ) {
		return nil, false
	}
	if v.IsZero() && (f.typ.Kind() == reflect.String || f.typ.Kind() == reflect.Slice || isText(f.typ)) {
		return nil, false
	}
	var w configWriter
	w.value(v)
	return json.RawMessage(strings.TrimSpace(w.String())), true
}
