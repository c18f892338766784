package clock

import (
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Rate is so many events in so much time, kept as the exact ratio that was
// written: 6000/min is 100/s to the nanosecond. The zero Rate is no rate.
type Rate struct {
	count int64
	per   time.Duration
}

// PerSecond returns the rate of n events a second.
func PerSecond(n int64) Rate { return newRate(n, time.Second) }

func newRate(count int64, per time.Duration) Rate {
	a, b := count, int64(per)
	for b != 0 {
		a, b = b, a%b
	}
	return Rate{count / a, per / time.Duration(a)}
}

var rateUnits = map[string]time.Duration{
	"ms": time.Millisecond, "s": time.Second, "sec": time.Second,
	"m": time.Minute, "min": time.Minute, "h": time.Hour,
}

// ParseRate reads a rate such as 100/s, 6000/min, 2.5/s or 1/10s.
func ParseRate(s string) (Rate, error) {
	fail := func() (Rate, error) {
		return Rate{}, fmt.Errorf("%q is not a rate: expected a number above 0 and a time, such as 100/s, 6000/min or 1/10s", s)
	}
	num, unit, ok := strings.Cut(s, "/")
	if !ok {
		return fail()
	}
	unit = strings.TrimSpace(unit)
	per, ok := rateUnits[unit]
	if !ok {
		d, err := time.ParseDuration(unit)
		if err != nil || d <= 0 {
			return fail()
		}
		per = d
	}
	num = strings.TrimSpace(num)
	if len(num) > 32 || strings.ContainsAny(num, "/_xXpP") {
		return fail()
	}
	r, ok := new(big.Rat).SetString(num)
	if !ok || r.Sign() <= 0 {
		return fail()
	}
	// events per nanosecond, reduced, must fit both of its numbers
	r.Quo(r, new(big.Rat).SetInt64(int64(per)))
	held, ok := holds(r)
	if !ok {
		return Rate{}, fmt.Errorf("%q is not a usable rate: expected at most 16 significant digits and between one event in 100 days and one in a nanosecond", s)
	}
	return held, nil
}

// longest is the longest time that a rate may count its events in, in ns.
const longest = 1 << 53

// holds returns so many events per nanosecond as a Rate; ok is false when
// there is none that is exactly this.
func holds(r *big.Rat) (held Rate, ok bool) {
	if !r.Num().IsInt64() || !r.Denom().IsInt64() || r.Num().Int64() > r.Denom().Int64() || r.Denom().Int64() > longest {
		return Rate{}, false
	}
	return Rate{r.Num().Int64(), time.Duration(r.Denom().Int64())}, true
}

// Toward returns the rate that is i of n equal parts of the way from r to
// another: r + (to-r)*i/n. One whose ratio is too long to be held is replaced
// by the last convergent of its continued fraction that is not, which is off by
// less than one part in 2^53. Neither rate may be zero, and i must be from 0
// to n.
func (r Rate) Toward(to Rate, i, n int64) Rate {
	x := new(big.Rat).Sub(to.ratio(), r.ratio())
	x.Mul(x, big.NewRat(i, n))
	x.Add(x, r.ratio())
	if held, ok := holds(x); ok {
		return held
	}
	a, b := new(big.Int).Set(x.Num()), new(big.Int).Set(x.Denom())
	num, den := big.NewInt(1), big.NewInt(0) // the last convergent
	num0, den0 := big.NewInt(0), big.NewInt(1)
	for b.Sign() > 0 {
		quo, rem := new(big.Int).QuoRem(a, b, new(big.Int))
		num0.Add(num0, new(big.Int).Mul(quo, num))
		den0.Add(den0, new(big.Int).Mul(quo, den))
		if den0.Cmp(big.NewInt(longest)) > 0 {
			break
		}
		num, num0, den, den0 = num0, num, den0, den
		a, b = b, rem
	}
	return Rate{num.Int64(), time.Duration(den.Int64())}
}

// ratio returns the events per nanosecond.
func (r Rate) ratio() *big.Rat { return new(big.Rat).SetFrac64(r.count, int64(r.per)) }

// IsZero reports whether r is no rate.
func (r Rate) IsZero() bool { return r.count == 0 }

// Instant returns when event i falls, counting both from 0: floor(i·per/count).
func (r Rate) Instant(i int64) time.Duration {
	hi, lo := bits.Mul64(uint64(i), uint64(r.per))
	if hi >= uint64(r.count) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(r.count))
	return time.Duration(min(q, 1<<63-1))
}

// Count returns how many events fall into [0, d): those with Instant < d.
func (r Rate) Count(d time.Duration) int64 {
	if d <= 0 || r.count == 0 {
		return 0
	}
	q, rem := r.share(d)
	if rem > 0 {
		q++
	}
	return q
}

// Whole returns floor(rate · d), the whole events that d holds.
func (r Rate) Whole(d time.Duration) int64 {
	if d <= 0 || r.count == 0 {
		return 0
	}
	q, _ := r.share(d)
	return q
}

func (r Rate) share(d time.Duration) (quo int64, rem uint64) {
	hi, lo := bits.Mul64(uint64(d), uint64(r.count))
	if hi >= uint64(r.per) {
		return 1<<62 - 1, 0
	}
	q, m := bits.Div64(hi, lo, uint64(r.per))
	return int64(min(q, 1<<62-1)), m
}

// Fraction returns the rate as count events in per, in lowest terms.
func (r Rate) Fraction() (count int64, per time.Duration) { return r.count, r.per }

// PerSecond returns the rate in events a second, rounded to a float64.
func (r Rate) PerSecond() float64 {
	if r.count == 0 {
		return 0
	}
	return float64(r.count) * float64(time.Second) / float64(r.per)
}

// String writes the rate so that [ParseRate] reads the same one.
func (r Rate) String() string {
	if r.count == 0 {
		return "0/s"
	}
	perSecond := new(big.Rat).SetFrac64(r.count, int64(r.per))
	perSecond.Mul(perSecond, new(big.Rat).SetInt64(int64(time.Second)))
	if perSecond.IsInt() {
		return perSecond.Num().String() + "/s"
	}
	if n, exact := perSecond.FloatPrec(); exact && n <= 9 {
		return perSecond.FloatString(n) + "/s"
	}
	return strconv.FormatInt(r.count, 10) + "/" + r.per.String()
}

// MarshalText implements [encoding.TextMarshaler].
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Rate) UnmarshalText(b []byte) error {
	v, err := ParseRate(string(b))
	if err != nil {
		return err
	}
	*r = v
	return nil
}
