package measure

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParsePPM(t *testing.T) {
	for text, want := range map[string]PPM{
		"90%":      900_000,
		"99.9 %":   999_000, // a space before the sign
		"0.9":      900_000,
		".9":       900_000,
		"0.07":     70_000, // a float makes 70000.00000000001 of it
		"1":        Million,
		"1.0":      Million,
		"100%":     Million,
		"0":        0,
		".0":       0,
		"0.000001": 1,
		"0.0001%":  1,
		"90.0000%": 900_000, // zeros at the end say nothing
	} {
		if got, err := ParsePPM(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "is not a share",
		"%":                     "is not a share",
		".":                     "is not a share",
		"-1%":                   "is not a share",
		"9e-1":                  "is not a share", // digits only: what is written is exact
		"nan":                   "is not a share",
		"1.2.3":                 "is not a share",
		"90":                    "more than the whole", // a percentage without its sign
		"100.1%":                "more than the whole",
		"0.0000001":             "too fine",
		"99.99999%":             "too fine",
		strings.Repeat("9", 40): "is not a share",
	} {
		if got, err := ParsePPM(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d, %v, want %s", text, got, err, want)
		}
	}
}

// Every share is read back as it was written.
func TestPPMText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := PPM(rapid.Int64Range(0, int64(Million)).Draw(t, "share"))
		text, err := q.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again PPM
		if err := again.UnmarshalText(text); err != nil || again != q {
			t.Fatalf("%d is written as %s and read as %d, %v", q, text, again, err)
		}
	})
}
