package libraries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/brunttest"
	"brunt/lab"
	"brunt/study"
)

// New makes the client of a composition that ends in {go: NAME}. Its error lists
// every setting that the library cannot express.
func New(s *study.Study, composition string) (*lab.Guest, error) {
	p, err := newPlan(s, composition)
	if err != nil {
		return nil, err
	}
	return brunttest.NewGuest(p.client, brunttest.Causes(causeOf)), nil
}

// Notes returns in what a composition's client differs from what the study says,
// one sentence each. Its error is that of [New].
func Notes(s *study.Study, composition string) ([]string, error) {
	p, err := newPlan(s, composition)
	if err != nil {
		return nil, err
	}
	return p.notes, nil
}

// Names returns the names that {go: NAME} knows.
func Names() []string {
	var names []string
	for _, l := range known {
		names = append(names, l.name)
	}
	return names
}

// Version returns what a name stands for, with versions: "sony/gobreaker 2.4.0 +
// cenkalti/backoff 5.0.3". An unknown name is returned as it is.
func Version(name string) string {
	list, _, err := parse(name)
	if err != nil {
		return name
	}
	var all []string
	for _, l := range list {
		all = append(all, l.module+" "+l.version)
	}
	return strings.Join(all, " + ")
}

// Defaults reports whether a name leaves the meaning of errors to the library.
func Defaults(name string) bool { return strings.HasSuffix(name, " "+defaults) }

// call is one call of what lies inside of a stage.
type call func(context.Context) error

// library is one of the libraries.
type library struct {
	name, module, version string
	kinds                 []string // of the stages that it has
	// judge says what it cannot express of a stage, and what it has otherwise.
	judge func(*study.Stage, *remarks)
	// wrap builds neighbouring stages, the outermost first, around a call. With
	// told it says what errors mean, else it leaves that to the library. dep is nil
	// where what lies inside is another stage.
	wrap func(stages []study.Stage, told bool, in call, dep *brunttest.Dependency) call
}

// known are the libraries, in the order in which they are tried where several are
// named alike.
var known = []*library{&failsafeGo, &goBreaker, &backOff, &retryableHTTP, &goResiliency}

// defaults is the word that leaves errors as the library has them.
const defaults = "defaults"

// parse reads what stands behind go: names joined by +, and perhaps defaults.
func parse(name string) (list []*library, told bool, err error) {
	names, told := strings.TrimSpace(name), true
	if rest, ok := strings.CutSuffix(names, " "+defaults); ok {
		names, told = strings.TrimSpace(rest), false
	}
	for part := range strings.SplitSeq(names, "+") {
		part = strings.TrimSpace(part)
		i := slices.IndexFunc(known, func(l *library) bool { return l.name == part })
		if i < 0 {
			return nil, false, fmt.Errorf("there is no library %q here: expected one of %s, several joined by +, and perhaps the word %s behind them",
				part, strings.Join(Names(), ", "), defaults)
		}
		list = append(list, known[i])
	}
	return list, told, nil
}

// part are neighbouring stages that one library builds.
type part struct {
	library *library
	stages  []study.Stage
}

// plan is how a composition is built.
type plan struct {
	told  bool
	parts []part // the outermost first
	notes []string
}

func newPlan(s *study.Study, composition string) (*plan, error) {
	stack, _ := s.Compositions.Get(composition)
	list, told, err := parse(s.Library(composition))
	if err != nil {
		return nil, err
	}
	p := &plan{told: told}
	var r remarks
	stages := stack[:max(len(stack)-1, 0)]
	for i := range stages {
		kind := stages[i].Kind()
		r.at = fmt.Sprintf("stage %d (%s)", i+1, kind)
		if stages[i].Shared {
			r.refuse("callers have a %s each here: expected no shared", kind)
		}
		at := slices.IndexFunc(list, func(l *library) bool { return slices.Contains(l.kinds, kind) })
		if at < 0 {
			r.refuse("%s has no %s: expected %s", strings.TrimSuffix(s.Library(composition), " "+defaults), kind, kindsOf(list))
			continue
		}
		l := list[at]
		r.library, r.told = l, told
		l.judge(&stages[i], &r)
		if n := len(p.parts); n > 0 && p.parts[n-1].library == l {
			p.parts[n-1].stages = append(p.parts[n-1].stages, stages[i])
		} else {
			p.parts = append(p.parts, part{l, stages[i : i+1 : i+1]})
		}
	}
	p.notes = r.notes
	return p, errors.Join(r.refusals...)
}

// kindsOf lists the stages that libraries have.
func kindsOf(list []*library) string {
	var kinds []string
	for _, l := range list {
		for _, k := range l.kinds {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	return strings.Join(kinds, ", ")
}

// client builds the stack, from the inside out.
func (p *plan) client(dep brunttest.Dependency) brunttest.Client {
	in, innermost := call(dep.Do), &dep
	for _, part := range slices.Backward(p.parts) {
		in = part.library.wrap(part.stages, p.told, in, innermost)
		innermost = nil
	}
	return brunttest.Client(in)
}

// remarks gathers what is said of a composition's stages.
type remarks struct {
	at       string // the stage
	library  *library
	told     bool
	refusals []error
	notes    []string
}

// refuse says that a setting cannot be expressed, and what was expected.
func (r *remarks) refuse(format string, args ...any) {
	r.refusals = append(r.refusals, fmt.Errorf(r.at+": "+format, args...))
}

// note says what is different from the study.
func (r *remarks) note(format string, args ...any) {
	r.notes = append(r.notes, r.at+": "+r.library.name+" "+fmt.Sprintf(format, args...))
}
