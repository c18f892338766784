package clock

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseRate(t *testing.T) {
	tests := []struct {
		text, want string // want as it is written again
		perSecond  float64
	}{
		{"100/s", "100/s", 100},
		// the same rate in other words is the same rate
		{"6000/min", "100/s", 100},
		{"6000/m", "100/s", 100},
		{"360000/h", "100/s", 100},
		{"0.1/ms", "100/s", 100},
		{"100/1s", "100/s", 100},
		{"1e2/sec", "100/s", 100},
		{" 100 / s ", "100/s", 100},
		{"2.5/s", "2.5/s", 2.5},
		{"1/10s", "0.1/s", 0.1},
		{"010/s", "10/s", 10},
		// no finite decimal fraction: as count and time
		{"1/3s", "1/3s", 1. / 3},
		{"1/h", "1/1h0m0s", 1. / 3600},
		{"7/1m30s", "7/1m30s", 7. / 90},
		// the fastest and one of the slowest
		{"1000000000/s", "1000000000/s", 1e9},
		{"1/2000h", "1/2000h0m0s", 1. / 7.2e6},
	}
	for _, test := range tests {
		r, err := ParseRate(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if got := r.String(); got != test.want {
			t.Errorf("%q was written again as %q, want %q", test.text, got, test.want)
		}
		if got := r.PerSecond(); got != test.perSecond {
			t.Errorf("%q: %v a second, want %v", test.text, got, test.perSecond)
		}
	}
	if a, b := PerSecond(100), mustParse("6000/min"); a != b {
		t.Errorf("%+v and %+v are one rate", a, b)
	}
	for _, text := range []string{
		"", "100", "/s", "100/", "100/x", "100 per s", "s/100", "1/2/s",
		"0/s", "-5/s", "1/0s", "1/-1s", "nan/s", "inf/s", "0x10/s", "1_000/s", "ten/s",
		strings.Repeat("1", 40) + "/s",
		// faster than one in a nanosecond, slower than one in 100 days, too many digits
		"1000000001/s", "3/2ns", "1e300/s", "1/2600h", "1.0000000000000000001/s",
	} {
		if r, err := ParseRate(text); err == nil || !strings.Contains(err.Error(), "rate") {
			t.Errorf("%q was read as %v, error %v", text, r, err)
		}
	}
}

func mustParse(s string) Rate {
	r, err := ParseRate(s)
	if err != nil {
		panic(err)
	}
	return r
}

func TestZeroRate(t *testing.T) {
	var r Rate
	if !r.IsZero() || r.String() != "0/s" || r.PerSecond() != 0 || r.Count(time.Hour) != 0 || r.Whole(time.Hour) != 0 {
		t.Errorf("the zero rate: %v, %v events an hour", r, r.Count(time.Hour))
	}
}

func TestRateText(t *testing.T) {
	type load struct{ Rate Rate }
	var l load
	if err := json.Unmarshal([]byte(`{"Rate":"6000/min"}`), &l); err != nil || l.Rate != PerSecond(100) {
		t.Errorf("read %v, error %v", l.Rate, err)
	}
	if b, err := json.Marshal(l); err != nil || string(b) != `{"Rate":"100/s"}` {
		t.Errorf("wrote %s, error %v", b, err)
	}
	if err := l.Rate.UnmarshalText([]byte("no")); err == nil || l.Rate != PerSecond(100) {
		t.Errorf("a rate that was refused left %v, error %v", l.Rate, err)
	}
}

func drawRate(t *rapid.T) Rate {
	per := rapid.OneOf(rapid.Int64Range(1, 1000), rapid.Int64Range(1, 1<<53)).Draw(t, "per")
	count := rapid.OneOf(rapid.Int64Range(1, min(per, 1000)), rapid.Int64Range(1, per)).Draw(t, "count")
	return newRate(count, time.Duration(per))
}

// What String writes ParseRate reads as the very same rate.
func TestRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		again, err := ParseRate(r.String())
		if err != nil || again != r {
			t.Fatalf("%+v was written as %q and read as %+v, error %v", r, r, again, err)
		}
	})
}

