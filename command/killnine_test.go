package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/fault"
)

// briefStudy does something for a second to a replica: one of its own, or one
// that stands elsewhere.
const briefStudy = `
study: brief
question: Is anything left of it?
clock: real
load: {rate: 20/s}
horizon: 300ms
target: {kind: http, url: "TARGET"}
phases: [{name: baseline, for: 800ms}, {name: fault, for: 2s}]
compositions: {plain: [{call: target}]}
fault: {phase: fault, bucket: 200ms, FAULT}
recovery: {detector: {window: 200ms, hold: 400ms}}
`

const briefTestbed = `
testbed:
  replicas: 2
  behaviour: {latency: 20ms}
  health: {interval: 100ms, timeout: 100ms, fall: 2, rise: 2}
`

// lasts is how long the fault of a brief study lasts.
const lasts = time.Second

// attacks are the faults of brief studies.
var attacks = []struct {
	name, fault string
	testbed     bool // the victim is the study's own
	hole        bool
}{
	{"kill", "inject: {kind: kill, for: 1s}", true, false},
	{"mode", "inject: {kind: mode, mode: hang, for: 1s}", true, false},
	{"freeze", "inject: {kind: freeze, for: 1s}, victim: {name: b, address: \"ADDRESS\", pid: PID}", false, false},
	{"black hole", "black_hole: 1s, partition_heals: true, victim: {name: b, address: \"ADDRESS\"}", false, true},
}

// stages are the moments at which brunt is killed.
var stages = []string{"starting", "armed", "fired", "healing"}

// TestKilled: brunt is killed at a moment of each stage of a fault. Whatever it
// had begun is over, nothing is left, and undo has nothing to complain of.
func TestKilled(t *testing.T) {
	var all []*killing
	for _, attack := range []int{0, 2, 3} {
		for stage := range stages[1:] {
			all = append(all, newKilling(t, attack, stage+1, 0.3, false))
		}
	}
	bare := newKilling(t, 0, 2, 0.5, false)
	bare.name, bare.args = bare.name+", without a folder", []string{"run", "study.yaml", "--json"}
	all = append(all, bare)
	all = append(all, newKilling(t, 2, 2, 0.1, true), newKilling(t, 3, 2, 0.1, true)) // nobody but undo is left to help
	sinkAll(t, all)
}

// TestKilledAtRandom kills brunt at 20 instants of each stage of each fault. It
// takes minutes.
func TestKilledAtRandom(t *testing.T) {
	if !long() {
		t.Skip("takes minutes: BRUNT_LONG=1 has it run")
	}
	for i := range 20 {
		_, when := math.Modf(float64(i) * math.Phi) // spread evenly, in no order
		var all []*killing
		for attack := range attacks {
			for stage := range stages {
				all = append(all, newKilling(t, attack, stage, when, false))
			}
		}
		for few := range slices.Chunk(all, 4) {
			sinkAll(t, few)
		}
	}
	t.Logf("%d killings", 20*len(attacks)*len(stages))
}

// killing is one run that is killed.
type killing struct {
	name   string
	attack int
	stage  string
	when   float64 // within the stage, from 0 to 1
	alone  bool    // the reaper is killed with it
	args   []string
	siege  *siege
	victim *bystander // where it is not the study's own
	skip   string
}

func newKilling(t *testing.T, attack, stage int, when float64, alone bool) *killing {
	t.Helper()
	a := attacks[attack]
	k := &killing{name: a.name + ", " + stages[stage], attack: attack, stage: stages[stage], when: when, alone: alone, args: []string{"run", "study.yaml", "--out", "out"}}
	if alone {
		k.name += ", with its reaper"
	}
	if err := fault.CanBlackHole(); a.hole && err != nil {
		k.skip = "no black hole can be made here: " + err.Error()
		return k
	}
	k.siege = besiege(t)
	text := at(briefStudy, "FAULT", a.fault)
	if a.testbed {
		text = at(text, ", url: \"TARGET\"", "") + briefTestbed
	} else {
		k.victim = standBy(t)
		text = at(text, "TARGET", "http://"+k.victim.Listen, "ADDRESS", k.victim.Listen, "PID", k.victim.PID)
	}
	k.siege.file(t, "study.yaml", text)
	return k
}

