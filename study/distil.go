package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"brunt/chance"
	"brunt/dependency"
	"brunt/record"
	"brunt/record/parquet"
)

// The files of a run's folder, beside its rows.
const (
	runStudy       = "study.yaml"
	runEnvironment = "environment.json"
	runResult      = "result.json"
)

// ResultSchema is the version of result.json, which says what the rows beside it
// mean.
const ResultSchema = 1

// run is a folder of results that attempts are taken from.
type run struct {
	folder  string
	study   *Study // not checked: only its names and phases are looked at
	targets []string
	started string
	invalid bool
}

// openRun reads what a folder of results says about its run. A study that this
// brunt could not run any more still has names and phases.
func openRun(folder string) (*run, error) {
	name := filepath.Join(folder, runStudy)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("holds no %s: expected the folder of a run, or a recording", runStudy)
	} else if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	text, err := limited(f)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	r := &reader{file: name, places: places{}, sets: map[*yaml.Node]string{}}
	s := &Study{}
	s.SetDefaults()
	if root := r.parse(text); root != nil {
		r.decode(root, reflect.ValueOf(s).Elem(), "")
	}
	if len(r.errs) > 0 {
		return nil, fmt.Errorf("its study cannot be read: %s", r.errs[0].Error())
	}
	if !isName(s.Name) || len(s.Phases) == 0 || slices.ContainsFunc(s.phaseNames(), func(name string) bool { return !isName(name) }) {
		return nil, fmt.Errorf("its %s is no study that a run can have left: its name, or that of a phase, is missing", runStudy)
	}
	var environment struct{ Started string }
	if b, err := os.ReadFile(filepath.Join(folder, runEnvironment)); err == nil && json.Unmarshal(b, &environment) == nil {
		if _, err := time.Parse(time.RFC3339, environment.Started); err != nil {
			environment.Started = "" // it is told, and nothing hangs on it
		}
	}
	var result struct {
		Schema *int
		Valid  *bool
	}
	invalid := false
	if b, err := os.ReadFile(filepath.Join(folder, runResult)); err == nil && json.Unmarshal(b, &result) == nil {
		if result.Schema != nil && *result.Schema != ResultSchema {
			return nil, fmt.Errorf("its %s has schema %d: this brunt reads schema %d", runResult, *result.Schema, ResultSchema)
		}
		invalid = result.Valid != nil && !*result.Valid
	}
	return &run{folder, s, s.Callees(), environment.Started, invalid}, nil
}

// like returns the target whose attempts stand for a dependency: that of the
// same name, or the only one; "" when there is neither.
func (r *run) like(dependency string) string {
	switch {
	case slices.Contains(r.targets, dependency):
		return dependency
	case len(r.targets) == 1:
		return r.targets[0]
	}
	return ""
}

// choiceError is a choice of attempts that a run does not have.
type choiceError struct{ field, value, want string }

// distil takes the attempts that are chosen out of the rows.
func (r *run) distil(chosen selection) (*dependency.Recording, *choiceError) {
	d := distiller{
		target: int32(slices.Index(r.targets, chosen.target)), phase: -1, counts: map[dependency.Recorded]int64{}, phases: map[int]bool{},
		from: dependency.Origin{Study: r.study.Name, Started: r.started, Invalid: r.invalid, Target: chosen.target, Phase: chosen.phase, Composition: chosen.composition},
	}
	if d.target < 0 {
		return nil, &choiceError{"from", chosen.target, "that run called no such thing: " + suggest(chosen.target, r.targets)}
	}
	_, d.from.Simulated = r.study.base(chosen.target)
	for i := range r.study.Phases {
		start, _ := r.study.Span(i)
		d.starts = append(d.starts, start)
	}
	names := r.study.phaseNames()
	if chosen.phase != "" {
		if d.phase = slices.Index(names, chosen.phase); d.phase < 0 {
			return nil, &choiceError{"phase", chosen.phase, "that run had no such phase: " + suggest(chosen.phase, names)}
		}
	}
	broken := func(err error) *choiceError { return &choiceError{"", "", err.Error()} }
	rows, err := parquet.Read(r.folder, r.targets)
	if err != nil {
		return nil, broken(err)
	}
	defer rows.Close()
	var compositions []string // without the seeds of repeats behind them
	met := map[string]bool{}
	for _, key := range rows.Compositions() {
		name, _, _ := strings.Cut(key, "@")
		if !slices.Contains(compositions, name) {
			compositions = append(compositions, name)
		}
		if chosen.composition != "" && name != chosen.composition {
			continue
		}
		before := d.from.Calls
		if err := rows.Feed(key, &d); err != nil {
			return nil, broken(err)
		}
		if d.from.Calls > before {
			met[name] = true
		}
	}
	if chosen.composition != "" && !slices.Contains(compositions, chosen.composition) {
		return nil, &choiceError{"composition", chosen.composition, "that run had no such composition: " + suggest(chosen.composition, compositions)}
	}
	d.from.Phases, d.from.Compositions = len(d.phases), len(met)
	switch where := chosen.words(); {
	case d.fault != "":
		return nil, broken(errors.New(d.fault))
	case d.from.Calls == 0:
		return nil, &choiceError{"", "", "has no attempt at " + where + ": there is nothing to replay"}
	case d.from.Calls == d.from.LeftOut:
		return nil, &choiceError{"", "", fmt.Sprintf("has %d attempts at %s, all of which failed on the machine that made them (cause harness): there is nothing to replay", d.from.Calls, where)}
	}
	if d.from.SHA256, err = sumOf(filepath.Join(r.folder, parquet.AttemptsFile)); err != nil {
		return nil, broken(err)
	}
	d.from.Cost = float64(d.cost) / costUnit
	return dependency.NewRecording(d.from, d.attempts()), nil
}

