package clock

import (
	"math/big"
	"time"
)

// Times returns the rate multiplied by num/den, both above 0. Where the exact
// product has too many digits for a rate, it is rounded to a multiple of 2^-52
// events in a nanosecond.
func (r Rate) Times(num, den int64) Rate {
	scaled := new(big.Rat).SetFrac64(r.count, int64(r.per))
	scaled.Mul(scaled, big.NewRat(num, den))
	if scaled.Num().IsInt64() && scaled.Denom().IsInt64() && scaled.Denom().Int64() <= 1<<53 {
		return newRate(scaled.Num().Int64(), time.Duration(scaled.Denom().Int64()))
	}
	const fine = 1 << 52
	scaled.Mul(scaled, new(big.Rat).SetInt64(fine))
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return newRate(max(whole.Int64(), 1), fine)
}
