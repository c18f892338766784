//go:build linux

package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/chance"
)

// order is what an owner is told to do, in its environment.
type order struct {
	Run    string
	State  string
	Config Config
	Victim Victim
	Until  string // armed, fired or healing: where it says so and waits
}

func (o order) journal() string { return filepath.Join(o.State, o.Run+journalEnd) }

const orderVariable = "FAULT_TEST_ORDER"

// beOwner is a run: it guards a process, arms, fires and waits for its end.
func beOwner() error {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(orderVariable)), &o); err != nil {
		return err
	}
	g, err := NewGuard(context.Background(), GuardConfig{Run: o.Run, State: o.State, Reap: reapLine(), Grace: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	path, _ := os.Executable()
	cmd := lasting(path)
	if err := g.Start(cmd, "west"); err != nil {
		return err
	}
	fmt.Println("guarding", cmd.Process.Pid)
	f, err := New(&o.Config, o.Victim, Env{Now: sinceStart(), Guard: g})
	if err != nil {
		return err
	}
	if err := f.Arm(context.Background()); err != nil {
		return err
	}
	fmt.Println("armed")
	if o.Until == "armed" {
		return beIdle()
	}
	if err := f.Fire(context.Background()); err != nil {
		return err
	}
	fmt.Println("fired")
	if o.Until == "fired" {
		return beIdle()
	}
	if err := f.Wait(context.Background()); err != nil {
		return err
	}
	fmt.Println("healing")
	return beIdle()
}

// startOwner starts an owner, and returns it with the process that it guards.
func startOwner(t testing.TB, o order) (owner *child, west Process) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	owner = begin(t, self(t, "owner", orderVariable+"="+string(text)))
	pid, err := strconv.Atoi(strings.TrimPrefix(owner.line(t), "guarding "))
	if err != nil {
		t.Fatal(err)
	}
	if west, err = Identify(pid); err != nil {
		t.Fatal(err)
	}
	return owner, west
}

// afterKill checks that nothing of an owner is left once it was killed.
func afterKill(t testing.TB, o order, west Process) {
	t.Helper()
	journal := o.journal()
	eventually(t, "the journal is gone", func() bool { _, err := os.Lstat(journal); return errors.Is(err, fs.ErrNotExist) })
	nothingLeft(t, journal)
	if west.Alive() {
		t.Error("the guarded process is there")
	}
	if o.Config.Kind == BlackHole {
		if err := deleteTable(tablePrefix + o.Run + "_1"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the table: %v", err)
		}
	}
	if s := askHealth(t.Context(), o.Victim.Addr, "/health"); !s.well {
		t.Errorf("the victim is not well: %s", s.said)
	}
}

// kill -9 of the owner, in each stage of each kind, leaves nothing.
func TestReaperAfterKill(t *testing.T) {
	for i := range harmful(t) {
		for _, stage := range []string{"armed", "fired", "healing"} {
			config := harmful(t)[i]
			if stage == "healing" {
				config.For = 50 * time.Millisecond
			}
			t.Run(string(config.Kind)+" "+stage, func(t *testing.T) {
				t.Parallel()
				_, v := startVictim(t)
				o := order{Run: newRun(), State: stateOf(t), Config: config, Victim: v, Until: stage}
				owner, west := startOwner(t, o)
				for owner.line(t) != stage {
				}
				owner.end()
				afterKill(t, o, west)
			})
		}
	}
}

// harmful are the faults that have to be undone.
func harmful(t testing.TB) []Config {
	all := []Config{{Kind: Freeze, For: time.Hour}}
	if CanBlackHole() == nil {
		all = append(all, Config{Kind: BlackHole, For: time.Hour})
	}
	broken := filepath.Join(t.TempDir(), "broken")
	return append(all, Config{
		Kind: Exec, For: time.Hour, Timeout: 5 * time.Second,
		Fire: Command{"touch", broken}, Observe: Command{"test", "!", "-e", broken}, Undo: Command{"rm", "-f", broken},
	})
}

