package brunttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/lab"
	"brunt/record"
	"brunt/report"
	"brunt/study"
)

// TB is what a run needs of a test. [testing.TB] is one.
type TB interface {
	Helper()
	Name() string
	Log(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Client makes one request of the study, on a goroutine of its own: nil is an
// answer, whatever it took. Its context carries the request, and ends at the
// study's horizon.
type Client func(ctx context.Context) error

// New makes a client that calls a dependency of the study. It is called in the
// bubble, before the first request, for each repeat and each caller anew. With
// several dependencies it is given the study's first; see [Dependency.Named].
type New func(Dependency) Client

// Clients are several clients, by the names of their compositions.
type Clients map[string]New

// Name is the composition that a client stands as, when there is one.
const Name = "client"

// repeats is how often a study runs that does not say so itself.
const repeats = 5

// where takes the results of all runs, in a folder for each. It is the one flag of
// this package, and like those of package testing it must be there before a test
// binary reads its command line.
var where = flag.String("brunt.out", "", "write the results of each brunttest.Run to a folder in `DIR`")

// Option changes a run.
type Option func(*run)

// Set overrides values of the study, as brunt run --set does: load.rate=250/s.
func Set(settings ...string) Option {
	return func(r *run) { r.sets = append(r.sets, settings...) }
}

// Out writes the results to a folder in dir, as -brunt.out does.
func Out(dir string) Option { return func(r *run) { r.out = dir } }

// Patience is how long by the wall clock the virtual time may stand still before
// the test is ended: 10 s unless this says otherwise.
func Patience(d time.Duration) Option { return func(r *run) { r.patience = d } }

// Causes says why a request failed, by the error that its client returned; false
// leaves it to brunttest. See [Cause].
func Causes(cause func(error) (Cause, bool)) Option { return func(r *run) { r.cause = cause } }

// Run runs a study around one client, and fails the test for each expectation
// that does not hold. The source is a file, the name of a built-in study, or the
// study itself (any text with a line break). The client is the composition
// "client": the study's own, an empty list, or one that is added. The report goes
// to the test's log.
//
// A study that does not load, and a client that panics, never returns or leaves
// goroutines behind, end the test at once.
func Run(t TB, source string, client New, options ...Option) *lab.Result {
	t.Helper()
	return RunAll(t, source, Clients{Name: client}, options...)
}

// RunAll runs a study around several clients, each a composition of its own, in
// the order of their names, with fresh dependencies.
func RunAll(t TB, source string, clients Clients, options ...Option) *lab.Result {
	t.Helper()
	r := run{name: t.Name(), clients: clients, out: *where, patience: patience}
	for _, option := range options {
		option(&r)
	}
	result, env, err := r.do(source)
	if err != nil {
		t.Fatalf("brunttest: %v", err)
		return nil
	}
	var text bytes.Buffer
	if err := report.Text(&text, result, env, report.TextOptions{Width: 100, Folder: r.folder}); err != nil {
		t.Fatalf("brunttest: print the report: %v", err)
	}
	t.Log("\n" + text.String())
	if !result.Valid {
		t.Fatalf("brunttest: the run is not valid: the report above says why")
	}
	for _, v := range result.Expectations {
		if !v.Passed {
			t.Errorf("brunttest: %s", broken(&v))
		}
	}
	return result
}

// run is one call of [RunAll].
type run struct {
	name     string
	clients  Clients
	sets     []string
	out      string
	folder   string // where the results went; "" for nowhere
	patience time.Duration
	cause    func(error) (Cause, bool)
}

func (r *run) do(source string) (*lab.Result, *lab.Environment, error) {
	s, err := r.read(source)
	if err != nil {
		return nil, nil, err
	}
	o := lab.Options{Instrument: lab.ThisInstrument(), Command: []string{"go", "test", "-run", r.name}, Guests: map[string]*lab.Guest{}}
	for name, client := range r.clients {
		o.Guests[name] = r.guest(client)
	}
	if r.out != "" {
		if o.Folder, err = freshFolder(r.out, r.name); err != nil {
			return nil, nil, err
		}
		defer o.Folder.Close()
		r.folder, o.Rows = o.Folder.Path(), true
		if err := o.Folder.WriteStudy(s); err != nil {
			return nil, nil, err
		}
	}
	result, env, err := lab.Run(context.Background(), s, o)
	if err == nil && o.Folder != nil {
		if err = o.Folder.WriteEnvironment(env); err == nil {
			err = report.WriteFolder(o.Folder, result, env)
		}
	}
	return result, env, err
}

// read reads the study, with the clients among its compositions.
func (r *run) read(source string) (*study.Study, error) {
	o := study.Options{Sets: r.sets, Measure: lab.CheckName, Guests: slices.Sorted(maps.Keys(r.clients))}
	text := ""
	if strings.ContainsRune(source, '\n') {
		o.Folder, source, text = ".", "-", flush(source)
	}
	read := func(o study.Options) (*study.Study, error) {
		o.Stdin = strings.NewReader(text)
		s, err := study.Read(source, o)
		var faults study.Errors
		if errors.As(err, &faults) {
			for i := range faults {
				if faults[i].File == "stdin" {
					faults[i].File = "the study of " + r.name
				}
			}
		}
		return s, err
	}
	s, err := read(o)
	if err == nil && s.Repeat == 1 && !slices.ContainsFunc(r.sets, func(set string) bool { return strings.HasPrefix(set, "repeat") }) {
		o.Sets = append(slices.Clip(r.sets), "repeat="+strconv.Itoa(repeats))
		s, err = read(o)
	}
	if err == nil && s.CallsReal() {
		err = errors.New("the study calls real targets: expected simulated dependencies")
	}
	if err != nil {
		return nil, fmt.Errorf("read the study: %w", err)
	}
	return s, nil
}

// flush moves a text to the left by the indentation that all of its lines share:
// that of the Go code around it, often of tabs, which YAML does not take.
func flush(text string) string {
	shared, any := "", false
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(rest) == "" {
			continue
		}
		indent := line[:len(line)-len(rest)]
		if !any {
			shared, any = indent, true
		}
		for !strings.HasPrefix(indent, shared) {
			shared = shared[:len(shared)-1]
		}
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			line = "\n"
		}
		b.WriteString(strings.TrimPrefix(line, shared))
	}
	return b.String()
}

