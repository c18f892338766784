package measure

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMillisJSON(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0"},
		{time.Nanosecond, "0.000001"},
		{20 * time.Millisecond, "20"},
		{1500 * time.Microsecond, "1.5"},
		{-1500 * time.Microsecond, "-1.5"},
		{10 * time.Microsecond, "0.01"},
		{1_000_100 * time.Nanosecond, "1.0001"},
		{30 * time.Second, "30000"},
		// A float of milliseconds would write an exponent here,
		{100_000_000 * time.Second, "100000000000"},
		// and lose the last digit here.
		{9_007_199_254_740_993, "9007199254.740993"},
		{math.MaxInt64, "9223372036854.775807"},
		{math.MinInt64, "-9223372036854.775808"},
	}
	for _, test := range tests {
		b, err := json.Marshal(Millis(test.d))
		if err != nil || string(b) != test.want {
			t.Errorf("%v is written %s, want %s (%v)", test.d, b, test.want, err)
		}
	}
}

func TestMillisReads(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"1.50": 1500 * time.Microsecond, "3e4": 30 * time.Second, "1E-6": 1, "0.0000004": 0, "2.0000000000": 2 * time.Millisecond, "-0.5": -500 * time.Microsecond,
	} {
		var m Millis
		if err := json.Unmarshal([]byte(in), &m); err != nil || time.Duration(m) != want {
			t.Errorf("%s is read as %v, want %v (%v)", in, time.Duration(m), want, err)
		}
	}
	for _, in := range []string{`"5"`, `true`, `1e300`, `99999999999999`} {
		var m Millis
		if err := json.Unmarshal([]byte(in), &m); err == nil {
			t.Errorf("%s is read as %v, want an error", in, time.Duration(m))
		}
	}
	var absent struct{ P *Millis }
	if err := json.Unmarshal([]byte(`{"P":null}`), &absent); err != nil || absent.P != nil {
		t.Errorf("null is read as %v (%v)", absent.P, err)
	}
}

func TestMillisComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Millis(rapid.Int64().Draw(t, "ns"))
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back Millis
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Fatalf("%d came back as %d from %s (%v)", m, back, b, err)
		}
	})
}
