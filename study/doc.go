// Package study is the study file: its structs, reading and overriding it,
// what may be wrong with it, and what can be told about it without running it
// (worst cases, the JSON Schema, explanations). It runs nothing.
//
//	s, err := study.Read("outage", study.Options{Sets: []string{"phases.*.for=10s"}})
//
// A configuration struct is declared in the package that uses it. The reader
// decodes straight into it by its yaml tags: embedded structs are part of the
// one around them, a pointer is a setting that may be absent, a type with
// UnmarshalText is written as a word, and one with SetDefaults gets its
// defaults before what is written. The same tags make [Study.Config],
// [Schema] and [Explain], whose words are the comments of the fields.
//
// Faults come all at once as [Errors], each with its line and column or the
// setting that brought it. Doubts do not keep a study from running; they are
// its [Study.Warnings].
//
// A protocol pins numbers of the studies that name it: built in, or a file of
// the user's own. A study that weakens a pinned value does not load; see
// [Pin] for what a pin can say.
//
// A study that has been read is not changed any more and may be used from any
// goroutine. Durations are time.Duration, rates [brunt/clock.Rate].
package study
