package conformance

// Verdict says how what was seen compares with what was expected.
type Verdict string

// The verdicts.
const (
	AsExpected    Verdict = "as_expected"
	Differs       Verdict = "differs"
	NotApplicable Verdict = "not_applicable"
)

// Own says what a library's documentation has to say of what was seen.
type Own string

// What documentation can say.
const (
	Documented Own = "documented" // it does what its documentation says
	Silent     Own = "silent"     // its documentation does not speak of it
)

// Scenario is one question, and what is expected.
type Scenario struct {
	Name, Question string
	Expected       string // in words: what brunt's design says
	Standard       string // where it says so
	numbers        []number
	subjects       []subject
	missing        []missing
}

// number is one number that is looked at, and the most and the least that is
// expected.
type number struct {
	label   string // "attempts while the dependency hangs"
	phase   string // "" for the whole run
	measure string // as expectations name it
	least   float64
	most    float64
	of      float64 // what it is a part of; 0 for nothing
	unit    string
}

// subject is one composition of a scenario's study.
type subject struct {
	composition string
	own         Own    // "" for brunt's own
	says        string // what the documentation says, or why it is as it is
	source      string // where
}

// missing is a library that has no part in a scenario.
type missing struct{ library, reason string }

// The libraries' documentation, at the versions that are pinned here.
const (
	failsafeDocs   = "https://pkg.go.dev/github.com/failsafe-go/failsafe-go@v0.9.8/"
	gobreakerDocs  = "https://pkg.go.dev/github.com/sony/gobreaker/v2@v2.4.0"
	backoffDocs    = "https://pkg.go.dev/github.com/cenkalti/backoff/v5@v5.0.3"
	retryableDocs  = "https://pkg.go.dev/github.com/hashicorp/go-retryablehttp@v0.7.8"
	resiliencyDocs = "https://pkg.go.dev/github.com/eapache/go-resiliency@v1.7.0/"
)

// Why a library has no part in a scenario.
var (
	noBackoffBreaker   = missing{"backoff", "has no breaker"}
	noRetryableBreaker = missing{"go-retryablehttp", "has no breaker"}
	noGobreakerRetry   = missing{"gobreaker", "has no retry"}
)

