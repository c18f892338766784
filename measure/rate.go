package measure

import "fmt"

// Rate is a share of counted things, with its exact 95 % interval where there
// is sampling error.
type Rate struct {
	Count         int64    `json:"count"`
	Of            int64    `json:"of"`
	Share         *float64 `json:"share"`
	Low           *float64 `json:"low"`
	High          *float64 `json:"high"`
	Deterministic bool     `json:"deterministic"`    // no draw was made: there is no sampling error
	Reason        string   `json:"reason,omitempty"` // why the share or its interval is absent
}

// RateOf returns the rate of k in n with its Clopper-Pearson interval. A
// deterministic run, a virtual one without any draw, has no sampling error and
// so no interval: run again it gives the same number. A rate of nothing is
// refused; so is a count that is no part of n.
func RateOf(k, n int64, deterministic bool) Rate {
	r := Rate{Count: k, Of: n, Deterministic: deterministic}
	switch {
	case n <= 0:
		r.Reason = "refused: nothing was counted"
		return r
	case k < 0 || k > n:
		r.Reason = fmt.Sprintf("refused: %d is no part of %d", k, n)
		return r
	}
	p := float64(k) / float64(n)
	r.Share = &p
	if deterministic {
		r.Reason = "no interval: the run is deterministic, it made no draw and has no sampling error"
		return r
	}
	i := clopperPearson(float64(k), float64(n))
	r.Low, r.High = &i.Low, &i.High
	return r
}
