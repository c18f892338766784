package study

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/measure"
)

// amount is the value of a setting in a form that can be compared: a number,
// exactly, or a word.
type amount struct {
	number *big.Rat // nil for a word
	text   string
}

// compare returns -1, 0 or 1; words are equal or they are not.
func (a amount) compare(b amount) int {
	if a.number != nil && b.number != nil {
		return a.number.Cmp(b.number)
	}
	return strings.Compare(a.text, b.text)
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// amountOf returns the amount of a setting. Of a list it is the length.
func amountOf(v reflect.Value) amount {
	if m, ok := addressable(v).Interface().(mapping); ok {
		n := 0
		m.each(func(string, reflect.Value) { n++ })
		return amount{whole(int64(n)), strconv.Itoa(n)}
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return amount{whole(int64(x)), x.String()}
	case measure.PPM:
		return amount{whole(int64(x)), share(x)}
	case check.Share:
		return amount{whole(int64(x)), x.String()}
	case clock.Rate:
		if x.IsZero() {
			return amount{new(big.Rat), x.String()}
		}
		count, per := x.Fraction()
		return amount{new(big.Rat).SetFrac64(count, int64(per)), x.String()}
	}
	switch v.Kind() {
	case reflect.Slice:
		return amount{whole(int64(v.Len())), strconv.Itoa(v.Len())}
	case reflect.Int, reflect.Int64:
		return amount{whole(v.Int()), strconv.FormatInt(v.Int(), 10)}
	case reflect.Float64:
		return amount{new(big.Rat).SetFloat64(v.Float()), strconv.FormatFloat(v.Float(), 'g', -1, 64)}
	case reflect.Bool:
		return amount{text: strconv.FormatBool(v.Bool())}
	case reflect.String:
		return amount{text: v.String()}
	}
	panic("study: no amount of a " + v.Type().String()) // parseAmount refuses its pin
}

// parseAmount reads the value of a pin as one of a setting of a type. Its
// error says what was expected.
func parseAmount(t reflect.Type, text string) (amount, error) {
	wrong := func() (amount, error) {
		return amount{}, errors.New(cmp.Or(outOfRange(t, text), "expected "+pinnedKind(t)))
	}
	switch {
	case isLength(t):
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n > mostLength {
			return wrong()
		}
		return amount{whole(int64(n)), text}, nil
	case t == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return wrong()
		}
		return amount{whole(int64(d)), text}, nil
	case isShare(t) || t == reflect.TypeFor[clock.Rate]():
		v := reflect.New(t)
		if err := v.Interface().(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(text)); err != nil {
			return wrong()
		}
		return amount{amountOf(v.Elem()).number, text}, nil
	case takesFields(t):
		return amount{}, fmt.Errorf("is of many settings: expected the path of one of them, such as %s", fieldNames(t)[0])
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return wrong()
		}
		return amount{whole(n), text}, nil
	case reflect.Float64:
		f, ok := number(text)
		if !ok {
			return wrong()
		}
		return amount{new(big.Rat).SetFloat64(f), text}, nil
	case reflect.Bool:
		if text != "true" && text != "false" {
			return wrong()
		}
		return amount{text: text}, nil
	case reflect.String:
		if words := wordsOf(t); len(words) > 0 && !slices.Contains(words, text) {
			return wrong()
		}
		return amount{text: text}, nil
	}
	return amount{}, errors.New("cannot be pinned: expected the path of a number, a duration, a share, a rate or a word")
}

// pinnedKind says in words how the value of a pin is written.
func pinnedKind(t reflect.Type) string {
	if isLength(t) {
		return "a length: a whole number"
	}
	return kindOf(t)
}
