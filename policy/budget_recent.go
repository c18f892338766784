package policy

import (
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// RecentBudget allows retries as a share of the calls of the last while.
//
// Each call deposits `share` of a retry, each retry takes one out, and both are
// forgotten after `ttl`. Besides, `floor` retries a second are there from the
// start: over `ttl` as many as that makes, without fractions, all of which may
// go at once. It is Finagle's RetryBudget
// (finagle-core service/RetryBudget.scala over com.twitter.util.TokenBucket's
// leaky bucket; deposit and withdrawal as in service/RetryFilter.scala), but
// for two things: the ten slices of `ttl` begin at multiples of a tenth of it
// since the start of the run, not at the first call after the slice before;
// and the price of a retry is exact, not cut to thousandths of a deposit.
type RecentBudget struct {
	// How much of a retry each call brings.
	Share check.Share `yaml:"share"`
	// After how long calls and retries are forgotten.
	TTL time.Duration `yaml:"ttl"`
	// How many retries a second are allowed besides, however few calls there are.
	Floor clock.Rate `yaml:"floor"`
}

// SetDefaults sets Finagle's defaults: 20 %, 10 s and 10 a second.
func (c *RecentBudget) SetDefaults() {
	*c = RecentBudget{Share: check.Share(200_000), TTL: 10 * time.Second, Floor: clock.PerSecond(10)}
}

// Check reports what is wrong with the settings.
func (c *RecentBudget) Check(p check.Problems) {
	p.Positive("ttl", c.TTL)
	switch reserve := c.Floor.Whole(c.TTL); {
	case c.TTL > 0 && c.TTL < buckets:
		p.Add("ttl", c.TTL, "expected at least %dns: it is kept in %d buckets", buckets, buckets)
	case reserve > 1e9:
		p.Add("floor", c.Floor, "expected at most 1000000000 retries in the ttl of %v", c.TTL)
	case reserve == 0 && c.Share == 0:
		p.Doubt("", nil, "allows no retry: the share is 0%%, and the floor makes no whole retry in the ttl of %v", c.TTL)
	}
}

type recent struct {
	deposit int64 // of a call, where a retry is a million
	reserve int64
	ttl     int64
	slices  [buckets]int64 // deposits less withdrawals
	newest  int64          // the slice of the last change, counted from the start
	sum     int64          // of slices
	balance balance
}

func newRecent(c *RecentBudget, tell balance) *recent {
	return &recent{deposit: int64(c.Share), reserve: c.Floor.Whole(c.TTL) * million, ttl: int64(c.TTL), balance: tell}
}

// add forgets what is too old, then adds.
func (b *recent) add(n int64) {
	slice := int64(b.balance.env.Loop.Now()) * buckets / b.ttl
	for past := min(slice-b.newest, buckets); past > 0; past-- {
		old := &b.slices[(slice-past+1)%buckets]
		b.sum -= *old
		*old = 0
	}
	b.newest = slice
	b.slices[slice%buckets] += n
	b.sum += n
}

func (b *recent) launch() {}
func (b *recent) begin()  { b.add(b.deposit); b.tell() }
func (b *recent) end()    {}

func (b *recent) grant(record.Cause) (cost int64, ok bool) {
	if b.add(0); b.sum+b.reserve < million {
		return 0, false
	}
	b.add(-million)
	b.tell()
	return 0, true
}

func (b *recent) settle(verdict, bool, bool, int64) {}

// tell tells how many retries might go now.
func (b *recent) tell() { b.balance.tell((b.sum + b.reserve) / (million / 1000)) }
