// Package libraries builds the stacks of a study with well-known Go libraries
// instead of with brunt's own policies.
//
// A composition that ends in {go: NAME} is built with that library:
//
//	compositions:
//	  mine:     [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 500ms}}]
//	  failsafe: [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 500ms}}, {go: failsafe-go}]
//
// NAME is one of failsafe-go, gobreaker, backoff, go-retryablehttp and
// go-resiliency, or several of them (gobreaker + backoff): then each stage is
// built with the first that has such a policy.
//
// What an error means to a policy is told to the library as brunt has it, as far
// as the library can be told: a refusal by a stage inside is not repeated, a call
// that its caller has left is no failure. With the word defaults behind the name
// (failsafe-go defaults) it is left as the library comes: to most any error is one.
//
// A setting that a library has nothing for is refused, in words, before anything
// runs. Where it has a near form of its own that one is taken, and [Notes] says
// what is different. Only what the library offers as a setting is used: no policy
// is written here.
//
// [New] and [Notes] may be called from any goroutine. Durations are those of the
// study; a client is made anew for each repeat and each caller.
package libraries
