package measure

import (
	"math"
	"math/big"
	"math/bits"
)

// cost adds costs up in whole billionths of the unit, 128 bits of them: the
// order of rows changes no digit, and no study that can be run overflows it.
type cost struct{ high, low uint64 }

// add adds one cost, rounded to a billionth; it must not be below 0, and below
// nine billion.
func (c *cost) add(v float64) { c.plus(cost{low: uint64(math.Round(v * 1e9))}) }

func (c *cost) plus(d cost) {
	var carry uint64
	c.low, carry = bits.Add64(c.low, d.low, 0)
	c.high += d.high + carry
}

// units returns the sum in units, the nearest float64 to it.
func (c cost) units() float64 {
	sum := new(big.Int).SetUint64(c.high)
	sum.Lsh(sum, 64).Add(sum, new(big.Int).SetUint64(c.low))
	v, _ := new(big.Rat).SetFrac(sum, big.NewInt(1e9)).Float64()
	return v
}
