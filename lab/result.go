package lab

import (
	"encoding/json"

	"brunt/measure"
	"brunt/study"
)

// Schema is the version of the result's JSON.
const Schema = study.ResultSchema

// Result is the outcome of a run: what result.json holds. On the virtual clock
// it is a pure function of the study, byte for byte; what depends on the
// machine stands in [Environment].
type Result struct {
	Schema         int                   `json:"schema"`
	Study          string                `json:"study"`
	Question       string                `json:"question"`
	Seed           int64                 `json:"seed"`
	Clock          study.Clock           `json:"clock"`
	Deterministic  bool                  `json:"deterministic"`                  // a virtual run without any draw: it has no sampling error
	Irreproducible string                `json:"deterministic_reason,omitempty"` // why another run gives other numbers
	Config         json.RawMessage       `json:"config"`                         // the study as run, with defaults
	Instrument     Instrument            `json:"instrument"`
	StudySHA256    string                `json:"study_sha256"`          // of study.yaml beside the result
	Protocol       *Protocol             `json:"protocol"`              // null when the study names none
	Calibration    *Calibrated           `json:"calibration,omitempty"` // what the load was taken from
	Valid          bool                  `json:"valid"`
	Killed         bool                  `json:"killed,omitempty"` // it did not come to its end; it is aborted too
	Kill           *Kill                 `json:"kill,omitempty"`   // where it broke off
	Aborted        bool                  `json:"aborted"`
	Gates          []Gate                `json:"gates"`
	Compositions   []measure.Composition `json:"compositions"` // null when the run is not valid
	Repeats        []Repeat              `json:"repeats"`      // of a study that repeats, the first one included
	Secondary      []Secondary           `json:"secondary"`    // comparisons that the study declares
	Comparisons    []Comparison          `json:"comparisons"`  // of each composition with the first
	Ties           *Ties                 `json:"ties"`         // null when none were looked for
	TiesReason     string                `json:"ties_reason,omitempty"`
	LoadCuts       []LoadCut             `json:"load_cuts,omitempty"`    // of each composition that stays down after the trigger is gone
	FaultReason    string                `json:"fault_reason,omitempty"` // why recovery from the study's fault is not there
	NodeLoss       *NodeLoss             `json:"node_loss,omitempty"`    // of a real black hole
	Guests         []GuestNote           `json:"guests,omitempty"`       // clients that are not brunt's
	Replays        []Replay              `json:"replays,omitempty"`      // recordings that stood in for dependencies
	Findings       []string              `json:"findings"`
	Expectations   []Verdict             `json:"expectations"`

	// Closeups are of the compositions, for pictures, where rows were kept. They
	// are never written.
	Closeups []*measure.Closeup `json:"-"`

	// Hidden holds what an invalid run would have shown. It is never written.
	Hidden *Result `json:"-"`
}

// Protocol names the protocol that a run was bound by.
type Protocol struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Instrument says which brunt made the result.
type Instrument struct {
	Version      string  `json:"version"`
	Commit       *string `json:"commit"`
	CommitReason string  `json:"commit_reason,omitempty"`
}

// Verdict is an expectation and what became of it.
type Verdict struct {
	Composition string   `json:"composition"`
	Phase       string   `json:"phase"` // "whole" for the whole run
	Measure     string   `json:"measure"`
	Relation    string   `json:"relation"` // at_most, at_least, equals
	Limit       string   `json:"limit"`    // as written in the study
	Value       *float64 `json:"value"`    // milliseconds for a duration
	Unit        string   `json:"unit,omitempty"`
	Passed      bool     `json:"passed"`
	Refused     bool     `json:"refused"` // the data cannot carry the number
	Reason      string   `json:"reason,omitempty"`

	// Of a study that repeats: how many repeats it was judged on, and in how
	// many of them it did not hold. The value is then the worst of all.
	Repeats       int  `json:"repeats,omitempty"`
	FailedRepeats *int `json:"failed_repeats,omitempty"`
}

// Ties says which numbers are artefacts of ties: the virtual run was repeated
// with dispatch noise, and they changed by more than the tolerance between the
// two clocks.
type Ties struct {
	Runs      int        `json:"runs"`
	Noise     float64    `json:"noise_ms"`
	Artefacts []Artefact `json:"artefacts"`
}

// Artefact is a number that hangs on what happens at one instant.
type Artefact struct {
	Composition string  `json:"composition"`
	Phase       string  `json:"phase"`
	Measure     string  `json:"measure"`
	Value       float64 `json:"value"` // without noise
	Least       float64 `json:"least"` // with noise
	Most        float64 `json:"most"`
}

// LoadCut is the least cut of the load that ends a metastable failure: the
// virtual run is repeated with the load cut for a while from the verdict on, and
// full again after that.
type LoadCut struct {
	Composition string   `json:"composition"`
	Share       *float64 `json:"share"` // of the load that is kept away, in steps of 1 %; 0 when it comes back by itself, only later than the study looks
	For         float64  `json:"for_ms"`
	Reason      string   `json:"reason,omitempty"` // why there is no share
}

// Environment is what depends on the machine and the moment: environment.json.
type Environment struct {
	Started      string   `json:"started"` // RFC 3339, UTC
	Go           string   `json:"go"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	CPUs         int      `json:"cpus"`
	CPU          string   `json:"cpu"` // model, empty when unknown
	Kernel       string   `json:"kernel"`
	GOMAXPROCS   int      `json:"gomaxprocs"`
	Command      []string `json:"command"`
	WallMillis   float64  `json:"wall_ms"`
	Compositions []Wall   `json:"compositions"`
	Failure      string   `json:"failure,omitempty"` // why the run could not go on; then there is no result.json
}

// Wall says how long one composition took by the wall clock.
type Wall struct {
	Name       string  `json:"name"`
	WallMillis float64 `json:"wall_ms"`
}