// Instant, Count and Whole against integers of any length.
func TestRateIsExact(t *testing.T) {
	const most = 1 << 61
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		count, per := big.NewInt(r.count), big.NewInt(int64(r.per))

		i := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, 1<<62)).Draw(t, "i")
		want := new(big.Int).Mul(big.NewInt(i), per)
		want.Div(want, count)
		if want.IsInt64() {
			if got := r.Instant(i); int64(got) != want.Int64() {
				t.Fatalf("%+v: event %d at %d, want %v", r, i, got, want)
			}
		} else if got := r.Instant(i); got != 1<<63-1 {
			t.Fatalf("%+v: event %d, beyond all time, at %d", r, i, got)
		}

		d := time.Duration(rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, most)).Draw(t, "d"))
		whole, rest := new(big.Int).DivMod(new(big.Int).Mul(big.NewInt(int64(d)), count), per, new(big.Int))
		if got := r.Whole(d); got != whole.Int64() {
			t.Fatalf("%+v holds %d whole events in %d, want %v", r, got, d, whole)
		}
		events := whole.Int64()
		if rest.Sign() > 0 {
			events++
		}
		if got := r.Count(d); got != events {
			t.Fatalf("%+v: %d events in %d, want %d", r, got, d, events)
		}
	})
}

// The products that just do not fit 64 bits are the delicate ones.
func TestRateAtTheEdge(t *testing.T) {
	for _, test := range []struct {
		rate Rate
		i    int64
		want time.Duration
	}{
		{Rate{1, 4}, 1 << 60, 1 << 62},
		{Rate{1, 4}, 1 << 61, 1<<63 - 1},
		{Rate{1, 4}, 1 << 62, 1<<63 - 1}, // the quotient is 2^64
		{Rate{3, 4}, 3 << 60, 1 << 62},
	} {
		if got := test.rate.Instant(test.i); got != test.want {
			t.Errorf("%+v: event %d at %d, want %d", test.rate, test.i, got, test.want)
		}
	}
	most := time.Duration(1<<63 - 1)
	if got := (Rate{1 << 53, 1}).Count(most); got < 1<<62-1 {
		t.Errorf("beyond all numbers: %d events", got)
	}
	if got := (Rate{2, 1}).Whole(most); got != 1<<62-1 {
		t.Errorf("beyond all numbers: %d whole events", got)
	}
}

// Count and Instant are two views of one schedule: event Count(d)-1 falls
// before d, event Count(d) does not.
func TestCountAgreesWithInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		d := time.Duration(rapid.Int64Range(1, 1<<50).Draw(t, "d"))
		n := r.Count(d)
		if r.Instant(n-1) >= d || r.Instant(n) < d {
			t.Fatalf("%+v: %d events before %d, but event %d is at %d and event %d at %d", r, n, d, n-1, r.Instant(n-1), n, r.Instant(n))
		}
	})
}

func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"100/s", "2.5/s", "1/10s", "1e3/h", "6000/min", "1/3s", "0b11/s", "1e-300/s", "1e99999999/s", "9007199254740993/h", "1/ 5m", "\x00/s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			return
		}
		if r.IsZero() || r.count < 1 || r.per < time.Duration(r.count) {
			t.Fatalf("%q was read as %+v", s, r)
		}
		if again, err := ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("%q: %+v was written as %q and read as %+v, error %v", s, r, r, again, err)
		}
	})
}

// Toward is exact where the ratio can be held, and else off by less than one
// part in 2^53.
func TestToward(t *testing.T) {
	for _, test := range []struct {
		from, to string
		i, n     int64
		want     string
	}{
		{"100/s", "500/s", 0, 4, "100/s"},
		{"100/s", "500/s", 3, 4, "400/s"},
		{"500/s", "100/s", 1, 4, "400/s"},
		{"100/s", "500/s", 4, 4, "500/s"},
		{"100/s", "200/s", 1, 3, "1/7.5ms"}, // 133.3…/s has no decimals
		{"7/s", "7/s", 1, 2, "7/s"},
	} {
		from, to := Rate{}, Rate{}
		if err := errors.Join(from.UnmarshalText([]byte(test.from)), to.UnmarshalText([]byte(test.to))); err != nil {
			t.Fatal(err)
		}
		if got := from.Toward(to, test.i, test.n).String(); got != test.want {
			t.Errorf("%d/%d of the way from %s to %s: %s, want %s", test.i, test.n, test.from, test.to, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawRate(t), drawRate(t)
		n := rapid.Int64Range(1, 1000).Draw(t, "n")
		i := rapid.Int64Range(0, n).Draw(t, "i")
		got := from.Toward(to, i, n)
		want := new(big.Rat).Mul(new(big.Rat).Sub(to.ratio(), from.ratio()), big.NewRat(i, n))
		want.Add(want, from.ratio())
		off := new(big.Rat).Sub(got.ratio(), want)
		off.Quo(off, want)
		held, exact := holds(want)
		if exact && got != held || off.Abs(off).Cmp(big.NewRat(1, 1<<53)) >= 0 {
			t.Fatalf("%d/%d of the way from %+v to %+v: %+v, off by %s of it", i, n, from, to, got, off.FloatString(20))
		}
		if again, err := ParseRate(got.String()); err != nil || again != got {
			t.Fatalf("%+v was read as %+v, error %v", got, again, err)
		}
	})
}
