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
	Site                 *Site                       `json:"site,omitempty"`      // of a run on real targets
	Capacity             []Capacity                  `json:"capacity,omitempty"`  // of each target with workers, in the order of the plan
	Breakers             []BreakerNumbers            `json:"breakers,omitempty"`  // of each stage that opened, by name
	Stability            *Stability                  `json:"stability,omitempty"` // absent when no phase is disturbed
	Guest                *Guest                      `json:"guest,omitempty"`     // of a client that is not brunt's
}

// Guest counts what a client that is not brunt's, a Go client or a service, did
// besides what its requests and their attempts tell.
type Guest struct {
	Unattributed int64 `json:"unattributed"` // attempts that belong to no request
	Late         int64 `json:"late"`         // attempts of requests that had been over for some time
	Unserved     int64 `json:"unserved"`     // requests that completed although no attempt of theirs did
	Unheard      int64 `json:"unheard"`      // attempts that were answered when their request was over
	CutOff       int64 `json:"cut_off"`      // attempts that nobody had cancelled a horizon after the last request was over
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

	Good    *int64 `json:"good,omitempty"` // completed within the SLO; absent without one
	Denied  int64  `json:"denied"`         // retries and hedges that a budget did not allow
	Retries int64  `json:"retries"`        // attempts that a retry started
	Wasted  int64  `json:"wasted"`         // attempts that ended when nobody waited for them any more
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

	Good    []int64            `json:"good,omitempty"`    // completed within the SLO; absent without one
	Retries []int64            `json:"retries,omitempty"` // attempts that a retry started; absent when none was
	Wasted  []int64            `json:"wasted,omitempty"`  // attempts, by their start, that ended when nobody waited any more; absent when none did
	Queue   map[string][]int64 `json:"queue,omitempty"`   // attempts that wait for a worker, by target with workers, as in flight are sampled
	Busy    map[string][]int64 `json:"busy,omitempty"`    // attempts that are worked on, likewise
}

// Capacity is how the workers of one target, a dependency or a service, were
// used. An attempt counts in the phase in which it starts.
type Capacity struct {
	Name     string          `json:"name"`
	Replicas int             `json:"replicas"` // when nothing is disturbed
	Workers  int             `json:"workers"`  // of one replica, likewise
	Phases   []CapacityPhase `json:"phases"`
	Whole    CapacityPhase   `json:"whole"`
}

// CapacityPhase holds the numbers of the attempts at one target that start in
// one phase; what starts while the run drains is in the last one.
type CapacityPhase struct {
	Name       string   `json:"name"`
	Workers    int      `json:"workers"`    // of all replicas together; of the whole run, the most in a phase
	Attempts   int64    `json:"attempts"`   // all of them
	Worked     int64    `json:"worked"`     // that a worker took up
	Overloaded int64    `json:"overloaded"` // that found the queue full, or were dropped from it
	Cancelled  int64    `json:"cancelled"`
	Completed  int64    `json:"completed"`
	Throughput *float64 `json:"throughput_per_s"` // attempts that complete in the phase, whenever they started and without the drain, per second
	Arrivals   *float64 `json:"arrivals_per_s"`   // all attempts, per second of the phase

	// Busy is worker time, in three parts: wasted, when nobody waited for the
	// answer any more as it ended; useful, when the answer was a success; failed.
	Busy              Millis   `json:"busy_ms"`
	Useful            Millis   `json:"useful_ms"`
	Wasted            Millis   `json:"wasted_ms"`
	Failed            Millis   `json:"failed_ms"`
	WastedShare       *float64 `json:"wasted_share"` // of busy
	WastedShareReason string   `json:"wasted_share_reason,omitempty"`

	// Utilisation is the busy time of any attempt that falls into the phase,
	// without the drain, over the workers' time in it. Workers that a phase takes
	// away finish what they are at, so it can be above 1.
	Utilisation       *float64 `json:"utilisation"`
	UtilisationReason string   `json:"utilisation_reason,omitempty"`

	Wait     Percentiles   `json:"wait_ms"` // of attempts that a worker took up, or that left the queue otherwise
	Queue    QueueLength   `json:"queue"`
	Replicas []ReplicaLoad `json:"replicas,omitempty"` // when there are several, and not too many to list
}

// QueueLength is how many attempts waited for a worker during a phase, without
// the drain, whenever they started.
type QueueLength struct {
	Mean    *float64 `json:"mean"` // over time
	Max     int64    `json:"max"`
	Sampled bool     `json:"sampled,omitempty"` // too many attempts waited: the maximum is that of the starts of the timeline's steps
	Reason  string   `json:"reason,omitempty"`
}

// ReplicaLoad is what one replica got.
type ReplicaLoad struct {
	Replica  int      `json:"replica"` // from 1
	Attempts int64    `json:"attempts"`
	Busy     Millis   `json:"busy_ms"`
	Share    *float64 `json:"share"` // of the attempts
}

