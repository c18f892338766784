package check

import (
	"testing"

	"pgregory.net/rapid"
)

func TestShareText(t *testing.T) {
	tests := []struct {
		text string
		want Share // parts per million; -1 when it is refused
	}{
		{"20%", 200_000},
		{" 99.9 %", 999_000},
		{"0.2", 200_000},
		{".5", 500_000},
		{"1", 1_000_000}, // a number, so the whole
		{"0%", 0},
		{"100%", 1_000_000},
		{"0.0001%", 1},
		{"0.000001", 1},
		{"20.00000%", 200_000}, // zeros make it no finer
		{"1.5", -1},            // more than the whole
		{"101%", -1},
		{"0.0000001", -1}, // too fine
		{"0.00001%", -1},
		{"", -1},
		{"%", -1},
		{".", -1},
		{"-5%", -1},
		{"+5%", -1},
		{"5.%x", -1},
		{"1e-1", -1},
		{"99999999999999999999%", -1},
	}
	for _, test := range tests {
		s := Share(77)
		err := s.UnmarshalText([]byte(test.text))
		switch {
		case test.want < 0 && (err == nil || s != 77):
			t.Errorf("%q: read as %v, error %v; expected an error and no change", test.text, s, err)
		case test.want >= 0 && (err != nil || s != test.want):
			t.Errorf("%q: read as %d ppm, error %v; want %d", test.text, s, err, test.want)
		}
	}
}

// What is written reads as the same share.
func TestShareTextReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Share(rapid.Int64Range(0, 1_000_000).Draw(t, "ppm"))
		text, _ := s.MarshalText()
		var got Share
		if err := got.UnmarshalText(text); err != nil || got != s {
			t.Errorf("%d ppm is written %s and reads as %d, %v", s, text, got, err)
		}
	})
}
