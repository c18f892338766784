package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"brunt/front"
	"brunt/record"
)

// tellRoutes writes what the front's log says and rows cannot: when a replica
// went down or came up, and where each request was that was in flight at the
// fire, also when no answer ever came back.
func (s *site) tellRoutes() error {
	path := ""
	switch {
	case s.stand.bed != nil:
		path = s.stand.bed.Log()
	case s.study.Fault != nil && s.study.Fault.FrontLog != "":
		path = s.study.Fault.FrontLog
	default:
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the front's log: %w", err)
	}
	defer file.Close()
	entries, err := front.ReadLog(file)
	if err != nil {
		return fmt.Errorf("read the front's log: %w", err)
	}
	began := wallClock().Add(-s.stand.now()) // the loop's instant 0 on the wall clock, which the log goes by
	layout, faulty := s.study.Layout()
	for _, e := range entries {
		if e.What == front.Up || e.What == front.Down {
			s.runner.tell(record.Event{At: max(e.At.Sub(began), 0), What: record.WhatRoute, Stage: e.Replica, State: string(e.What)})
		}
	}
	if !faulty || s.fault == nil {
		return nil
	}
	return s.tellVisits(front.Visits(entries), began, layout.Anchor)
}

// tellVisits writes the visits that were open at the fire, and those that were
// sent to the victim after it.
func (s *site) tellVisits(visits []front.Visit, began time.Time, fire time.Duration) error {
	for _, v := range visits {
		request, ours := requestOf(v.Request, s.stand.prefix, s.runner.firstID)
		if !ours || v.Replica == "" {
			continue
		}
		at := max(v.Routed.Sub(began), 0)
		if v.Open(began.Add(fire)) || at >= fire && v.Replica == s.victim {
			s.runner.tell(record.Event{At: at, What: record.WhatRoute, Stage: v.Replica, State: StateRouted, Value: request})
		}
	}
	return nil
}

// StateRouted is a request's way to a replica, in events.
const StateRouted = "routed"

// requestOf reads the index of a request from its id, PREFIX-17-0. A log may
// hold requests of others too.
func requestOf(id, prefix string, first int64) (index int64, ok bool) {
	rest, ours := strings.CutPrefix(id, prefix+"-")
	number, _, whole := strings.Cut(rest, "-")
	if !ours || !whole {
		return 0, false
	}
	index, err := strconv.ParseInt(number, 10, 64)
	index -= first
	return index, err == nil && index >= 0 && index < idsPerRun
}