// BreakerNumbers says when the breakers of one stage opened, over all callers.
// To open again after a failed probe counts too.
type BreakerNumbers struct {
	Stage   string `json:"stage"`
	Callers int64  `json:"callers"` // whose breaker opened at least once; a shared one is one
	Opens   int64  `json:"opens"`
	// Before the trigger nothing is wrong: those are false opens.
	OpensBefore      *int64  `json:"opens_before"`
	OpensDuring      *int64  `json:"opens_during"`
	OpensAfter       *int64  `json:"opens_after"`
	TimeToOpen       *Millis `json:"time_to_open_ms"` // the first opening of the trigger or later, from the start of the last disturbed phase before it
	TimeToOpenReason string  `json:"time_to_open_reason,omitempty"`
	Reason           string  `json:"reason,omitempty"` // why opens are not told apart
}

// Stability says whether goodput came back once the trigger was gone and, where
// it did not, what kept it down.
type Stability struct {
	Trigger  *TriggerSpan    `json:"trigger"`
	Baseline Baseline        `json:"baseline"` // quiet time before the trigger, less one horizon
	Status   StabilityStatus `json:"status"`
	Reason   string          `json:"reason,omitempty"`

	JudgedAt        *Millis  `json:"judged_at_ms"` // start of the first window at least a hold after the trigger
	Share           *float64 `json:"share"`        // goodput of that window
	Least           *float64 `json:"least"`        // of the windows from there on
	Most            *float64 `json:"most"`
	Degraded        bool     `json:"degraded"`     // a window from the trigger's end on was below entry, before one came back for good
	EndsDown        bool     `json:"ends_down"`    // the last window was below exit
	Recovered       *Millis  `json:"recovered_ms"` // from the end of the trigger to the first entry that survived its hold
	RecoveredReason string   `json:"recovered_reason,omitempty"`
	Candidate       *Millis  `json:"candidate_ms"` // likewise, an entry whose hold was not over at the end

	// What sustains it, from the attempts that start between JudgedAt and the end
	// of the phases.
	Attempts          int64    `json:"attempts"`
	RetryShare        *float64 `json:"retry_share"` // retries and hedges among them, and what services did for one
	RetryShareReason  string   `json:"retry_share_reason,omitempty"`
	WastedShare       *float64 `json:"wasted_share"` // of the busy time of all targets
	WastedShareReason string   `json:"wasted_share_reason,omitempty"`
	Loaded            string   `json:"loaded"`       // the target with the most demand
	FirstDemand       *float64 `json:"first_demand"` // work per second over its workers, without retries and hedges
	Demand            *float64 `json:"demand"`       // with them
	DemandReason      string   `json:"demand_reason,omitempty"`
	SustainedBy       Loop     `json:"sustained_by"`
	SustainedReason   string   `json:"sustained_reason,omitempty"` // why no loop is named
}

// TriggerSpan is the trigger that a study's phases are.
type TriggerSpan struct {
	Phases []string `json:"phases"` // those that are disturbed
	From   Millis   `json:"from_ms"`
	To     Millis   `json:"to_ms"`
}

// StabilityStatus says what became of goodput after the trigger.
type StabilityStatus string

// The verdicts on stability.
const (
	// Metastable: below exit a hold after the trigger, and never up to entry again.
	Metastable StabilityStatus = "metastable"
	// Late: below exit a hold after the trigger; an entry survived its hold later,
	// and no window after that was below exit.
	Late StabilityStatus = "late"
	// Unsettled: below exit a hold after the trigger, up to entry later, and not for a hold.
	Unsettled StabilityStatus = "unsettled"
	// Relapsed: an entry survived its hold, and a later window was below exit again.
	Relapsed StabilityStatus = "relapsed"
	// Stable: not below exit then, an entry survived its hold, and no window after that was below exit.
	Stable StabilityStatus = "recovered"
	// Candidate: likewise, but the run ended before the hold was over.
	Candidate StabilityStatus = "candidate"
	// Impaired: not below exit then, and no entry survived its hold.
	Impaired StabilityStatus = "impaired"
	// NotEstimable: the study or its rows cannot tell.
	NotEstimable StabilityStatus = "not estimable"
)

// Loop names what keeps goodput down after the trigger is gone.
type Loop string

// The loops.
const (
	ByRetries   Loop = "retries"    // retries and hedges make more work than the workers can do
	ByStaleWork Loop = "stale work" // the workers could keep up, but work for callers that have left
	ByLoad      Loop = "load"       // the calls alone are more than the workers can do
)

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
	// SLO is what makes a completed request good. Without it nothing is told of
	// goodput, but for stability, where every completion by the horizon is good.
	SLO *SLO
	// Detector and Bucket say how stability is judged. A bucket of 0 stands for
	// [DefaultBucket].
	Detector Detector
	Bucket   time.Duration
	Trigger  *Trigger
	// NoTrigger is why there is no trigger though a phase is disturbed.
	NoTrigger string
	Stations  []Station // by dependency; those beyond the end have no workers
}

// Trigger is the stretch from the start of the first disturbed phase of a plan
// to the end of the last. All before and after it is quiet: as the study says
// without a phase.
type Trigger struct {
	Phases   []string // those that are disturbed
	From, To time.Duration
}

// Station is what a target has of workers.
type Station struct {
	Replicas int   // when nothing is disturbed
	Workers  int   // of one replica, likewise; 0 for a target without workers
	Slots    []int // workers of all replicas together, by phase
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