func (c selection) words() string {
	words := c.target
	if c.phase != "" {
		words += " in phase " + c.phase
	}
	if c.composition != "" {
		words += " by composition " + c.composition
	}
	return words
}

// sumOf returns the SHA-256 of a file.
func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// mostLines is how many attempts that differ a recording holds. Of more it is a
// sample of that size, which is a few megabytes.
var mostLines = 100_000

// costUnit is what costs are added up in, so that the order of rows cannot
// change a digit.
const costUnit = 1e9

// distiller takes the attempts at one target out of the rows of a run.
type distiller struct {
	target int32
	phase  int             // only this one; -1 for all
	starts []time.Duration // of the phases
	phases map[int]bool    // met
	from   dependency.Origin
	cost   int64  // in costUnit
	fault  string // why a row cannot be taken

	counts map[dependency.Recorded]int64 // nil once there are too many
	sample []ticket
}

// ticket is an attempt and the number that decides whether it is in the sample.
type ticket struct {
	number  uint64
	attempt dependency.Recorded
}

// Request implements [record.Sink].
func (d *distiller) Request(*record.Request) {}

// Event implements [record.Sink].
func (d *distiller) Event(*record.Event) {}

// Attempt implements [record.Sink].
func (d *distiller) Attempt(a *record.Attempt) {
	if a.Dependency != d.target {
		return
	}
	phase := 0
	for phase+1 < len(d.starts) && a.Start >= d.starts[phase+1] {
		phase++
	}
	if d.phase >= 0 && phase != d.phase {
		return
	}
	d.phases[phase] = true
	d.from.Calls++
	if !(a.Cost >= 0 && a.Cost <= mostCost) || a.End < a.Start {
		d.fault = fmt.Sprintf("attempt %d of request %d costs %v and took %v: no run makes such a row", a.Index, a.Request, a.Cost, a.End-a.Start)
		return
	}
	d.cost += int64(a.Cost*costUnit + 0.5)
	was := dependency.Recorded{After: a.End - a.Start, FirstToken: record.Never, Tokens: -1, Cost: a.Cost}
	switch {
	case a.Cancelled:
		d.from.Cut++
		was.Cut = true
	case a.Cause == record.None:
		d.from.Completed++
		was.Status, was.Tokens = a.Status, a.Tokens
		if a.FirstToken >= a.Start && a.FirstToken <= a.End {
			was.FirstToken = a.FirstToken - a.Start
		}
	case slices.Contains(replayable, a.Cause):
		was.Cause, was.Status = a.Cause, a.Status
	default:
		d.from.LeftOut++
		return
	}
	d.add(was)
}

// add counts an attempt, and gives it its chance in the sample.
func (d *distiller) add(was dependency.Recorded) {
	if d.counts != nil {
		if d.counts[was]++; len(d.counts) > mostLines {
			d.counts = nil
		}
	}
	number := uint64(chance.New(0).Draw(chance.Replay, d.from.Calls, 0, 0))
	if d.sample = append(d.sample, ticket{number, was}); len(d.sample) == 2*mostLines {
		d.thin()
	}
}

// thin keeps the tickets with the least numbers.
func (d *distiller) thin() {
	slices.SortFunc(d.sample, func(a, b ticket) int { return cmp.Compare(a.number, b.number) })
	d.sample = d.sample[:min(len(d.sample), mostLines)]
}

// attempts returns what is kept.
func (d *distiller) attempts() (list []dependency.Recorded) {
	if d.counts != nil {
		for was, n := range d.counts {
			was.Times = n
			list = append(list, was)
		}
		return list
	}
	d.thin()
	for _, t := range d.sample {
		t.attempt.Times = 1
		list = append(list, t.attempt)
	}
	return list
}
