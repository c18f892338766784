package policy

import (
	"cmp"

	"brunt/check"
	"brunt/record"
)

// CostedBudget pays for retries out of a bucket, each according to what it
// follows.
//
// The bucket begins full. A retry after an overload costs `throttle`, one
// after a timeout `timeout`, any other, and a hedge whose time has come,
// `retry`; when the bucket holds less, there is none. A retry that succeeds
// gives its cost back, but not that of retries before it; a call that succeeds
// at its first try brings `increment`. It is the retry quota of the AWS SDKs'
// standard mode, in the version of 2026 (aws-sdk-go-v2 v1.48.0,
// aws/retry/standard.go and middleware.go; the same in botocore,
// retries/standard.py, as version 2.1). Before, a retry cost 5 and one after a
// timeout 10, whether throttled or not: {retry: 5, throttle: 5, timeout: 10}.
type CostedBudget struct {
	// How many tokens the bucket holds.
	Capacity int `yaml:"capacity"`
	// What a retry costs.
	Retry int `yaml:"retry"`
	// What a retry costs after an attempt for which the dependency had no room.
	Throttle int `yaml:"throttle"`
	// What a retry costs after a timeout. 0 means as much as any other.
	Timeout int `yaml:"timeout"`
	// Whether a retry that succeeds gives back what it cost.
	Refund bool `yaml:"refund"`
	// How many tokens a call brings that succeeds at its first try.
	Increment int `yaml:"increment"`
}

// SetDefaults sets the defaults of the AWS SDKs.
func (c *CostedBudget) SetDefaults() {
	*c = CostedBudget{Capacity: 500, Retry: 14, Throttle: 5, Refund: true, Increment: 1}
}

// Check reports what is wrong with the settings.
func (c *CostedBudget) Check(p check.Problems) {
	const most = 1e9
	check.Between(p, "capacity", c.Capacity, 1, most)
	check.Between(p, "retry", c.Retry, 1, most)
	check.Between(p, "throttle", c.Throttle, 1, most)
	check.Between(p, "timeout", c.Timeout, 0, most)
	check.Between(p, "increment", c.Increment, 0, most)
	if c.Capacity > 0 && c.Capacity < min(c.Retry, c.Throttle, cmp.Or(c.Timeout, c.Retry)) {
		p.Doubt("capacity", c.Capacity, "allows no retry: it is less than any of them costs")
	}
	if !c.Refund && c.Increment == 0 {
		p.Doubt("refund", c.Refund, "with an increment of 0 nothing fills the bucket again")
	}
}

type costed struct {
	config  *CostedBudget
	tokens  int64
	balance balance
}

func newCosted(c *CostedBudget, tell balance) *costed {
	tell.last = int64(c.Capacity) * 1000
	return &costed{config: c, tokens: int64(c.Capacity), balance: tell}
}

func (b *costed) launch() {}
func (b *costed) begin()  {}
func (b *costed) end()    {}

func (b *costed) grant(after record.Cause) (cost int64, ok bool) {
	cost = int64(b.config.Retry)
	switch {
	case after == record.Overload:
		cost = int64(b.config.Throttle)
	case after == record.Timeout && b.config.Timeout > 0:
		cost = int64(b.config.Timeout)
	}
	if cost > b.tokens {
		return 0, false
	}
	b.add(-cost)
	return cost, true
}

func (b *costed) settle(how verdict, _, extra bool, cost int64) {
	switch {
	case how != succeeded:
	case !extra:
		b.add(int64(b.config.Increment))
	case b.config.Refund:
		b.add(cost)
	}
}

func (b *costed) add(n int64) {
	b.tokens = min(b.tokens+n, int64(b.config.Capacity))
	b.balance.tell(b.tokens * 1000)
}
