package study

import (
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An amount that is written well and cannot be held is told apart from one that
// is not written as its type is.
func TestOutOfRange(t *testing.T) {
	const (
		whole = "expected a whole number from -9223372036854775808 to 9223372036854775807"
		rate  = "too large, too small or too fine: expected at most 16 significant digits, and between one event in 100 days and one in a nanosecond"
		years = "too large: expected a duration below ten years"
		a     = "dependencies.a."
	)
	for _, c := range []struct{ set, want string }{
		{"horizon=2600000h", "horizon: 2600000h: " + years},
		{"horizon=1h9999999999999999s", "horizon: 1h9999999999999999s: " + years},
		{"horizon=-2600000h", "horizon: -2600000h: too small: expected a duration above minus ten years"},
		{"horizon=100000h", "horizon: 100000h0m0s: expected a duration below ten years"}, // it can be held
		{"horizon=2600000", "horizon: 2600000: has no unit: write 2600000ms or 2600000s"},
		{"horizon=1_000ms", "horizon: 1_000ms: expected no underscores: write 1000ms"},
		{"horizon=.inf", "horizon: .inf: expected a duration such as 5ms, 30s or 1h30m"},
		{"horizon=2600000d", "horizon: 2600000d: expected a duration such as 5ms, 30s or 1h30m"},
		{a + "latency=2600000h", a + "latency: 2600000h: " + years},
		{a + "latency={first: 2600000h, later: 1s}", a + "latency.first: 2600000h: " + years},
		{a + "latency=1_0", a + "latency: 1_0: expected a duration such as 5ms, or a mapping with one of constant, lognormal, exponential, uniform, normal, empirical"},
		{"seed=99999999999999999999", "seed: 99999999999999999999: too large: " + whole}, // a float to YAML
		{"seed=9223372036854775808", "seed: 9223372036854775808: too large: " + whole},   // an unsigned integer to YAML
		{"seed=-9223372036854775809", "seed: -9223372036854775809: too small: " + whole},
		{"seed=9" + strings.Repeat("0", 50), "seed: 9" + strings.Repeat("0", 50) + ": too large: " + whole},
		{`seed="99999999999999999999"`, `seed: "99999999999999999999": expected a whole number`}, // text
		{"seed=1_2000", "seed: 1_2000: expected no underscores: write 12000"},
		{"seed=0x_10", "seed: 0x_10: expected a whole number"},
		{"seed=1e3", "seed: 1e3: expected a whole number"},
		{a + "cost=1e999", a + "cost: 1e999: too large: expected a number below 1e308"},
		{a + "cost=-1e999", a + "cost: -1e999: too small: expected a number above -1e308"},
		{a + "cost=1e-999", a + "cost: 1e-999: too close to 0: expected 0, or at least 1e-300"},
		{a + "cost=1_2000", a + "cost: 1_2000: expected no underscores: write 12000"},
		{a + "cost=0x10", a + "cost: 0x10: expected a number"},
		{a + `cost="1"`, a + `cost: "1": expected a number`},
		{"load.rate=1e999/s", "load.rate: 1e999/s: " + rate},
		{"load.rate=1e99999999/s", "load.rate: 1e99999999/s: " + rate},
		{"load.rate=1/2600000h", "load.rate: 1/2600000h: " + rate},
		{"load.rate=1000000000000000000000000000000000/s", "load.rate: 1000000000000000000000000000000000/s: " + rate},
		{"load.rate=0/s", "load.rate: 0/s: expected a number above 0 and a time, such as 100/s, 6000/min or 1/10s"},
		{"load.rate=1/0s", "load.rate: 1/0s: expected a number above 0 and a time, such as 100/s, 6000/min or 1/10s"},
		{"load.rate=1_2000/s", "load.rate: 1_2000/s: expected no underscores: write 12000/s"},
		{"gates.host_cpu=150%", "gates.host_cpu: 150%: too large: expected at most 100%"},
		{"gates.host_cpu=1e999", "gates.host_cpu: 1e999: too large: expected a percentage such as 90%, or a number from 0 to 1"},
		{"gates.host_cpu=9999999999%", "gates.host_cpu: 9999999999%: too large: expected at most 100%"},
		{"gates.host_cpu=-5%", "gates.host_cpu: -5%: too small: expected at least 0"},
		{"gates.host_cpu=0.0000001", "gates.host_cpu: 0.0000001: expected one in whole parts per million"},
		{"gates.host_cpu=5_0%", "gates.host_cpu: 5_0%: expected no underscores: write 50%"},
		{"expect=[{measure: m, at_most: 2600000h}]", "expect.0.at_most: 2600000h: " + years},
		{"expect=[{measure: m, at_most: 100000h}]", "expect.0.at_most: 100000h: " + years},
		{"expect=[{measure: m, at_most: 1e999%}]", "expect.0.at_most: 1e999%: too large: expected a number below 1e308"},
	} {
		_, err := text(t, small, c.set)
		faults(t, err, "--set "+c.set+": "+c.want)
	}
}

// The value of a pin is read as that of its setting is.
func TestPinOutOfRange(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"seed", "99999999999999999999", "too large: expected a whole number from -9223372036854775808 to 9223372036854775807"},
		{"seed", "1_0", "expected no underscores: write 10"},
		{"horizon", "2600000h", "too large: expected a duration below ten years"},
		{"phases", "2147483648", "too large: expected a whole number from 0 to 2147483647"},
		{"phases", "-1", "too small: expected a whole number from 0 to 2147483647"},
		{"phases.*.dependencies.a.cost", "1e999", "too large: expected a number below 1e308"},
		{"phases.*.dependencies.a.cost", "1_2000", "expected no underscores: write 12000"},
		{"phases.*.dependencies.a.cost", "0x1p4", "expected a number"},
	} {
		path := write(t, small+"protocol: ./mine.yaml\n", map[string]string{"mine.yaml": mine + pinLine(c.path, "equals", c.value)})
		_, err := Read(path, Options{})
		if err == nil || !strings.HasSuffix(err.Error(), `: pins.1.value: "`+c.value+`": `+c.want) {
			t.Errorf("%s=%s: got %v, want %s", c.path, c.value, err, c.want)
		}
	}
}

// A whole number is refused as out of range exactly when it is, for each width.
func TestWholeNumbersInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, ok := new(big.Int).SetString(rapid.StringMatching(`-?[1-9][0-9]{17,20}`).Draw(t, "n"), 10)
		if !ok {
			t.Fatal("no number")
		}
		_, err := Read("-", Options{Stdin: strings.NewReader(small + "seed: " + n.String() + "\n")})
		if n.IsInt64() != (err == nil) || err != nil && !strings.Contains(err.Error(), ": too ") {
			t.Fatal(err)
		}
	})
	for kind, want := range map[reflect.Type]string{reflect.TypeFor[int64](): "9223372036854775807", reflect.TypeFor[int](): strconv.Itoa(math.MaxInt)} {
		if got := outOfRange(kind, "9"); got != "too large: expected a whole number from -"+want[:len(want)-1]+"8 to "+want {
			t.Errorf("%v: %s", kind, got)
		}
	}
}
