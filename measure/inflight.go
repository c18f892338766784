package measure

import (
	"time"

	"brunt/record"
)

// InFlight says what became of the requests that were open at one instant.
type InFlight struct {
	At     Millis `json:"at_ms"`
	All    Fates  `json:"all"`
	Victim *Fates `json:"victim"` // those that the victim had
	Others *Fates `json:"others"`
	Reason string `json:"reason,omitempty"` // why they are not told apart
}

// Fates counts requests by outcome, with what failed and what timed out as
// rates of them.
type Fates struct {
	Open      int64 `json:"open"`
	Completed int64 `json:"completed"`
	Errored   int64 `json:"errored"`
	Censored  int64 `json:"censored"`
	Failed    Rate  `json:"failed"`    // errored of open
	TimedOut  Rate  `json:"timed_out"` // censored of open
}

// InFlightAt counts the requests open at an instant, mostly that of the fire:
// intended before it and not ended before it. At one instant a fault comes
// before work in progress, so a request that ends then is still open, and one
// that arrives then is not yet. victim says whose a request was; nil where
// nobody knows.
func InFlightAt(rows []Row, at time.Duration, victim func(Row) bool, deterministic bool) InFlight {
	f := InFlight{At: Millis(at)}
	if victim == nil {
		f.Reason = "not told apart: it is not known which requests the victim had"
	} else {
		f.Victim, f.Others = new(Fates), new(Fates)
	}
	for _, r := range rows {
		if r.Intended >= at || r.End() < at {
			continue
		}
		f.All.add(r.Outcome)
		switch {
		case victim == nil:
		case victim(r):
			f.Victim.add(r.Outcome)
		default:
			f.Others.add(r.Outcome)
		}
	}
	for _, fates := range []*Fates{&f.All, f.Victim, f.Others} {
		if fates != nil {
			fates.Failed = RateOf(fates.Errored, fates.Open, deterministic)
			fates.TimedOut = RateOf(fates.Censored, fates.Open, deterministic)
		}
	}
	return f
}

func (f *Fates) add(o record.Outcome) {
	f.Open++
	switch o {
	case record.Completed:
		f.Completed++
	case record.Errored:
		f.Errored++
	default:
		f.Censored++
	}
}