// sinkAll runs and kills them side by side, and judges each by itself.
func sinkAll(t *testing.T, all []*killing) {
	t.Helper()
	wrong := make([]chan string, len(all))
	for i, k := range all {
		if k.skip != "" {
			continue
		}
		wrong[i] = make(chan string, 1)
		p := k.siege.start(t, nil, k.args...)
		go func() { wrong[i] <- k.sink(p) }()
	}
	for i, k := range all {
		t.Run(k.name, func(t *testing.T) {
			if k.skip != "" {
				t.Skip(k.skip)
			}
			text := <-wrong[i]
			for range 3 {
				if !strings.Contains(text, tooBusy) {
					break
				}
				text = k.sink(k.siege.start(t, nil, k.args...))
			}
			if text != "" {
				t.Fatal(text)
			}
			k.judge(t)
		})
	}
}

// sink kills the run within its stage, and says what kept it from that.
func (k *killing) sink(p *attacker) (wrong string) {
	var owner int
	var deadline time.Time // of the fault
	reached := func() bool {
		all := k.siege.journals()
		if len(all) != 1 || all[0].Owner.PID == 0 {
			return false
		}
		owner = all[0].Owner.PID
		armed := len(all[0].Faults) == 1
		switch {
		case k.stage == "starting":
			return true
		case k.stage == "armed" && armed:
			return true
		case armed && all[0].Faults[0].Deadline != nil:
			deadline = *all[0].Faults[0].Deadline
			return true
		}
		return false
	}
	late := time.After(30 * time.Second)
	for !reached() {
		select {
		case <-p.ended:
			return fmt.Sprintf("the run has ended before it was %s: %s", k.stage, p.stderr.String())
		case <-late:
			return "the run has not been " + k.stage
		case <-time.After(2 * time.Millisecond):
		}
	}
	wait := time.Duration(k.when * float64(400*time.Millisecond))
	switch k.stage {
	case "fired":
		wait = time.Duration(k.when * float64(time.Until(deadline)))
	case "healing":
		wait = time.Until(deadline) + time.Duration(k.when*float64(600*time.Millisecond))
	}
	<-time.After(wait)
	victims := []int{owner}
	if k.alone {
		for pid, line := range k.siege.processes() {
			if strings.Contains(line, " reap ") {
				victims = append(victims, pid)
			}
		}
		if len(victims) != 2 {
			return "there is no reaper"
		}
	}
	for _, pid := range victims {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Sprintf("kill process %d: %v", pid, err)
		}
	}
	<-p.ended
	return ""
}

// judge looks at what is left.
func (k *killing) judge(t *testing.T) {
	t.Helper()
	s := k.siege
	// A reaper may have come too late to be one when brunt is killed while it starts.
	reaped := !k.alone && k.stage != "starting"
	if reaped {
		if !eventually(t, lasts+10*time.Second, func() bool { return len(s.processes()) == 0 && len(s.journals()) == 0 }) {
			t.Errorf("after the reaper: %v, %v", s.processes(), s.journals())
		}
		k.victim.isWell(t)
	} else if !eventually(t, lasts+10*time.Second, func() bool { return len(s.processes()) == 0 }) {
		t.Errorf("there still are %v", s.processes())
	}
	undo := s.start(t, nil, "undo")
	undo.expect(statusOK)
	const nothing, cleaned = "nothing is left\n", "nothing is left of it\n"
	if out := undo.stdout.String(); reaped && out != nothing || k.alone && !strings.HasSuffix(out, cleaned) || out != nothing && !strings.HasSuffix(out, cleaned) {
		t.Errorf("undo says %q", out)
	}
	k.victim.isWell(t)
	again := s.start(t, nil, "undo")
	again.expect(statusOK)
	if out := again.stdout.String(); out != nothing {
		t.Errorf("undo says %q, once more", out)
	}
	s.nothingLeft(t)
	// What it had written by then is kept, and is no result.
	if _, err := os.Stat(filepath.Join(s.folder, "out/result.json")); err == nil {
		t.Error("there is a result")
	}
}

