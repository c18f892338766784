package serve

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"brunt/study"
)

// refusal says why a study is not run here, though `brunt run` would.
type refusal string

func (r refusal) Error() string { return string(r) }

// fileSettings are settings that name a file, wherever they stand and however
// they are written: as keys of a mapping in block or flow style, quoted or not.
var fileSettings = regexp.MustCompile(`(?:^|[\s{,?'"])(trace|file|files|replay|front_log)['"]?\s*:`)

// remarks are lines that say nothing but to people.
var remarks = regexp.MustCompile(`(?m)^[ \t]*#.*$`)

// protocolFile is a protocol of a file: it is a path.
var protocolFile = regexp.MustCompile(`(?:^|[\s{,?'"])protocol['"]?\s*:\s*['"]?[^\s'"#]*(?:/|\.ya?ml|\.json)`)

// namesFiles says which setting of a study seems to name a file, before the study is
// read: reading it would read that file. "" for none. What can be hidden from
// it is found by [unfit] before it is run.
func namesFiles(text []byte) string {
	text = remarks.ReplaceAll(text, nil)
	if m := fileSettings.FindSubmatch(text); m != nil {
		return fmt.Sprintf("It seems to read a file (%s), and here nothing is read but the study. brunt run takes it.", m[1])
	}
	if protocolFile.Match(text) {
		return "It seems to read a file (protocol), and here nothing is read but the study. brunt run takes it."
	}
	return ""
}

// harmless are the settings of a study that only ever move numbers of a
// simulation. A setting that this package does not know is not among them.
var harmless = []string{
	"study", "question", "clock", "seed", "repeat", "protocol", "load", "horizon", "dependencies", "services", "callers", "phases",
	"compositions", "slo", "fault", "recovery", "herd", "ties", "gates", "tables", "expect", "compare", "notes",
}

// behaviours are those of a simulated dependency.
var behaviours = []string{
	"latency", "fail", "fail_after", "hang", "refuse", "cancel_cleanup", "cost", "first_token", "token_gap", "tokens", "slowdown", "retry_after",
	"workers", "queue", "discipline", "codel", "on_cancel", "deadline", "paused", "replicas", "balancer", "replica", "wire",
}

// stages are the policies and endings of a stack that are simulated.
var stages = []string{"retry", "timeout", "breaker", "limit", "rate", "hedge", "throttle", "adaptive", "shared", "fallback", "call"}

// unfit says why a study is not run for a browser: it would do something outside
// of a simulation. "" for nothing.
func unfit(s *study.Study) string {
	switch {
	case s.Clock != study.Virtual:
		return "It runs on the real clock, and takes as long as it says. Here only the virtual clock runs: brunt run takes it."
	case s.CallsReal() || s.Testbed != nil || s.Calibrated():
		return "It calls something real. Here only simulated dependencies are called: brunt run takes it."
	case s.Fault != nil && s.Fault.Injected() != nil:
		return "It does something to a real process or network. Here faults are simulated: brunt run takes it."
	case s.HasGuests():
		return "It has a client of its own (guest), which only a Go test has: brunttest.Run takes it."
	case slices.ContainsFunc(s.Compositions.Names(), func(name string) bool { return s.External(name) != nil }):
		return "It calls a service of your own (external). Here only simulated dependencies are called: brunt run takes it."
	case len(s.Files()) > 0:
		return "It reads files, and here nothing is read but the study. brunt run takes it."
	}
	config, err := parseConfig(s.Config())
	if err != nil {
		return err.Error()
	}
	if odd := config.odd(); odd != "" {
		return fmt.Sprintf("It has the setting %q, of which this page does not know whether it leaves the simulation. brunt run takes it.", odd)
	}
	return ""
}

// odd returns the first setting of a study that is not known to be harmless, or
// "".
func (v *value) odd() (name string) {
	name = v.other(harmless)
	behaviour := func(b *value, also ...string) { name = cmp.Or(name, b.other(slices.Concat(behaviours, also))) }
	for _, d := range v.get("dependencies").fields {
		behaviour(d.value)
	}
	for _, service := range v.get("services").fields {
		behaviour(service.value, "stack")
		name = cmp.Or(name, service.get("stack").oddStage())
	}
	for _, phase := range v.get("phases").list {
		for _, d := range phase.get("dependencies").fields {
			behaviour(d.value)
		}
	}
	for _, stack := range v.get("compositions").fields {
		name = cmp.Or(name, stack.oddStage())
	}
	return name
}

// oddStage is odd for a stack.
func (v *value) oddStage() (name string) {
	for _, stage := range v.list {
		name = cmp.Or(name, stage.other(stages))
		for _, branch := range stage.get("fallback").get("to").list {
			name = cmp.Or(name, branch.oddStage())
		}
	}
	return name
}

// other returns the first field that is not among the known ones, or "".
func (v *value) other(known []string) string {
	for _, f := range v.fields {
		if !slices.Contains(known, f.name) {
			return f.name
		}
	}
	return ""
}
