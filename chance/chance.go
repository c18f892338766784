// Package chance draws random numbers that depend on nothing but what they are
// for. A draw is a pure function of the seed, its purpose, the request and two
// more numbers (which dependency, which attempt). So two stacks in one study
// meet the same luck, and adding a stage changes nobody's numbers.
//
// There is no state, so every function may be called from any goroutine.
package chance

import (
	"math"
	"math/bits"
)

// Purpose keeps draws for different ends apart. The values are part of what
// makes a run repeatable: add new ones at the end.
type Purpose uint64

// What brunt draws for.
const (
	Arrivals Purpose = iota + 1 // gaps of a Poisson load
	Dispatch                    // dispatch noise
	Latency                     // how long an answer takes
	Fail                        // whether an attempt fails
	Jitter                      // backoff jitter
	Token                       // first token and gaps of a stream
	Balance                     // which replica gets an attempt
	Throttle                    // whether a throttle refuses a call
	Caller                      // which caller makes a request
	Probe                       // when a limit looks for the shortest time anew
	Replay                      // which recorded attempt is replayed
)

// Source makes draws for one seed.
type Source struct{ seed uint64 }

// New returns the source of a seed.
func New(seed int64) Source { return Source{mix(uint64(seed), 0x9e3779b97f4a7c15)} }

// Draw returns the draw for a purpose; request, a and b say which one.
func (s Source) Draw(p Purpose, request int64, a, b uint64) Draw {
	h := mix(s.seed^uint64(p)*0xd6e8feb86659fd93, uint64(request)+0xa0761d6478bd642f)
	h = mix(h^a, 0xe7037ed1a0b428db)
	h = mix(h^b, 0x8ebc6af09c88c6e3)
	return Draw(mix(h, 0x589965cc75374cc3))
}

// mix folds the 128-bit product of its arguments: one round of the wyhash
// family (Wang Yi, 2019). The constants keep either argument from being 0.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x2d358dccaa6c78a5, b^0x8bb84b93962eacc9)
	return hi ^ lo
}

// Draw is one draw: 64 random bits, read as the distribution that is wanted.
type Draw uint64

// Float returns a uniform number in [0, 1), a multiple of 2^-53.
func (d Draw) Float() float64 { return float64(d>>11) * 0x1p-53 }

// Below returns a uniform whole number in [0, n), n > 0, by fixed-point
// multiplication: each value's chance is off by less than n/2^64.
func (d Draw) Below(n int64) int64 {
	hi, _ := bits.Mul64(uint64(d), uint64(n))
	return int64(hi)
}

// Exp returns an exponential number with mean 1, by inversion.
func (d Draw) Exp() float64 { return -math.Log1p(-d.Float()) }

// Normal returns a standard normal number, by inversion of its distribution
// function at the middle of the draw's 2^-52 wide cell, so never infinite.
// (Of 53 bits the middle would not be exact, and the last one round up to 1.)
func (d Draw) Normal() float64 {
	u := (float64(d>>12) + 0.5) * 0x1p-52
	return math.Sqrt2 * math.Erfinv(2*u-1)
}

// Next returns a further draw that follows from this one, for a distribution
// that needs several.
func (d Draw) Next() Draw { return Draw(mix(uint64(d), 0x1d8e4e27c47d124f)) }

// Name turns a name into a number that draws can depend on (FNV-1a).
func Name(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
