package libraries

import (
	"slices"
	"strings"
	"time"

	"brunt/policy"
)

// forever stands for no cap, where a library has to have one: it is longer than
// any run, and twice of it is a duration still.
const forever = 365 * 24 * time.Hour

// judgeRetry says what no library here expresses of a retry.
func (r *remarks) judgeRetry(c *policy.Retry) {
	if c.Needs != nil {
		r.refuse("%s does not ask how long a try needs: expected no needs", r.library.name)
	}
	if c.RetryAfter != nil {
		r.refuse("%s has no cap on what a dependency asks for: expected no retry_after", r.library.name)
	}
	if !r.told && len(c.On) > 0 {
		r.refuse("%s %s repeats what the library repeats: expected no on", r.library.name, defaults)
	}
	if !r.told {
		r.note("repeats after any error, refusals by the stages inside too")
	}
}

// judgeBackoff says which kinds and which jitter a library has. proportional is
// whether it spreads a delay by a share of it.
func (r *remarks) judgeBackoff(b *policy.Backoff, proportional bool, kinds ...policy.Kind) {
	if !slices.Contains(kinds, b.Kind) {
		var words []string
		for _, k := range kinds {
			words = append(words, string(k))
		}
		r.refuse("%s has no backoff that is %s: expected kind: %s", r.library.name, b.Kind, strings.Join(words, ", "))
	}
	if b.Kind == policy.NoBackoff {
		return
	}
	switch text, _ := b.Jitter.MarshalText(); {
	case b.Jitter.Kind == policy.NoJitter:
	case b.Jitter.Kind == policy.Proportional && proportional:
		if b.Cap > 0 {
			r.note("caps the delay before the jitter: waits reach %v", time.Duration(float64(b.Cap)*(1+b.Jitter.Share)))
		}
	case proportional:
		r.refuse("%s has no jitter that is %s: expected jitter: none or proportional(r)", r.library.name, text)
	default:
		r.refuse("%s has no jitter that is %s: expected jitter: none", r.library.name, text)
	}
}

// share is the part of a delay that its jitter moves it by.
func share(b *policy.Backoff) float64 {
	if b.Jitter.Kind == policy.Proportional {
		return b.Jitter.Share
	}
	return 0
}