// TestReaperAfterKillLong kills owners at random instants, 20 of each kind:
// BRUNT_LONG=1 go test -run TestReaperAfterKillLong ./fault. It takes about half
// a minute.
func TestReaperAfterKillLong(t *testing.T) {
	if testing.Short() || os.Getenv("BRUNT_LONG") == "" {
		t.Skip("long: set BRUNT_LONG=1")
	}
	draws := chance.New(1)
	for k, config := range harmful(t) {
		config.For = 100 * time.Millisecond
		for i := range 20 {
			t.Run(fmt.Sprintf("%s %d", config.Kind, i), func(t *testing.T) {
				_, v := startVictim(t)
				o := order{Run: newRun(), State: stateOf(t), Config: config, Victim: v}
				owner, west := startOwner(t, o)
				<-time.After(time.Duration(draws.Draw(chance.Probe, int64(i), uint64(k), 0).Below(int64(250 * time.Millisecond))))
				owner.end()
				afterKill(t, o, west)
			})
		}
	}
}

// A run that hangs does not end its fault: the reaper does, past the grace.
func TestReaperPastTheDeadline(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	o := order{Run: newRun(), State: stateOf(t), Config: Config{Kind: Freeze, For: 300 * time.Millisecond}, Victim: v, Until: "fired"}
	owner, west := startOwner(t, o)
	for owner.line(t) != "fired" {
	}
	owner.Process.Signal(syscall.SIGSTOP)
	eventually(t, "the victim is well", func() bool { return askHealth(t.Context(), v.Addr, "/health").well })
	if !west.Alive() {
		t.Error("the guarded process was ended, and its run is there")
	}
	owner.end()
	afterKill(t, o, west)
}

// A reaper undoes what was fired also when the journal is lost.
func TestReaperWithoutAJournal(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	o := order{Run: newRun(), State: stateOf(t), Config: Config{Kind: Freeze, For: time.Hour}, Victim: v, Until: "fired"}
	owner, west := startOwner(t, o)
	for owner.line(t) != "fired" {
	}
	eventually(t, "the deadline is on the disk, so nothing writes the journal again", func() bool {
		j, err := readJournal(o.journal())
		return err == nil && len(j.Faults) == 1 && j.Faults[0].Deadline != nil
	})
	if err := os.RemoveAll(o.State); err != nil {
		t.Fatal(err)
	}
	owner.end()
	eventually(t, "the victim is well", func() bool { return askHealth(t.Context(), v.Addr, "/health").well })
	afterKill(t, o, west)
}

// A reaper that is killed too leaves the journal, and Undo does its work, once.
func TestUndoAfterTheReaper(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	o := order{Run: newRun(), State: stateOf(t), Config: Config{Kind: Freeze, For: time.Hour}, Victim: v, Until: "fired"}
	owner, west := startOwner(t, o)
	for owner.line(t) != "fired" {
	}
	journal := o.journal()
	if left, err := Undo(t.Context(), journal, false); err != nil || !left.Live || len(left.Done) > 0 {
		t.Errorf("a run that goes on: %+v, %v", left, err)
	}
	for _, pid := range reapers(journal) {
		n, _ := strconv.Atoi(pid)
		syscall.Kill(n, syscall.SIGKILL)
	}
	eventually(t, "the reaper is gone", func() bool { return len(reapers(journal)) == 0 })
	owner.end()
	eventually(t, "the kernel ends what the owner had started", func() bool { return !west.Alive() })
	if s := askHealth(t.Context(), v.Addr, "/health"); s.well {
		t.Error("the victim is well before the undo")
	}
	found, err := Journals(o.State)
	if err != nil || len(found) != 1 || found[0] != journal {
		t.Fatalf("journals %v, %v", found, err)
	}
	left, err := Undo(t.Context(), journal, false)
	if err != nil || left.Live || len(left.Failed) > 0 || left.Run != o.Run {
		t.Errorf("undo: %+v, %v", left, err)
	}
	if last := left.Done[len(left.Done)-1]; last != fmt.Sprintf("freeze of east: process %d goes on", v.PID) {
		t.Errorf("it did %q", left.Done)
	}
	afterKill(t, o, west)
	if _, err := Undo(t.Context(), journal, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("once more: %v", err)
	}
}

