package study

import (
	"iter"
	"reflect"
)

// Ordered is a mapping by name that keeps the order of the file.
type Ordered[T any] struct {
	names  []string
	values map[string]T
}

// Set adds or replaces a value.
func (o *Ordered[T]) Set(name string, v T) {
	if o.values == nil {
		o.values = map[string]T{}
	}
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

// Get returns the value of a name.
func (o Ordered[T]) Get(name string) (T, bool) {
	v, ok := o.values[name]
	return v, ok
}

// Len returns how many there are.
func (o Ordered[T]) Len() int { return len(o.names) }

// Names returns the names in order. The slice must not be changed.
func (o Ordered[T]) Names() []string { return o.names }

// All iterates over names and values in order.
func (o Ordered[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, n := range o.names {
			if !yield(n, o.values[n]) {
				return
			}
		}
	}
}

func (o *Ordered[T]) entry(name string, fill func(reflect.Value)) {
	var v T
	fill(reflect.ValueOf(&v).Elem())
	o.Set(name, v)
}

func (o *Ordered[T]) each(visit func(string, reflect.Value)) {
	for n, v := range o.All() {
		visit(n, reflect.ValueOf(&v).Elem())
	}
}

func (o *Ordered[T]) elem() reflect.Type { return reflect.TypeFor[T]() }
