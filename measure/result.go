package measure

import "time"

// Composition is everything that is measured of one composition. The JSON
// names are a contract: fields are only ever added. Durations are in
// milliseconds; a number that is absent is null, with the reason beside it.
type Composition struct {
	Name                 string                      `json:"name"`
	Phases               []Phase                     `json:"phases"`
	Whole                Phase                       `json:"whole"`
	Recovery             Recovery                    `json:"recovery"`
	Cancelled            int64                       `json:"cancelled"`
	LosersPending        int64                       `json:"losers_pending"`
	Cleanup              Tail                        `json:"cleanup_ms"`
	Peak                 Peak                        `json:"peak"`
	ActiveAfterDrain     int64                       `json:"active_after_drain"`
	AttemptsByStartPhase map[string]map[string]int64 `json:"attempts_by_start_phase"`
	Herd                 Herd                        `json:"herd"`
	Timeline             Timeline                    `json:"timeline"`
	Summary              []Spread                    `json:"summary,omitempty"` // over the repeats of a run; everything else is of the first
	Service              *Service                    `json:"service,omitempty"` // goodput within the study's SLO
	Windows              []WindowNumbers             `json:"windows,omitempty"` // of the study's fault
	InFlight             *InFlight                   `json:"in_flight_at_fire,omitempty"`
}

// Service is how much of the load was served within the SLO.
type Service struct {
	Goodput []PhaseGoodput `json:"goodput"` // of each phase, and of the whole run
	Sweep   []Threshold    `json:"sweep"`   // of the whole run, at other limits on the end
	Modal   *Shift         `json:"modal_shift,omitempty"`
	Reason  string         `json:"reason,omitempty"` // why there is nothing
}

// PhaseGoodput is the share of the requests offered in a phase that completed
// within the SLO.
type PhaseGoodput struct {
	Phase string `json:"phase"`
	Rate
}

// Phase holds the numbers of the requests whose intended instant lies in one
// phase, or of all requests.
type Phase struct {
	Name      string           `json:"name"`
	From      Millis           `json:"from_ms"`
	To        Millis           `json:"to_ms"`
	Offered   int64            `json:"offered"`
	Submitted int64            `json:"submitted"`
	Admitted  int64            `json:"admitted"`
	Completed int64            `json:"completed"`
	Errored   int64            `json:"errored"`
	Censored  int64            `json:"censored"`
	Causes    map[string]int64 `json:"causes"` // every cause of record.Causes, also those at 0

	Attempts                  int64    `json:"attempts"`
	AttemptsPerOffered        *float64 `json:"attempts_per_offered"`
	AttemptsPerOfferedReason  string   `json:"attempts_per_offered_reason,omitempty"`
	AttemptsPerAdmitted       *float64 `json:"attempts_per_admitted"`
	AttemptsPerAdmittedReason string   `json:"attempts_per_admitted_reason,omitempty"`

	Latency         Latencies        `json:"latency_ms"`
	SchedulerLag    Tail             `json:"scheduler_lag_ms"`
	Incidence       Incidence        `json:"incidence"`
	ServedBy        map[string]int64 `json:"served_by"`
	DependencyCalls map[string]int64 `json:"dependency_calls"`
	Cost            float64          `json:"cost"`
}

// Latencies are times from the intended instant.
type Latencies struct {
	// Submitted is the time to any outcome over all submitted requests.
	// Instant refusals enter it as fast.
	Submitted Percentiles `json:"submitted"`
	// Completed is conditional on completion.
	Completed Percentiles `json:"completed"`
	// FirstToken is of completed streams; absent when there was none.
	FirstToken *Percentiles `json:"first_token,omitempty"`
}

// Percentiles are exact nearest-rank percentiles of kept samples.
type Percentiles struct {
	P50    *Millis `json:"p50"`
	P95    *Millis `json:"p95"`
	P99    *Millis `json:"p99"`
	Max    *Millis `json:"max"`
	Reason string  `json:"reason,omitempty"`
}

// Tail is the far end of a distribution.
type Tail struct {
	P99    *Millis `json:"p99"`
	Max    *Millis `json:"max"`
	Reason string  `json:"reason,omitempty"`
}