// scenarios are all of them, in the order in which they are told.
var scenarios = []Scenario{
	{
		Name:     "stale-results",
		Question: "Do results of calls from before a breaker opened change its state while it is half-open?",
		Expected: "No: while the only probe hangs the breaker stays half-open, whatever older calls come to, so that when calls fail again at most one goes through.",
		Standard: "brunt's design: a result from a call begun before the last change of state is ignored",
		numbers: []number{
			{label: "calls that reach a dependency that hangs (not judged)", phase: "dead", measure: "attempts", of: 80, most: 80},
			{label: "calls that reach it when it fails again", phase: "failing-again", measure: "attempts", of: 8, most: 1},
		},
		subjects: []subject{
			{composition: "brunt"},
			{"failsafe-go", Silent, "a result changes the counts of the state that it arrives in; states have no generations", failsafeDocs + "circuitbreaker#CircuitBreaker"},
			{"failsafe-go-defaults", Silent, "a result changes the counts of the state that it arrives in; states have no generations", failsafeDocs + "circuitbreaker#CircuitBreaker"},
			{"gobreaker", Documented, "results of requests from before the counts were cleared are ignored", gobreakerDocs + "#Counts"},
			{"go-resiliency", Silent, "a success of a call that began while the breaker was closed is ignored; half-open lets every call in (see hung-probe)", resiliencyDocs + "breaker#New"},
		},
		missing: []missing{noBackoffBreaker, noRetryableBreaker},
	},
	{
		Name:     "hedge-losers",
		Question: "Does a breaker inside of a hedge count the losers of a healthy target as failures?",
		Expected: "No: a loser that is cancelled says nothing about the target, and none of 20 requests is refused.",
		Standard: "brunt's design: a cancelled call counts as neither success nor failure",
		numbers:  []number{{label: "requests refused", phase: "healthy", measure: "errored.circuit", of: 20, most: 0}},
		subjects: []subject{
			{composition: "brunt-ratio"},
			{"failsafe-go-ratio", Documented, "told by HandleIf that a cancelled call is no failure, which makes it a success", failsafeDocs + "circuitbreaker#Builder"},
			{"failsafe-go-ratio-defaults", Documented, "any error is a failure by default, also that of a cancelled loser", failsafeDocs + "circuitbreaker#Builder"},
			{"failsafe-go-row-defaults", Documented, "any error is a failure by default, but each winner ends the row of failures", failsafeDocs + "circuitbreaker#Builder"},
		},
		missing: []missing{
			{"gobreaker", "has no hedge"}, {"backoff", "has no hedge"}, {"go-retryablehttp", "has no hedge"}, {"go-resiliency", "has no hedge"},
		},
	},
	{
		Name:     "hung-probe",
		Question: "How many calls reach a dependency that hangs while a breaker waits for its probe?",
		Expected: "One at a time: of 80 in four seconds, with callers who give up after two, at most three.",
		Standard: "brunt's design: at most so many probes at once; one that hangs keeps the breaker half-open until it is cancelled",
		numbers: []number{
			{label: "calls that reach a dependency that hangs", phase: "dead", measure: "attempts", of: 80, most: 3},
			{label: "requests answered once it is well again (not judged)", phase: "recovery", measure: "completed", of: 80, most: 80},
		},
		subjects: []subject{
			{composition: "brunt"},
			{"failsafe-go", Silent, "told that a call whose caller has left is no failure, it takes the probe that was given up for a success and closes: there is no third way", failsafeDocs + "circuitbreaker#Builder"},
			{"failsafe-go-defaults", Documented, "so many trial executions are let in as have to succeed; the probe that is given up is a failure and opens it again", failsafeDocs + "circuitbreaker#CircuitBreaker"},
			{"gobreaker", Documented, "MaxRequests bounds what passes while it is half-open; IsExcluded gives the probe back", gobreakerDocs + "#Settings"},
			{"gobreaker-defaults", Documented, "MaxRequests bounds what passes while it is half-open; the probe that is given up is a failure and opens it again", gobreakerDocs + "#Settings"},
			{"go-resiliency", Silent, "half-open ends with the first error or enough successes; nothing bounds how many calls pass until then", resiliencyDocs + "breaker#New"},
		},
		missing: []missing{noBackoffBreaker, noRetryableBreaker},
	},
	{
		Name:     "open-breaker",
		Question: "Does a retry wait and ask again when the breaker inside of it has refused?",
		Expected: "No: the refusal is the answer at once; waiting 2 × 100 ms for two more of them gains nothing.",
		Standard: "brunt's design: a refusal by an inner stage is repeated only when `on` lists it",
		numbers:  []number{{label: "longest time to the refusal", phase: "open", measure: "submitted.max", most: 0, unit: "ms"}},
		subjects: []subject{
			{composition: "brunt"},
			{"failsafe-go", Documented, "told by HandleIf not to repeat it", failsafeDocs + "retrypolicy#Builder"},
			{"failsafe-go-defaults", Documented, "any error is repeated by default", failsafeDocs + "retrypolicy#Builder"},
			{"backoff-gobreaker", Documented, "told by Permanent not to repeat it", backoffDocs + "#Permanent"},
			{"backoff-gobreaker-defaults", Documented, "any error is repeated until it is permanent", backoffDocs + "#Retry"},
			{"retryablehttp-gobreaker", Documented, "told by CheckRetry not to repeat it", retryableDocs + "#CheckRetry"},
			{"retryablehttp-gobreaker-defaults", Documented, "the default policy repeats errors of the transport", retryableDocs + "#DefaultRetryPolicy"},
			{"go-resiliency", Documented, "told by a classifier not to repeat it", resiliencyDocs + "retrier#Classifier"},
			{"go-resiliency-defaults", Documented, "the default classifier repeats any error", resiliencyDocs + "retrier#DefaultClassifier"},
		},
	},
	{
		Name:     "jitter-cap",
		Question: "Is a wait ever longer than the cap on it?",
		Expected: "No: with a cap of 1 s and two tries of 1 ms, no request takes more than 1,002 ms.",
		Standard: "brunt's design: the cap holds after the jitter",
		numbers:  []number{{label: "longest request", phase: "outage", measure: "submitted.max", most: 1002.001, unit: "ms"}},
		subjects: []subject{
			{composition: "brunt"},
			{"failsafe-go", Silent, "a jitter factor adds to or takes from each delay; whether the longest delay holds after it is not said", failsafeDocs + "retrypolicy#Builder"},
			{"backoff", Documented, "MaxInterval caps the interval, not the randomized one", backoffDocs + "#ExponentialBackOff"},
			{"go-retryablehttp", Documented, "its capped backoff has no jitter", retryableDocs + "#DefaultBackoff"},
			{"go-resiliency", Documented, "the jitter moves each wait by up to its factor; a cap is a matter of the list of waits", resiliencyDocs + "retrier#Retrier.SetJitter"},
		},
		missing: []missing{noGobreakerRetry},
	},
	{
		Name:     "lost-permits",
		Question: "Is capacity lost when waiters time out?",
		Expected: "No: with half the load that the limit lets through, at least 18 of 20 requests are answered, whoever timed out before.",
		Standard: "brunt's design: a cancelled or timed-out waiter frees its place, and takes no token",
		numbers:  []number{{label: "requests answered in the calm", phase: "calm", measure: "completed", of: 20, least: 18, most: 20}},
		subjects: []subject{
			{composition: "brunt-limit"},
			{"failsafe-go-limit", Documented, "a waiter of a bulkhead that is cancelled takes no permit", failsafeDocs + "bulkhead#Bulkhead"},
			{"go-resiliency-limit", Documented, "a ticket is taken or it is not; a waiter whose caller has left stays in line for its own timeout", resiliencyDocs + "semaphore#Semaphore.Acquire"},
			{composition: "brunt-rate"},
			{"failsafe-go-rate", Silent, "a waiter of a rate limiter reserves its permit when it comes, and one that leaves does not give it back; WithMaxWaitTime below the callers' patience avoids it", failsafeDocs + "ratelimiter#RateLimiter"},
		},
		missing: []missing{
			{"gobreaker", "has no limit"}, {"backoff", "has no limit"}, {"go-retryablehttp", "has no limit"},
		},
	},
	{
		Name:     "budget",
		Question: "Does a retry budget shrink as calls fail?",
		Expected: "No: of 100 calls that fail at one instant 26 are repeated, as 26 of 126 is the first above a fifth.",
		Standard: "brunt's design: retries are at most `share` of the calls in flight, those that wait before a retry among them",
		numbers:  []number{{label: "calls repeated", phase: "outage", measure: "retries", of: 100, least: 26, most: 26}},
		subjects: []subject{
			{composition: "brunt-calls"},
			{composition: "brunt-attempts", says: "brunt's model of Envoy's count (of: attempts), where an attempt that has failed is not under way any more: shown for comparison", source: "https://github.com/envoyproxy/envoy-mobile/issues/811"},
			{"failsafe-go", Documented, "the budget is a share of the executions in flight, and one that waits before its retry is among them", failsafeDocs + "budget#Builder"},
		},
		missing: []missing{
			{"gobreaker", "has no budget"}, {"backoff", "has no budget"}, {"go-retryablehttp", "has no budget"}, {"go-resiliency", "has no budget"},
		},
	},
	{
		Name:     "cancellations",
		Question: "Does a breaker open because callers leave a target that is well?",
		Expected: "No: a call that its caller has left says nothing about the target, and all 20 reach it.",
		Standard: "brunt's design: a cancelled call counts as neither success nor failure",
		numbers: []number{
			{label: "calls that reach the target", phase: "healthy", measure: "attempts", of: 20, least: 20, most: 20},
			{label: "requests refused", phase: "healthy", measure: "errored.circuit", of: 20, most: 0},
		},
		subjects: []subject{
			{composition: "brunt"},
			{"failsafe-go", Documented, "told by HandleIf that a cancelled call is no failure, which makes it a success", failsafeDocs + "circuitbreaker#Builder"},
			{"failsafe-go-defaults", Documented, "any error is a failure by default", failsafeDocs + "circuitbreaker#Builder"},
			{"gobreaker", Documented, "told by IsExcluded that a cancelled call counts as neither", gobreakerDocs + "#Settings"},
			{"gobreaker-defaults", Documented, "any error is a failure unless IsSuccessful or IsExcluded says otherwise", gobreakerDocs + "#Settings"},
			{"go-resiliency", Documented, "any error counts, and there is no way to say otherwise but to hide it", resiliencyDocs + "breaker#New"},
		},
		missing: []missing{noBackoffBreaker, noRetryableBreaker},
	},
}
