//go:build linux

package fault

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/record"
)

// sane checks the order of a record's instants, and that probes were dense.
func sane(t *testing.T, r Record, lasts time.Duration) {
	t.Helper()
	if !(0 <= r.Armed && r.Armed <= r.Fired && r.Fired <= r.Effect && r.Effect < r.Expired && r.Expired <= r.Heal) {
		t.Errorf("out of order: %+v", r)
	}
	if d := r.Expired - r.Fired; d < lasts || d > lasts+time.Second {
		t.Errorf("it lasted %v, want %v", d, lasts)
	}
	if d := r.Effect - r.Fired; d > time.Second {
		t.Errorf("the effect was seen %v after the fire", d)
	}
	if d := r.Heal - r.Expired; d > 2*time.Second {
		t.Errorf("the heal was seen %v after the expiry", d)
	}
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	g := newGuard(t)
	f := newFault(t, g, Config{Kind: Freeze, For: 500 * time.Millisecond}, v)
	if err := f.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if j := onDisk(t, g); len(j.Faults) != 1 || j.Faults[0].Process.PID != v.PID || j.Faults[0].Deadline != nil {
		t.Errorf("the journal before the fire: %+v", j)
	}
	inFlight := late(t, v, 100*time.Millisecond)
	if err := f.Fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the journal has the deadline", func() bool { j := onDisk(t, g); return len(j.Faults) == 1 && j.Faults[0].Deadline != nil })
	r := waited(t, f)
	sane(t, r, 500*time.Millisecond)
	if !strings.HasPrefix(r.EffectDetail, "no answer") || r.HealDetail != "status 200" || !r.Undone || r.Problem != "" {
		t.Errorf("the record: %+v", r)
	}
	inFlight.done.Wait()
	if inFlight.err != nil || inFlight.body != "late" || inFlight.took < 500*time.Millisecond {
		t.Errorf("the request in flight had %q, %v after %v: expected its answer, after the thaw", inFlight.body, inFlight.err, inFlight.took)
	}
	if j := onDisk(t, g); len(j.Faults) != 0 {
		t.Errorf("the journal after the end: %+v", j.Faults)
	}
}

func TestFreezeUndoneEarly(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	f := newFault(t, newGuard(t), Config{Kind: Freeze, For: time.Hour}, v)
	armAndFire(t, f)
	eventually(t, "the effect is seen", func() bool { return f.Record().Effect != record.Never })
	for range 2 { // again, nothing happens
		if err := f.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if r := waited(t, f); r.Expired == record.Never || r.Heal < r.Expired || r.Expired > 5*time.Second {
		t.Errorf("the record: %+v", r)
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	c, v := startVictim(t)
	f := newFault(t, newGuard(t), Config{Kind: Kill}, v)
	if err := f.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	inFlight := late(t, v, time.Hour)
	if err := f.Fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	inFlight.done.Wait()
	if !errors.Is(inFlight.err, syscall.ECONNRESET) && inFlight.err == nil {
		t.Errorf("the request in flight had %q, %v: expected an end", inFlight.body, inFlight.err)
	}
	r := waited(t, f)
	if r.Effect < r.Fired || r.Heal != record.Never || r.Expired != record.Never {
		t.Errorf("the record: %+v", r)
	}
	c.Wait()
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("the victim ended with %v", status)
	}
	if s := askHealth(t.Context(), v.Addr, "/health"); s.well || s.said != "connection refused" {
		t.Errorf("a later probe: %+v", s)
	}
}

// One that is started again at its address heals.
func TestKillAndRestart(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	f := newFault(t, newGuard(t), Config{Kind: Kill, For: 100 * time.Millisecond}, v)
	armAndFire(t, f)
	eventually(t, "the effect is seen", func() bool { return f.Record().Effect != record.Never })
	again := httptest.NewUnstartedServer(http.NotFoundHandler())
	again.Listener.Close()
	var err error
	eventually(t, "the port is free", func() bool {
		again.Listener, err = listen(v.Addr)
		return err == nil
	})
	again.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	again.Start()
	defer again.Close()
	sane(t, waited(t, f), 100*time.Millisecond)
}

// What cannot be armed is not, and leaves nothing.
func TestArmFailsClosed(t *testing.T) {
	_, v := startVictim(t)
	deaf := httptest.NewServer(http.NotFoundHandler())
	defer deaf.Close()
	stopped := begin(t, self(t, "idle"))
	stopped.Process.Signal(syscall.SIGSTOP)
	eventually(t, "it is stopped", func() bool { _, state, _ := look(stopped.Process.Pid); return state == 'T' })
	gone := begin(t, self(t, "idle"))
	gone.end()
	with := func(change func(*Victim)) Victim {
		v := v
		change(&v)
		return v
	}
	tests := []struct {
		name   string
		config Config
		victim Victim
		want   string
	}{
		// what the victim does not do before the fault proves nothing in it
		{"not well", Config{Kind: Freeze, For: time.Second}, with(func(v *Victim) { v.Health = "/nowhere" }), "the victim is not well before it: status 404"},
		{"nobody listens", Config{Kind: Freeze, For: time.Second}, with(func(v *Victim) { v.Addr = netip.MustParseAddrPort("127.0.0.1:1") }), "not well before it: connection refused"},
		{"ended", Config{Kind: Kill}, with(func(v *Victim) { v.PID = gone.Process.Pid }), "process already finished"},
		// a thaw at the end would undo what somebody else wants
		{"stopped", Config{Kind: Freeze, For: time.Second}, with(func(v *Victim) { v.PID = stopped.Process.Pid }), "stopped already"},
		{"this process", Config{Kind: Kill}, with(func(v *Victim) { v.PID = os.Getpid() }), "the victim is this process"},
		{"no control", Config{Kind: Mode, Mode: "stall", For: time.Second}, with(func(v *Victim) { v.Control = deaf.URL }), "status 404"},
		{"no program", Config{Kind: Exec, Fire: Command{"/no/such/program"}}, v, "find the program of /no/such/program"},
		{"arm fails", Config{Kind: Exec, Arm: Command{"false"}, Fire: Command{"true"}, Undo: Command{"true"}, For: time.Second}, v, "arm: run false: exit status 1"},
		{"elsewhere", Config{Kind: BlackHole, For: time.Second}, with(func(v *Victim) { v.Addr = netip.MustParseAddrPort("192.0.2.1:80") }), "192.0.2.1:80 is not of this machine"},
	}
	g := newGuard(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFault(t, g, test.config, test.victim)
			if err := f.Arm(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err := f.Fire(t.Context()); err == nil || !strings.Contains(err.Error(), "it is not armed") {
				t.Errorf("fired, with error %v", err)
			}
			if j := onDisk(t, g); len(j.Faults) != 0 {
				t.Errorf("left in the journal: %+v", j.Faults)
			}
		})
	}
}

