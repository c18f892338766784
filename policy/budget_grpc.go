package policy

import (
	"math"

	"brunt/check"
	"brunt/record"
)

// GRPCBudget stops retries when failures outweigh successes.
//
// The bucket begins with `max_tokens`. Every attempt that fails takes one
// token, every one that succeeds brings `token_ratio`, within 0 and the
// maximum; a retry needs more than half of the maximum. It is the retry
// throttling of gRPC (proposal A6; throttle and successfulRPC in grpc-go
// v1.85.0, clientconn.go), counted in thousandths as in gRPC's C++ core
// (RecordFailure in retry_throttle.cc).
//
// What counts is what could be tried again: around a retry, the outcomes that
// it repeats, whether or not tries are left; around a hedge, failures and
// timeouts. A failure counts before the retry after it is asked for.
type GRPCBudget struct {
	// How many tokens the bucket holds.
	MaxTokens int `yaml:"max_tokens"`
	// How many tokens a success brings, to three decimals.
	TokenRatio float64 `yaml:"token_ratio"`
}

// SetDefaults sets the values of the proposal's example: 10 and 0.1.
func (c *GRPCBudget) SetDefaults() { *c = GRPCBudget{MaxTokens: 10, TokenRatio: 0.1} }

// Check reports what is wrong with the settings.
func (c *GRPCBudget) Check(p check.Problems) {
	check.Between(p, "max_tokens", c.MaxTokens, 1, 1000)
	check.Between(p, "token_ratio", c.TokenRatio, 0.001, 1000)
	if v := c.TokenRatio * 1000; math.Abs(v-math.Round(v)) > 1e-6 {
		p.Add("token_ratio", c.TokenRatio, "expected at most three decimals: tokens are counted in thousandths")
	}
	if c.MaxTokens > 0 && c.MaxTokens <= 2 {
		p.Doubt("max_tokens", c.MaxTokens, "allows no retry: the failure before it leaves no more than half")
	}
}

// grpc counts in thousandths of a token.
type grpc struct {
	tokens, most int64
	ratio        int64
	balance      balance
}

func newGRPC(c *GRPCBudget, tell balance) *grpc {
	most := int64(c.MaxTokens) * 1000
	tell.last = most
	return &grpc{tokens: most, most: most, ratio: int64(math.Round(c.TokenRatio * 1000)), balance: tell}
}

func (b *grpc) launch() {}
func (b *grpc) begin()  {}
func (b *grpc) end()    {}

func (b *grpc) grant(record.Cause) (cost int64, ok bool) { return 0, b.tokens > b.most/2 }

func (b *grpc) settle(how verdict, _, _ bool, _ int64) {
	switch how {
	case succeeded:
		b.tokens = min(b.tokens+b.ratio, b.most)
	case failed:
		b.tokens = max(b.tokens-1000, 0)
	}
	b.balance.tell(b.tokens)
}
