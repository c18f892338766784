package target

import (
	"math"

	"brunt/check"
)

// Prices is what a target charges, in any unit. What is not known is free.
type Prices struct {
	// What each request costs that was written.
	Request float64 `yaml:"request"`
	// What each token of a prompt costs, as the target counts them.
	PromptToken float64 `yaml:"prompt_token"`
	// What each token of an answer costs, as the target counts them.
	CompletionToken float64 `yaml:"completion_token"`
}

// dearest keeps sums within what is added up without error.
const dearest = 1e6

func (p *Prices) check(in check.Problems) {
	for _, price := range []struct {
		name string
		v    float64
	}{{"request", p.Request}, {"prompt_token", p.PromptToken}, {"completion_token", p.CompletionToken}} {
		if !(price.v >= 0 && price.v <= dearest) {
			in.Add(price.name, price.v, "expected a price from 0 to %g", dearest)
		}
	}
}

// Of returns what a call costs. Tokens that the target did not count are free:
// a call that broke off costs less here than it may on the bill.
func (p Prices) Of(a *Answer) float64 {
	if a.Writes == 0 {
		return 0
	}
	return math.Min(p.Request+p.PromptToken*float64(max(a.PromptTokens, 0))+p.CompletionToken*float64(max(a.CompletionTokens, 0)), 9e9-1)
}
