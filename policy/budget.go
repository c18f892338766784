package policy

import (
	"brunt/check"
	"brunt/record"
)

// Budget bounds what a retry or a hedge adds to the load: exactly one of four
// kinds, each as its origin has it.
//
// It is asked when an attempt has failed, or when a hedge is due, and before
// any wait: what it denies is not made, and the call ends at once with what it
// has. First attempts are never denied. A budget belongs to its stage, so
// callers have one each unless the stage is shared.
type Budget struct {
	// A share of the calls in flight, as Envoy and failsafe-go have it.
	InFlight *InFlightBudget `yaml:"in_flight"`
	// A share of the recent calls, as Finagle has it.
	Recent *RecentBudget `yaml:"recent"`
	// Tokens that failures take and successes bring, as gRPC has it.
	GRPC *GRPCBudget `yaml:"grpc"`
	// Tokens that pay for retries by their cause, as the AWS SDKs have it.
	Costed *CostedBudget `yaml:"costed"`
}

// Check reports what is wrong with the settings.
func (c *Budget) Check(p check.Problems) {
	kinds := 0
	if c.InFlight != nil {
		kinds++
		c.InFlight.Check(p.In("in_flight"))
	}
	if c.Recent != nil {
		kinds++
		c.Recent.Check(p.In("recent"))
	}
	if c.GRPC != nil {
		kinds++
		c.GRPC.Check(p.In("grpc"))
	}
	if c.Costed != nil {
		kinds++
		c.Costed.Check(p.In("costed"))
	}
	if kinds != 1 {
		p.Add("", nil, "has %d kinds of budget: expected exactly one of in_flight, recent, grpc, costed", kinds)
	}
}

// budget returns the state of a budget for one stage; nil for none.
func (c *Budget) budget(name string, env *Env) budget {
	if c == nil {
		return nil
	}
	tell := balance{env: env, caller: env.Caller, name: name}
	switch {
	case c.InFlight != nil:
		return &inFlight{share: int64(c.InFlight.Share), floor: int64(c.InFlight.Floor), attempts: c.InFlight.Of == OfAttempts, balance: tell}
	case c.Recent != nil:
		return newRecent(c.Recent, tell)
	case c.GRPC != nil:
		return newGRPC(c.GRPC, tell)
	}
	return newCosted(c.Costed, tell)
}

// million is everything, in parts per million.
const million = int64(check.Whole)

// budget is the state of one. An extra is a retry or a hedge.
type budget interface {
	// begin counts a call in, and end counts it out, however it ended.
	begin()
	end()
	// launch counts an attempt as under way.
	launch()
	// grant asks for an extra after an attempt with the given cause, or after
	// none for a hedge whose time has come. It returns what the extra costs.
	grant(record.Cause) (cost int64, ok bool)
	// settle hears how an attempt ended, each once: one that was cancelled or
	// refused is neutral, and so is an extra that was granted and never launched.
	// cost is what was paid for an extra.
	settle(how verdict, launched, extra bool, cost int64)
}

// verdict is what an attempt's end says to a budget.
type verdict uint8

const (
	neutral verdict = iota
	succeeded
	failed // in a way that could be tried again
)

// balance tells of what is left in a budget, when that has changed.
type balance struct {
	env    *Env
	caller int32
	name   string
	last   int64
}

// heard reports whether anybody listens.
func (b *balance) heard() bool { return b.env.Observe != nil && b.env.Detail }

// tell takes thousandths of a token.
func (b *balance) tell(thousandths int64) {
	if thousandths != b.last {
		b.last = thousandths
		b.env.observe(b.caller, b.name, record.WhatBudget, "", thousandths)
	}
}
