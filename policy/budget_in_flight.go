package policy

import (
	"brunt/check"
	"brunt/record"
)

// InFlightBudget allows retries as a share of what is in flight. There are two
// ways to count that, and they differ most when it matters.
//
// Of calls, as failsafe-go counts (budget/budget.go and
// retrypolicy/retryexecutor.go, v0.9.8): a retry may start while the retries in
// flight are fewer than `floor`, or are at most `share` of all in flight: the
// calls inside the stage, also those that wait before a retry, and once more
// each retry. So an idle budget grants one retry whatever the share.
//
// Of attempts, as Envoy counts (RetryBudgetImpl in
// source/common/upstream/resource_manager_impl.h): while the retries in flight
// are fewer than `floor`, or than `share` of the attempts under way, rounded
// down. An attempt that has failed is not under way any more: so when many fail at
// once the budget shrinks from one to the next (envoy-mobile#811).
//
// In both a retry is in flight from its grant to the end of its try, the wait
// before it included, as in Envoy (source/common/router/retry_state_impl.cc;
// failsafe-go asks after the wait).
type InFlightBudget struct {
	// The largest part of all in flight that may be retries.
	Share check.Share `yaml:"share"`
	// How many retries may be in flight whatever their share.
	Floor int `yaml:"floor"`
	// What is counted as in flight: calls (as failsafe-go does) or attempts (as Envoy does).
	Of InFlightOf `yaml:"of"`
}

// InFlightOf says what is counted as in flight.
type InFlightOf string

// What can be counted as in flight.
const (
	OfCalls    InFlightOf = "calls"
	OfAttempts InFlightOf = "attempts"
)

// SetDefaults sets the defaults of Envoy and failsafe-go, 20 % and 3, of calls.
func (c *InFlightBudget) SetDefaults() {
	*c = InFlightBudget{Share: check.Share(200_000), Floor: 3, Of: OfCalls}
}

// Check reports what is wrong with the settings.
func (c *InFlightBudget) Check(p check.Problems) {
	check.Between(p, "floor", c.Floor, 0, 1e9)
	check.OneOf(p, "of", c.Of, OfCalls, OfAttempts)
	if c.Share == check.Whole && c.Of == OfCalls {
		p.Doubt("share", c.Share, "denies nothing: retries are never more than all in flight")
	}
}

type inFlight struct {
	share    int64 // parts per million
	floor    int64
	calls    int64 // inside the stage
	under    int64 // attempts under way
	extras   int64
	attempts bool // whether those are what counts
	balance  balance
}

// limit is how many retries may be in flight. With n of them and c calls one
// more may start while n ≤ share·(c+n), which is n ≤ share·c/(1-share).
func (b *inFlight) limit() int64 {
	if b.attempts {
		return max(b.floor, b.share*b.under/million)
	}
	if b.share >= million {
		return 1 << 62
	}
	return max(b.floor, b.share*b.calls/(million-b.share)+1)
}

func (b *inFlight) begin() { b.calls++; b.tell() }
func (b *inFlight) end()   { b.calls--; b.tell() }

func (b *inFlight) launch() { b.under++; b.tell() }

func (b *inFlight) grant(record.Cause) (cost int64, ok bool) {
	if b.extras >= b.limit() {
		return 0, false
	}
	b.extras++
	b.tell()
	return 0, true
}

func (b *inFlight) settle(_ verdict, launched, extra bool, _ int64) {
	if launched {
		b.under--
	}
	if extra {
		b.extras--
	}
	b.tell()
}

// tell tells how many more retries might start now.
func (b *inFlight) tell() {
	if b.balance.heard() {
		b.balance.tell(min(max(b.limit()-b.extras, 0), 1e12) * 1000)
	}
}
