package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/chance"
	"brunt/check"
)

// Kind names how a backoff grows.
type Kind string

// The kinds of backoff.
const (
	NoBackoff   Kind = "none"
	Constant    Kind = "constant"
	Linear      Kind = "linear"
	Exponential Kind = "exponential"
)

// Backoff is the wait before each further try of a retry.
//
// Before retry n (1, 2, …) the delay d is: constant base; linear base·n;
// exponential base·factor^(n-1). The jitter then draws from around d, and the
// cap bounds both d and what the jitter makes of it, so that no wait is ever
// longer than the cap.
type Backoff struct {
	// How the delay grows: none, constant, linear or exponential.
	Kind Kind `yaml:"kind"`
	// The delay before the first retry.
	Base time.Duration `yaml:"base"`
	// What each exponential delay is multiplied with for the next one.
	Factor float64 `yaml:"factor"`
	// The longest delay, after the jitter. 0s means no cap.
	Cap time.Duration `yaml:"cap"`
	// How chance spreads the delay: none, full, equal, decorrelated or proportional(r).
	Jitter Jitter `yaml:"jitter"`
}

// DefaultBackoff spreads retries out: jitter is on unless it is turned off.
var DefaultBackoff = Backoff{Kind: Exponential, Base: 100 * time.Millisecond, Factor: 2, Jitter: Jitter{Kind: Full}}

// SetDefaults makes b the [DefaultBackoff].
func (b *Backoff) SetDefaults() { *b = DefaultBackoff }

// Check reports what is wrong with the settings.
func (b *Backoff) Check(p check.Problems) {
	check.OneOf(p, "kind", b.Kind, NoBackoff, Constant, Linear, Exponential)
	if b.Kind == NoBackoff {
		return
	}
	p.Positive("base", b.Base)
	p.NotNegative("cap", b.Cap)
	check.Between(p, "factor", b.Factor, 1, 1000)
	if b.Cap > 0 && b.Cap < b.Base {
		p.Doubt("cap", b.Cap, "below the base of %v: every delay is cut to the cap, and the jitter has less room", b.Base)
	}
}

// JitterKind names a way to spread delays.
type JitterKind string

// The kinds of jitter. With d the delay without jitter: full draws from
// [0, d], equal from [d/2, d], proportional(r) from [d(1-r), d(1+r)];
// decorrelated draws from [base, 3·previous delay], previous being the base at
// first (Brooker, "Exponential Backoff And Jitter", 2015).
const (
	NoJitter     JitterKind = "none"
	Full         JitterKind = "full"
	Equal        JitterKind = "equal"
	Decorrelated JitterKind = "decorrelated"
	Proportional JitterKind = "proportional"
)

// Jitter is a kind of jitter and, for proportional, its share r.
type Jitter struct {
	Kind  JitterKind
	Share float64
}

// MarshalText writes the jitter as a study does: full, proportional(0.25).
func (j Jitter) MarshalText() ([]byte, error) {
	if j.Kind == Proportional {
		return fmt.Appendf(nil, "proportional(%v)", j.Share), nil
	}
	return []byte(j.Kind), nil
}

// UnmarshalText reads what MarshalText writes.
func (j *Jitter) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	switch k := JitterKind(s); k {
	case NoJitter, Full, Equal, Decorrelated:
		*j = Jitter{Kind: k}
		return nil
	}
	if arg, ok := strings.CutPrefix(s, "proportional("); ok && strings.HasSuffix(arg, ")") && !strings.ContainsAny(arg, "_xX") {
		r, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(arg, ")")), 64)
		if err == nil && r >= 0 && r <= 1 {
			*j = Jitter{Proportional, r}
			return nil
		}
	}
	return fmt.Errorf("%q is not a jitter: expected none, full, equal, decorrelated or proportional(r) with r from 0 to 1", s)
}

// delay returns the wait before retry n, and keeps in previous what the next
// decorrelated one starts from.
func (b *Backoff) delay(n int, previous *time.Duration, draw chance.Draw) time.Duration {
	if b.Kind == NoBackoff {
		return 0
	}
	d := b.plain(n)
	u := draw.Float()
	between := func(low, high float64) time.Duration { return b.capped(low + u*(high-low)) }
	switch b.Jitter.Kind {
	case Full:
		return between(0, float64(d))
	case Equal:
		return between(float64(d)/2, float64(d))
	case Proportional:
		return between(float64(d)*(1-b.Jitter.Share), float64(d)*(1+b.Jitter.Share))
	case Decorrelated:
		if *previous == 0 {
			*previous = b.Base
		}
		*previous = between(float64(b.Base), 3*float64(*previous))
		return *previous
	}
	return d
}

// plain is the delay before retry n without jitter.
func (b *Backoff) plain(n int) time.Duration {
	d := float64(b.Base)
	switch b.Kind {
	case Linear:
		d *= float64(n)
	case Exponential:
		d *= math.Pow(b.Factor, float64(n-1))
	}
	return b.capped(d)
}

// capped rounds a delay to the nanosecond and bounds it.
func (b *Backoff) capped(d float64) time.Duration {
	if b.Cap > 0 && d > float64(b.Cap) {
		return b.Cap
	}
	return time.Duration(math.Round(min(d, float64(check.Longest))))
}

// longest is the longest wait before retry n.
func (b *Backoff) longest(n int) time.Duration {
	if b.Kind == NoBackoff {
		return 0
	}
	d := float64(b.plain(n))
	switch b.Jitter.Kind {
	case Proportional:
		d *= 1 + b.Jitter.Share
	case Decorrelated:
		d = float64(b.Base) * math.Pow(3, float64(n))
	}
	return b.capped(d)
}

// Random reports whether the backoff takes chance.
func (b *Backoff) Random() bool { return b.Kind != NoBackoff && b.Jitter.Kind != NoJitter }