// By force a run that goes on loses its fault too, and ends in peace.
func TestUndoByForce(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	g := newGuard(t)
	f := newFault(t, g, Config{Kind: Freeze, For: time.Hour}, v)
	armAndFire(t, f)
	left, err := Undo(t.Context(), g.path, true)
	if err != nil || !left.Live || len(left.Failed) > 0 || len(left.Done) != 1 {
		t.Errorf("undo: %+v, %v", left, err)
	}
	if s := askHealth(t.Context(), v.Addr, "/health"); !s.well {
		t.Errorf("the victim is not well: %s", s.said)
	}
}

// Journals that somebody else could have written are not obeyed.
func TestUndoTrustsNobody(t *testing.T) {
	dir := stateOf(t)
	if found, err := Journals(dir); err != nil || found != nil {
		t.Errorf("no folder: %v, %v", found, err)
	}
	if err := makeState(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x"+journalEnd)
	ran := filepath.Join(t.TempDir(), "ran")
	j := journal{Schema: 1, Boot: bootID(), Faults: []entry{{Kind: Exec, Undo: Command{"touch", ran}, Timeout: time.Second}}}
	if err := j.write(path); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o666)
	if _, err := Undo(t.Context(), path, false); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a journal for all: %v", err)
	}
	os.Chmod(path, 0o600)
	link := filepath.Join(dir, "link"+journalEnd)
	os.Symlink(path, link)
	if _, err := Undo(t.Context(), link, false); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
	pipe := filepath.Join(dir, "pipe"+journalEnd)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Undo(t.Context(), pipe, false); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a pipe, which nobody writes to: %v", err)
	}
	os.Chmod(dir, 0o777)
	if _, err := Journals(dir); err == nil {
		t.Error("a folder for all was read")
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Fatal("the command was run")
	}
	os.Chmod(dir, 0o700)
	if left, err := Undo(t.Context(), path, false); err != nil || len(left.Done) != 1 {
		t.Errorf("a journal of ours: %+v, %v", left, err)
	}
	if _, err := os.Lstat(ran); err != nil {
		t.Error("the command was not run")
	}
}

