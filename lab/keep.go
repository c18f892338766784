package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"brunt/record"
	"brunt/record/parquet"
	"brunt/record/spool"
	"brunt/study"
)

// keeper keeps the rows of a run in its folder. On the real clock, where a run
// cannot simply be run again, they go to a spool as they come, besides to the
// files that are whole only at the end.
type keeper struct {
	folder *Folder
	files  *parquet.Writer
	spool  *spool.Writer // nil on the virtual clock
	full   bool          // rows could not be written any more
}

// about is what a spool says of its run besides its rows: what stands in
// result.json, had the run come to write it.
type about struct {
	StudySHA256 string      `json:"study_sha256"`
	Instrument  Instrument  `json:"instrument"`
	Calibration *Calibrated `json:"calibration,omitempty"`
}

// keepRows begins to keep rows. failed is told when they cannot be kept any
// more, from some goroutine: there is no use in going on then.
func keepRows(s *study.Study, all []job, o Options, failed func(error)) (*keeper, error) {
	k := &keeper{folder: o.Folder}
	if s.Clock == study.Real {
		text, err := json.Marshal(about{studySum(s), o.Instrument, o.Calibration})
		if err != nil {
			return nil, fmt.Errorf("write rows: %w", err)
		}
		h := spool.Header{Compositions: keys(all), Dependencies: s.Callees(), About: text}
		if k.spool, err = spool.Create(k.spoolPath(), h, failed); err != nil {
			return nil, fmt.Errorf("write rows: %w", err)
		}
	}
	var err error
	if k.files, err = parquet.CreateWatched(o.Folder.Path(), keys(all), s.Callees(), failed); err != nil {
		if k.spool != nil {
			_ = k.spool.Close() // it holds nothing
			_ = os.Remove(k.spoolPath())
		}
		return nil, fmt.Errorf("write rows: %w", err)
	}
	return k, nil
}

func (k *keeper) spoolPath() string { return filepath.Join(k.folder.Path(), spool.File) }

// kept takes the rows of one composition.
type kept struct {
	record.Sinks
	file  *parquet.Sink
	spool *spool.Sink // nil on the virtual clock
	peaks Standing    // as the spool has them
}

func (k *keeper) composition(i int) *kept {
	c := &kept{file: k.files.Composition(i)}
	c.Sinks = record.Sinks{c.file}
	if k.spool != nil {
		c.spool = k.spool.Composition(i)
		c.Sinks = append(c.Sinks, c.spool)
	}
	return c
}

// hears returns what is to be told how far the run is: the spool too, which
// has its rows written then. Peaks are told of at the end of a run, which may not
// come.
func (c *kept) hears(progress func(Progress)) func(Progress) {
	if c.spool == nil {
		return progress
	}
	return func(p Progress) {
		if !p.Warmup {
			c.peak(record.WhatPeakRequests, p, p.PeakInFlight, &c.peaks.PeakInFlight)
			c.peak(record.WhatPeakAttempts, p, p.PeakActive, &c.peaks.PeakActive)
			c.spool.Reach(p.At)
		}
		if progress != nil {
			progress(p)
		}
	}
}

func (c *kept) peak(what string, p Progress, now int64, known *int64) {
	if now > *known {
		*known = now
		c.spool.Event(&record.Event{At: p.At, What: what, Value: now, Caller: -1})
	}
}

// end finishes the files, or gives them up when the run has failed. The spool
// stays until there is a result: [Folder.Write] removes it.
func (k *keeper) end(failed error) error {
	err := failed
	if k.spool != nil {
		if lost := k.spool.Close(); err == nil {
			err, k.full = lost, lost != nil
		}
	}
	if err != nil {
		k.files.Abort()
	} else if err = k.files.Close(); err != nil {
		err, k.full = fmt.Errorf("write rows: %w", err), true
	}
	return err
}

// leave is called when the run has no result, and why: what is there can be
// reported all the same, if it is anything.
func (k *keeper) leave(why error, env *Environment) error {
	if k == nil || k.spool == nil {
		return why
	}
	if k.spool.Empty() {
		_ = os.Remove(k.spoolPath()) // it would only stand in the way of the next run
		return why
	}
	env.Failure = why.Error()
	_ = k.folder.WriteEnvironment(env) // the one that is there says less
	when := ""
	if k.full {
		when = ", once there is room"
	}
	return fmt.Errorf("%w\nthe run was stopped; what had been written by then can be reported%s: brunt report %s", why, when, k.folder.Path())
}