// tooBusy is what arming says when the machine keeps a victim from answering.
const tooBusy = "the victim is not well before it"

// TestStopped: a run that is told to stop while its fault is on undoes it and
// leaves nothing, also when it is told twice.
func TestStopped(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals int
		attack  int
	}{
		{"once, with a frozen stranger", 1, 2},
		{"twice, with a frozen stranger", 2, 2},
		{"once, with a testbed", 1, 1},
		{"twice, with a testbed", 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKilling(t, c.attack, 2, 0, false)
			fired := func() bool {
				all := k.siege.journals()
				return len(all) == 1 && len(all[0].Faults) == 1 && all[0].Faults[0].Deadline != nil
			}
			var p *attacker
			for range 3 {
				p = k.siege.start(t, nil, "run", "study.yaml", "--out", "out")
				if eventually(t, 30*time.Second, func() bool { return fired() || p.over() }) && !p.over() {
					break
				}
				if !strings.Contains(p.stderr.String(), tooBusy) {
					t.Fatal(p.stderr.String())
				}
			}
			for range c.signals {
				if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
				<-time.After(30 * time.Millisecond)
			}
			if c.signals == 1 {
				p.expect(statusSignal + int(syscall.SIGTERM))
			} else if p.status(); p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
				t.Errorf("it ended by %v: expected the second signal", p.cmd.ProcessState)
			}
			k.siege.nothingLeft(t)
			k.victim.isWell(t)
			if c.signals == 1 {
				if r := k.siege.result(t, "out"); !r.Aborted {
					t.Error("the result does not say that it was aborted")
				}
			}
		})
	}
}

// TestFrontFalls: a testbed's own process that ends in the middle of a run, and
// was not to, fails the run. The rows are kept.
func TestFrontFalls(t *testing.T) {
	t.Parallel()
	k := newKilling(t, 1, 2, 0, false)
	p := k.siege.start(t, nil, "run", "study.yaml", "--out", "out")
	if !eventually(t, 30*time.Second, func() bool { all := k.siege.journals(); return len(all) == 1 && len(all[0].Faults) == 1 }) {
		t.Fatal(p.stderr.String())
	}
	for pid, line := range k.siege.processes() {
		if strings.Contains(line, " front ") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.expect(statusFailed)
	if text := p.stderr.String(); !strings.Contains(text, "front of the testbed ended in the middle of the run") {
		t.Errorf("it says %q", text)
	}
	k.siege.nothingLeft(t)
	report := k.siege.start(t, nil, "report", "out")
	report.expect(statusInvalid)
}

// bystander is a replica of the test's own, outside of any siege.
type bystander struct {
	Listen string
	PID    int
}

func standBy(t *testing.T) *bystander {
	t.Helper()
	b := &bystander{}
	cmd := bruntCommand(t, "replica", "--behaviour", "{latency: 20ms}", "--grace", "0s")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, b)
	}
	if err != nil {
		t.Fatalf("the bystander says %q: %v", line, err)
	}
	return b
}

// isWell looks at a victim whose fault is to be over: it goes on, and answers.
func (b *bystander) isWell(t *testing.T) {
	t.Helper()
	if b == nil {
		return
	}
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	said := ""
	if !eventually(t, 10*time.Second, func() bool {
		answer, err := client.Get("http://" + b.Listen + "/health")
		if err != nil {
			said = err.Error()
			return false
		}
		answer.Body.Close()
		said = answer.Status
		return answer.StatusCode == http.StatusOK
	}) {
		t.Errorf("the victim is not well: %s", said)
	}
}
