package lab

import (
	"context"
	"errors"
	"sync"

	"brunt/clock"
	"brunt/load"
	"brunt/record"
	"brunt/study"
)

// StandaloneOptions say how dependencies are served by themselves.
type StandaloneOptions struct {
	// OnFirst has the first phase begin with the first attempt, and not at once.
	OnFirst bool
	// Ready is told once where each dependency is served, by name.
	Ready func(urls map[string]string) error
	// Phase is told when a phase begins; nil for nobody.
	Phase func(name string)
}

// Standalone is what was asked of dependencies that were served by themselves.
type Standalone struct {
	Phases []StandalonePhase `json:"phases"`
	// Cut counts attempts that were open when the serving ended.
	Cut int64 `json:"cut"`
}

// StandalonePhase is what was asked in one phase, by the attempts' start. The last
// one lasts until the serving ends.
type StandalonePhase struct {
	Phase        string           `json:"phase"`
	Dependencies []StandaloneHits `json:"dependencies"`
}

// StandaloneHits counts the attempts at one dependency.
type StandaloneHits struct {
	Dependency string           `json:"dependency"`
	Attempts   int64            `json:"attempts"`
	Completed  int64            `json:"completed"`
	Cancelled  int64            `json:"cancelled"` // their clients went away, or the serving ended
	Causes     map[string]int64 `json:"causes"`    // of those that failed
}

// ErrNothingServed says that a study has nothing that could be served.
var ErrNothingServed = errors.New("the study has no simulated dependency: there is nothing to serve")

// ServeDependencies serves the simulated dependencies of a study over HTTP, phase
// after phase on the real clock, until the context is over. Nobody loads them but
// whoever calls. A study that says where (serve) is served there, with all that it
// names; any other on free ports of this machine. The study is not changed.
func ServeDependencies(ctx context.Context, s *study.Study, o StandaloneOptions) (_ *Standalone, err error) {
	alone := *s
	if alone.Serve.Len() == 0 {
		for i, name := range s.Callees() {
			if _, real := s.RealTarget(name); !real {
				alone.Serve.Set(s.Callees()[i], "127.0.0.1:0")
			}
		}
	}
	if alone.Serve.Len() == 0 {
		return nil, ErrNothingServed
	}
	counter, err := openCounter(&alone, "nobody")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, counter.close()) }()
	urls := map[string]string{}
	for i, name := range s.Callees() {
		if url := counter.server.URL(i); url != "" {
			urls[name] = url
		}
	}
	loop, err := clock.Real()
	if err != nil {
		return nil, err
	}
	defer loop.Close()
	total := newStandalone(s)
	r := newRunner(loop, &alone, "", load.New(load.Load{Arrivals: load.Constant}, nil, s.Luck()), total, true)
	total.told = o.Phase
	h := newHost(r, nil, wallClock(), false)
	first := make(chan struct{})
	var once sync.Once
	h.begin()
	counter.run.Store(&counterRun{door: h.door, began: func() { once.Do(func() { close(first) }) }})
	if err := o.Ready(urls); err != nil {
		return nil, err
	}
	if o.OnFirst {
		select {
		case <-first:
		case <-ctx.Done():
			return total.result(), nil
		}
	}
	loop.Hold()
	ended := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		loop.Post(func() {
			for _, t := range r.timeline {
				loop.Cancel(t)
			}
			h.over = true
			h.cutAll()
			loop.Release()
		})
	})
	r.setTimeline()
	loop.Run()
	close(ended)
	watch.Wait()
	counter.run.Store(nil)
	h.door.over.Store(true)
	close(h.door.ended)
	total.sums.Cut = h.note.CutOff
	return total.result(), nil
}

// standalone counts rows as they come. It is a [record.Sink].
type standalone struct {
	study *study.Study
	sums  Standalone
	told  func(string)
}

func newStandalone(s *study.Study) *standalone {
	t := &standalone{study: s}
	for _, p := range s.Phases {
		phase := StandalonePhase{Phase: p.Name}
		for _, name := range s.Callees() {
			phase.Dependencies = append(phase.Dependencies, StandaloneHits{Dependency: name, Causes: map[string]int64{}})
		}
		t.sums.Phases = append(t.sums.Phases, phase)
	}
	return t
}

// Request implements [record.Sink].
func (*standalone) Request(*record.Request) {}

// Event implements [record.Sink].
func (t *standalone) Event(e *record.Event) {
	if e.What == record.WhatPhase && t.told != nil {
		t.told(e.State)
	}
}

// Attempt implements [record.Sink].
func (t *standalone) Attempt(a *record.Attempt) {
	phase := len(t.study.Phases) - 1
	for i := range t.study.Phases {
		if _, to := t.study.Span(i); a.Start < to {
			phase = i
			break
		}
	}
	hits := &t.sums.Phases[phase].Dependencies[a.Dependency]
	hits.Attempts++
	switch {
	case a.Cancelled:
		hits.Cancelled++
	case a.Cause == record.None:
		hits.Completed++
	default:
		hits.Causes[a.Cause.String()]++
	}
}

// result leaves out real targets, which are not served.
func (t *standalone) result() *Standalone {
	for i := range t.sums.Phases {
		var served []StandaloneHits
		for _, hits := range t.sums.Phases[i].Dependencies {
			if _, real := t.study.RealTarget(hits.Dependency); !real {
				served = append(served, hits)
			}
		}
		t.sums.Phases[i].Dependencies = served
	}
	return &t.sums
}
