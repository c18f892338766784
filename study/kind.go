package study

import (
	"reflect"
	"strings"

	"brunt/clock"
	"brunt/policy"
)

// kindOf says in words how a value of a type is written.
func kindOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return kindOf(t.Elem())
	}
	of, isMap := isMapping(t)
	switch {
	case t == durationType:
		return "a duration such as 5ms, 30s or 1h30m"
	case t == reflect.TypeFor[clock.Rate]():
		return "a rate such as 100/s, 6000/min or 1/10s"
	case t == roomType:
		return "a whole number from 0, or unbounded"
	case t == quantityType:
		return "a number, a percentage or a duration"
	case t == reflect.TypeFor[policy.Jitter]():
		return "none, full, equal, decorrelated or proportional(r)"
	case isShare(t):
		return "a share such as 90% or 0.9"
	case t == gatesType:
		return reported + ", " + enforced + " or a mapping with " + strings.Join(fieldNames(t), ", ")
	case t == latencyType || t == byAttemptType:
		return "a duration, or a mapping with one of " + strings.Join(fieldNames(t), ", ")
	case t == replayType:
		return "the folder of a run, a recording, or a mapping with " + strings.Join(fieldNames(t), ", ")
	case t == stageType:
		return "a stage: a mapping with exactly one of " + strings.Join(fieldNames(t), ", ")
	case isMap:
		return "a mapping from names to " + kindsOf(of)
	}
	switch t.Kind() {
	case reflect.Struct:
		return "a mapping with " + strings.Join(fieldNames(t), ", ")
	case reflect.Slice:
		return "a list of " + kindsOf(t.Elem())
	case reflect.String:
		if words := wordsOf(t); len(words) > 0 {
			return "one of " + strings.Join(words, ", ")
		}
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	}
	return "a number"
}

// kindsOf is kindOf in the plural, short.
func kindsOf(t reflect.Type) string {
	switch {
	case t == stageType:
		return "stages"
	case t.Kind() == reflect.Slice && t.Elem() == stageType:
		return "stacks"
	case takesFields(t):
		return "mappings"
	case t.Kind() == reflect.String:
		return "words"
	}
	return "values"
}