// guest is a client as lab takes it.
func (r *run) guest(client New) *lab.Guest {
	b := &bubble{patience: r.patience}
	return &lab.Guest{
		Enter: b.enter,
		New: func(d *lab.Door) (func(context.Context) error, error) {
			return client(Dependency{door: d, bubble: b, names: d.Dependencies()}), nil
		},
		Cause: func(err error) record.Cause {
			if r.cause != nil {
				if c, ok := r.cause(err); ok && c != record.None {
					return c
				}
			}
			return causeOf(err)
		},
		Leave: b.clean,
	}
}

// freshFolder makes a folder named after a test that no other run has used.
func freshFolder(dir, name string) (*lab.Folder, error) {
	base := filepath.Join(dir, strings.Map(func(c rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, c) {
			return '-'
		}
		return c
	}, name))
	path := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) || n > 1000 {
			return lab.NewFolder(path)
		}
		path = base + "-" + strconv.Itoa(n)
	}
}

// broken says what became of an expectation that did not hold.
func broken(v *lab.Verdict) string {
	where := "the whole run"
	if v.Phase != "whole" {
		where = "phase " + v.Phase
	}
	text := fmt.Sprintf("%s, %s: %s ", v.Composition, where, v.Measure)
	expected := ", expected " + strings.ReplaceAll(v.Relation, "_", " ") + " " + v.Limit
	if v.Value == nil {
		return text + "cannot be judged: " + cmp.Or(v.Reason, "it was refused") + expected
	}
	text += "is " + strings.TrimSpace(strconv.FormatFloat(*v.Value, 'g', 5, 64)+" "+v.Unit) + expected
	if v.FailedRepeats != nil {
		text += fmt.Sprintf(" (the worst of %d repeats; %d of them failed)", v.Repeats, *v.FailedRepeats)
	}
	return text
}