// Without an address, a control or a process nobody could do or see it.
func TestNewRefuses(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:80")
	g := newGuard(t)
	for _, test := range []struct {
		config Config
		victim Victim
	}{
		{Config{Kind: Kill}, Victim{Addr: at}},
		{Config{Kind: Freeze}, Victim{PID: 1, Addr: at}},
		{Config{Kind: Freeze}, Victim{PID: 77}},
		{Config{Kind: BlackHole}, Victim{}},
		{Config{Kind: Mode}, Victim{Addr: at}},
		{Config{Kind: Exec}, Victim{}},
		{Config{Kind: "burn"}, Victim{Addr: at}},
	} {
		if _, err := New(&test.config, test.victim, Env{Now: sinceStart(), Guard: g}); err == nil {
			t.Errorf("%+v of %+v was made", test.config, test.victim)
		}
	}
}

// A reaper that is gone undoes nothing, so nothing is fired.
func TestNothingFiresWithoutAReaper(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	g := newGuard(t)
	f := newFault(t, g, Config{Kind: Freeze, For: time.Second}, v)
	if err := f.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.reaper.Kill()
	<-g.dead
	if err := f.Fire(t.Context()); err == nil || !strings.Contains(err.Error(), "the reaper is gone") {
		t.Errorf("fired without a reaper, with error %v", err)
	}
	if s := askHealth(t.Context(), v.Addr, "/health"); !s.well {
		t.Errorf("the victim is not well: %s", s.said)
	}
	other := newFault(t, g, Config{Kind: Freeze, For: time.Second}, v)
	if err := other.Arm(t.Context()); err == nil {
		t.Error("armed without a reaper")
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	dir := t.TempDir()
	script := func(name, text string) Command {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
		return Command{path, dir}
	}
	g := newGuard(t)
	f := newFault(t, g, Config{
		Kind: Exec, For: 300 * time.Millisecond,
		Arm:     script("arm", `echo ready for $BRUNT_VICTIM in $BRUNT_RUN`),
		Fire:    script("fire", `touch $1/broken; seq 2000`),
		Observe: script("observe", `if test -e $1/broken; then echo it is broken; exit 1; fi`),
		Undo:    script("undo", `rm -f $1/broken; echo undone`),
	}, v)
	armAndFire(t, f)
	r := waited(t, f)
	if !(r.Fired <= r.Effect && r.Effect < r.Expired && r.Expired <= r.Heal && r.Expired-r.Fired >= 300*time.Millisecond) {
		t.Errorf("out of order: %+v", r)
	}
	if !strings.Contains(r.EffectDetail, "it is broken") {
		t.Errorf("the effect: %q", r.EffectDetail)
	}
	if len(r.Output) != 3 || r.Output[0] != "arm: ready for east in "+g.Run() || r.Output[2] != "undo: undone" ||
		!strings.HasPrefix(r.Output[1], "fire: 1\n2\n") || !strings.HasSuffix(r.Output[1], " …") || len(r.Output[1]) > mostOutput+20 {
		t.Errorf("the output: %q", r.Output)
	}
}

// A command that does not end is ended, with what it has started.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	said, err := Command{"sh", "-c", "echo begun; sleep 3600 & sleep 3600"}.run(t.Context(), 100*time.Millisecond, nil)
	if said != "begun" || err == nil || !strings.Contains(err.Error(), "not over within 100ms") {
		t.Errorf("said %q, error %v", said, err)
	}
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
}