// Incidence sums up the completion-incidence curve.
type Incidence struct {
	Final                 *float64   `json:"final"`
	Ceiling               *float64   `json:"ceiling"`
	CensoredBeforeHorizon int64      `json:"censored_before_horizon"`
	Quantiles             []Quantile `json:"quantiles"`
	Reason                string     `json:"reason,omitempty"`
}

// Quantile is a quantile of the completion-incidence curve, or its refusal.
type Quantile struct {
	Q      float64 `json:"q"`
	Status Status  `json:"status"`
	Millis *Millis `json:"ms"`
	Reason string  `json:"reason,omitempty"` // why there is no time, in words

	// The 95 % interval, by order statistics over all scheduled requests. A
	// bound may be a verdict instead of a time.
	Lower       *Millis `json:"lower_ms,omitempty"`
	LowerStatus Status  `json:"lower_status,omitempty"`
	Upper       *Millis `json:"upper_ms,omitempty"`
	UpperStatus Status  `json:"upper_status,omitempty"`
	Refused     string  `json:"interval_refused,omitempty"` // why there is no interval, in words
}

// Status says what became of a quantile.
type Status string

// The verdicts on a quantile. Empty refuses one of no requests at all.
const (
	Reached      Status = "reached"
	Beyond       Status = "beyond"
	Unattainable Status = "unattainable"
	Empty        Status = "empty"
)

// Recovery says when callers were well again.
type Recovery struct {
	Phase       string  `json:"phase"`
	Window      Millis  `json:"window_ms"`
	CleanWindow *Millis `json:"clean_window_ms"` // from the start of the phase
	Reason      string  `json:"reason,omitempty"`
	// Goodput is the recovery from the fault that the study names.
	Goodput       *FaultRecovery `json:"goodput"`
	GoodputReason string         `json:"goodput_reason,omitempty"`
}

// Peak holds the most that were in flight at once, in event order.
type Peak struct {
	Requests int64 `json:"requests"`
	Attempts int64 `json:"attempts"`
}

// Herd counts attempts and retries by the instant of their start.
type Herd struct {
	Bucket    Millis       `json:"bucket_ms"`
	Peak      int64        `json:"peak"`
	RetryPeak int64        `json:"retry_peak"`
	Buckets   []HerdBucket `json:"buckets"` // those that are not empty; null when there are too many
	Reason    string       `json:"buckets_reason,omitempty"`
}

// HerdBucket is one bucket of a herd.
type HerdBucket struct {
	From     Millis `json:"from_ms"`
	Attempts int64  `json:"attempts"`
	Retries  int64  `json:"retries"`
}

// Timeline holds series over time, in at most 2,000 steps. Requests count in
// the step of their intended instant, attempts in that of their start; in
// flight are the requests submitted before the start of the step and not yet
// ended then. What starts while the run drains, after the phases, is in no step.
type Timeline struct {
	Step      Millis             `json:"step_ms"`
	Offered   []int64            `json:"offered"`
	Completed []int64            `json:"completed"`
	Errored   map[string][]int64 `json:"errored"` // by cause, those that occur
	Censored  []int64            `json:"censored"`
	Attempts  []int64            `json:"attempts"`
	InFlight  []int64            `json:"in_flight"`
	P50       []*Millis          `json:"p50"` // of completed requests; null where there were none
	P95       []*Millis          `json:"p95"`
}

// Millis is a duration that is written to JSON as a number of milliseconds.
type Millis time.Duration

// Plan is what the rows of one composition are held against.
type Plan struct {
	Phases       []Span
	Dependencies []string // names, by position
	Horizon      time.Duration
	Recovery     CleanWindow
	HerdBucket   time.Duration
	// Sampled says that the rows hold draws of chance. Without any there is no
	// sampling error, and no quantile has an interval.
	Sampled bool
}

// Span is a named stretch of time, closed on the left and open on the right.
// The last one of a plan takes everything that comes later as well.
type Span struct {
	Name     string
	From, To time.Duration
}

// CleanWindow is how recovery is judged by clean windows.
type CleanWindow struct {
	Phase  int           // position in the plan's phases
	Window time.Duration // 0 judges nothing
	Least  int64         // requests that a window needs: max(1, floor(rate · window))
}
