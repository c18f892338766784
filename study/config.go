package study

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"brunt/dependency"
)

// Config returns the study with its defaults as JSON, under the names and in
// the order of the settings: durations and the like as their words. What is
// left out has no effect: it is zero, and so is its default, or it is at a
// default that says nothing about the study. The JSON is a study file too, and
// reads as an equal study.
func (s *Study) Config() json.RawMessage {
	var w configWriter
	w.value(reflect.ValueOf(s).Elem())
	return w.Bytes()
}

type configWriter struct{ bytes.Buffer }

func (w *configWriter) value(v reflect.Value) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		w.value(v.Elem())
		return
	}
	if constant, ok := plainLatency(v); ok {
		w.scalar(constant.String())
		return
	}
	if gates, ok := v.Interface().(Gates); ok {
		if word, plain := gates.plain(); plain {
			w.scalar(word)
			return
		}
	}
	if m, ok := addressable(v).Interface().(mapping); ok {
		w.mapping(m)
		return
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		w.scalar(x.String())
		return
	case encoding.TextMarshaler:
		text, err := x.MarshalText()
		if err != nil {
			panic(fmt.Sprintf("study: write %v: %v", t, err)) // none of ours fails
		}
		w.scalar(string(text))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice:
		w.WriteByte('[')
		for i := range v.Len() {
			w.separate(i)
			w.value(v.Index(i))
		}
		w.WriteByte(']')
	default:
		w.scalar(v.Interface())
	}
}

// addressable returns a pointer to a value, or to a copy of it.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v.Addr()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p
}

// plainLatency returns the duration of a latency that is written as one.
func plainLatency(v reflect.Value) (time.Duration, bool) {
	var l dependency.Latency
	switch x := v.Interface().(type) {
	case dependency.Latency:
		l = x
	case dependency.ByAttempt:
		if x.First != nil || x.Later != nil {
			return 0, false
		}
		l = x.Latency
	}
	if l.Constant == nil {
		return 0, false
	}
	return *l.Constant, true
}

func (w *configWriter) separate(i int) {
	if i > 0 {
		w.WriteByte(',')
	}
}

func (w *configWriter) scalar(x any) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		panic(fmt.Sprintf("study: write %v: %v", x, err)) // no NaN passes the reader
	}
	w.Truncate(w.Len() - 1) // the newline
}

func (w *configWriter) mapping(m mapping) {
	w.WriteByte('{')
	i := 0
	m.each(func(name string, v reflect.Value) {
		w.separate(i)
		i++
		w.scalar(name)
		w.WriteByte(':')
		w.value(v)
	})
	w.WriteByte('}')
}

func (w *configWriter) fields(v reflect.Value) {
	byDefault := reflect.New(v.Type()).Elem()
	setDefaults(byDefault)
	w.WriteByte('{')
	i := 0
	for _, f := range fieldsOf(v.Type()) {
		in, def := v.FieldByIndex(f.index), byDefault.FieldByIndex(f.index)
		if isEmpty(in) && isEmpty(def) || f.brief && in.Equal(def) {
			continue
		}
		w.separate(i)
		i++
		w.scalar(f.name)
		w.WriteByte(':')
		w.value(in)
	}
	w.WriteByte('}')
}

// isEmpty reports whether a value is what leaving it out gives, defaults
// aside.
func isEmpty(v reflect.Value) bool {
	if m, ok := addressable(v).Interface().(mapping); ok {
		empty := true
		m.each(func(string, reflect.Value) { empty = false })
		return empty
	}
	return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}
