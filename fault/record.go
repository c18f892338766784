package fault

import (
	"time"

	"brunt/record"
)

// Record is what became of a fault. Instants are those of [Env.Now], and
// [record.Never] where something did not come.
type Record struct {
	Kind   Kind
	Victim string
	// How says how the fault was made, and Ends who ends it.
	How, Ends string
	// Armed is when everything was ready.
	Armed time.Duration
	// Fired is the instant before the one message was sent.
	Fired time.Duration
	// Effect is when the first probe was begun, at the fire or later, that
	// failed or found no answer.
	Effect time.Duration
	// Expired is when the fault ended: where the kernel or the victim ends it,
	// the fire and its duration; else when it was undone. For a kill it is when
	// the process is due to be started again.
	Expired time.Duration
	// Heal is when the first probe that succeeded after that had its answer.
	Heal time.Duration
	// EffectDetail and HealDetail say what these probes met.
	EffectDetail, HealDetail string
	// DroppedTo and DroppedFrom count the packets to and from the victim that a
	// black hole lost. They are 0 until it is undone.
	DroppedTo, DroppedFrom uint64
	// Output is what commands printed, clipped, each behind its name.
	Output []string
	// Undone is whether nothing is left of the fault.
	Undone bool
	// Problem is why it could not be undone at once, if so.
	Problem string
}

func newRecord(kind Kind, victim string) Record {
	const never = record.Never
	return Record{Kind: kind, Victim: victim, Armed: never, Fired: never, Effect: never, Expired: never, Heal: never}
}