// What another boot has left names processes of that boot.
func TestUndoAfterABoot(t *testing.T) {
	idle := begin(t, self(t, "idle"))
	p, err := Identify(idle.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	dir := stateOf(t)
	if err := makeState(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x"+journalEnd)
	j := journal{Schema: 1, Boot: "another", Owner: p, Processes: []guarded{{Process: p, Name: "west"}}}
	if err := j.write(path); err != nil {
		t.Fatal(err)
	}
	left, err := Undo(t.Context(), path, false)
	if err != nil || left.Live || len(left.Failed) > 0 {
		t.Errorf("undo: %+v, %v", left, err)
	}
	if !p.Alive() {
		t.Error("a process of this boot was killed")
	}
	nothingLeft(t, path)
}

// A pid that belongs to another process by now is not signalled.
func TestReusedPID(t *testing.T) {
	idle := begin(t, self(t, "idle"))
	p, err := Identify(idle.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	before := Process{p.PID, p.Start - 1}
	if err := before.signal(os.Kill); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("error %v", err)
	}
	if before.Alive() || !p.Alive() {
		t.Error("the two are not told apart")
	}
}

// What a shell has left open does not live on in the reaper, and a signal to
// the group of its run does not reach it.
func TestReaperInheritsNothing(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	_, v := startVictim(t)
	o := order{Run: newRun(), State: stateOf(t), Config: Config{Kind: Freeze, For: time.Hour}, Victim: v, Until: "armed"}
	text, _ := json.Marshal(o)
	cmd := self(t, "owner", orderVariable+"="+string(text))
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	owner := begin(t, cmd)
	for owner.line(t) != "armed" {
	}
	journal := o.journal()
	pids := reapers(journal)
	if len(pids) != 1 {
		t.Fatalf("reapers %v", pids)
	}
	ours, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", write.Fd()))
	write.Close()
	open, _ := filepath.Glob("/proc/" + pids[0] + "/fd/*")
	for _, fd := range open {
		if to, _ := os.Readlink(fd); to == ours {
			t.Errorf("%s is open in the reaper, as %s", ours, fd)
		}
	}
	if wd, _ := os.Readlink("/proc/" + pids[0] + "/cwd"); wd != "/" {
		t.Errorf("the reaper holds the folder %s", wd)
	}
	syscall.Kill(-owner.Process.Pid, syscall.SIGKILL) // the group, as a shell and a supervisor do
	owner.end()
	west := Process{PID: -1}
	afterKill(t, o, west)
}

func TestGuardRefuses(t *testing.T) {
	state := stateOf(t)
	for _, c := range []GuardConfig{
		{Run: "a/b", State: state, Reap: reapLine()},
		{Run: "", State: state, Reap: reapLine()},
		{Run: "x", State: state},
		{Run: "x", State: state, Reap: []string{"false"}},            // never ready
		{Run: "x", State: state, Reap: []string{"/no/such/reaper"}},  // no program
		{Run: "x", State: "/no/such/folder/brunt", Reap: reapLine()}, // no journal
	} {
		if g, err := NewGuard(t.Context(), c); err == nil {
			t.Errorf("%+v: no error", c)
			g.Close()
		}
	}
	if found, _ := filepath.Glob(filepath.Join(state, "*")); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	g, err := NewGuard(t.Context(), GuardConfig{Run: "x", State: state, Reap: reapLine()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if other, err := NewGuard(t.Context(), GuardConfig{Run: "x", State: state, Reap: reapLine()}); err == nil {
		t.Error("two runs of one name")
		other.Close()
	}
}

// Closing a guard ends what it guards, and faults that nobody has closed.
func TestGuardCloses(t *testing.T) {
	t.Parallel()
	_, v := startVictim(t)
	g, err := NewGuard(t.Context(), GuardConfig{Run: "x", State: stateOf(t), Reap: reapLine()})
	if err != nil {
		t.Fatal(err)
	}
	path, _ := os.Executable()
	cmd := lasting(path)
	if err := g.Start(cmd, "west"); err != nil {
		t.Fatal(err)
	}
	added := begin(t, self(t, "idle"))
	if err := g.Process(added.Process.Pid, "north"); err != nil {
		t.Fatal(err)
	}
	f := newFault(t, g, Config{Kind: Freeze, For: time.Hour}, v)
	armAndFire(t, f)
	for range 2 {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []interface{ Wait() error }{cmd, added} {
		if err := c.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("a guarded process ended with %v", err)
		}
	}
	if s := askHealth(t.Context(), v.Addr, "/health"); !s.well {
		t.Errorf("the victim is not well: %s", s.said)
	}
	nothingLeft(t, g.path)
}

func TestStateDir(t *testing.T) {
	private, open := t.TempDir(), t.TempDir()
	os.Chmod(private, 0o700)
	os.Chmod(open, 0o777)
	for _, test := range []struct{ runtime, tmp, want string }{
		{private, "/var/tmp", private + "/brunt"},
		{"", "/var/tmp", fmt.Sprintf("/var/tmp/brunt-%d", os.Getuid())},
		{"relative", "", fmt.Sprintf("/tmp/brunt-%d", os.Getuid())},                // the XDG specification has it ignored
		{"/no/such/folder", "relative", fmt.Sprintf("/tmp/brunt-%d", os.Getuid())}, // nobody has logged in
		{open, "/var/tmp", fmt.Sprintf("/var/tmp/brunt-%d", os.Getuid())},          // anybody could take our place in it
	} {
		env := map[string]string{"XDG_RUNTIME_DIR": test.runtime, "TMPDIR": test.tmp}
		if got := StateDir(func(name string) string { return env[name] }); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}
