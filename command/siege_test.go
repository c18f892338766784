package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/lab"
	"brunt/record"
	"brunt/record/parquet"
	"brunt/study"
)

// markVariable stands in the environment of everything that a siege starts, so
// that a process is found also when its parents are gone.
const markVariable = "BRUNT_TEST_MARK"

// siege is a place of its own for brunt and for all that it starts: folders for
// results, journals and temporary files, and a mark on the processes.
type siege struct {
	folder, state, temp string
	mark                string
	program             string
	uid                 int // of another user; 0 for the user of the test
}

// besiege makes such a place, and looks at the end of the test that nothing is
// left in it.
func besiege(t *testing.T) *siege {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are found by their environment:", err)
	}
	s := &siege{folder: t.TempDir(), program: "brunt"}
	s.state, s.temp = filepath.Join(s.folder, "state"), filepath.Join(s.folder, "temp")
	s.mark = markVariable + "=" + s.folder
	for _, dir := range []string{s.state, s.temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.nothingLeft(t) })
	return s
}

// nobody is the user that stands for an ordinary one.
const nobody = 65534

// asNobody has brunt run as an ordinary user, who needs a namespace of his own
// to cut something off. It returns why that cannot be tried here.
func (s *siege) asNobody(t *testing.T) (reason string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return "only root can become another user"
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	s.uid, s.program = nobody, filepath.Join(s.folder, "brunt") // by this name it is brunt, and not the test
	if err := os.WriteFile(s.program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{s.folder, s.state, s.temp} {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(s.folder), 0o755); err != nil { // on the way to it
		t.Fatal(err)
	}
	probe := exec.Command(s.program, "version")
	probe.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: nobody, HostID: nobody, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: nobody, HostID: nobody, Size: 1}},
	}
	if out, err := probe.CombinedOutput(); err != nil {
		return fmt.Sprintf("an ordinary user has no namespaces here: %v %s", err, out)
	}
	return ""
}

// environ is the environment of everything in the siege.
func (s *siege) environ(more ...string) []string {
	return append(append(os.Environ(), "XDG_RUNTIME_DIR="+s.state, "TMPDIR="+s.temp, s.mark), more...)
}

// file writes a file into the folder.
func (s *siege) file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// attacker is a brunt in a siege.
type attacker struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// bruntCommand is a brunt outside of any siege, which ends with the test.
func bruntCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, "brunt", args...)
}

// start starts brunt. It ends with the test at the latest.
func (s *siege) start(t *testing.T, environ []string, args ...string) *attacker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	p := &attacker{t: t, cmd: exec.CommandContext(ctx, s.program, args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = s.folder, s.environ(environ...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = 10 * time.Second // what is left may hold the streams
	if s.uid != 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // its status is what counts
	}()
	t.Cleanup(func() {
		cancel()
		<-p.ended
	})
	return p
}

// status waits for the end and returns the exit status, -1 after a signal.
func (p *attacker) status() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// expect waits for the end, which must have a status.
func (p *attacker) expect(want int) {
	p.t.Helper()
	if got := p.status(); got != want {
		p.t.Fatalf("%v: exit status %d, want %d\n%s\n%s", p.cmd.Args, got, want, p.stderr.String(), p.stdout.String())
	}
}

// over reports whether the process has ended.
func (p *attacker) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// processes lists those that are there and carry the mark, by what they were
// called with.
func (s *siege) processes() map[int]string {
	found := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, err := os.ReadFile(file) // of a zombie: empty
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), s.mark) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found[pid] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// journals reads the journals that are there.
func (s *siege) journals() []journal {
	files, _ := filepath.Glob(filepath.Join(s.state, "brunt", "*.journal"))
	var all []journal
	for _, file := range files {
		j := journal{path: file}
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &j) == nil {
			all = append(all, j)
		}
	}
	return all
}

// journal is what tests read of a run's journal.
type journal struct {
	path      string
	Owner     struct{ PID int }
	Processes []struct {
		PID  int
		Name string
	}
	Faults []struct {
		Kind     string
		Victim   string
		Deadline *time.Time
	}
}

// nothingLeft looks for processes, journals, and temporary files. What it finds it
// ends, so that it does not outlive the test.
func (s *siege) nothingLeft(t *testing.T) {
	t.Helper()
	if !eventually(t, 15*time.Second, func() bool { return len(s.processes()) == 0 }) {
		for pid, line := range s.processes() {
			t.Errorf("left: process %d, %s", pid, line)
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
	for _, dir := range []string{filepath.Join(s.state, "brunt"), s.temp} {
		found, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		for _, f := range found {
			t.Errorf("left: %s", filepath.Join(dir, f.Name()))
		}
	}
}

// eventually waits for something that another process does.
func eventually(t *testing.T, limit time.Duration, is func() bool) bool {
	t.Helper()
	late := time.After(limit)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-late:
			return false
		case <-tick.C:
		}
	}
	return true
}

// result reads the result of a run.
func (s *siege) result(t *testing.T, folder string) *lab.Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, folder, lab.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var r lab.Result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// gateOf returns a gate by its name.
func gateOf(t *testing.T, r *lab.Result, name string) lab.Gate {
	t.Helper()
	for _, g := range r.Gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("no gate %q among %+v", name, r.Gates)
	return lab.Gate{}
}

// rows are the rows of one composition. It is a [record.Sink].
type rows struct {
	requests []record.Request
	attempts []record.Attempt
}

func (r *rows) Request(q *record.Request) { r.requests = append(r.requests, *q) }
func (r *rows) Attempt(a *record.Attempt) { r.attempts = append(r.attempts, *a) }
func (r *rows) Event(*record.Event)       {}

// rows reads the rows of the composition plain.
func (s *siege) rows(t *testing.T, folder string) *rows {
	t.Helper()
	files, err := parquet.Read(filepath.Join(s.folder, folder), []string{study.OnlyTarget})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	all := &rows{}
	if err := files.Feed("plain", all); err != nil {
		t.Fatal(err)
	}
	return all
}

// long reports whether tests that take minutes are wanted: BRUNT_LONG=1.
func long() bool { return strings.TrimSpace(os.Getenv("BRUNT_LONG")) != "" }

// at fills a template of a study: KEY is replaced by its value.
func at(text string, pairs ...any) string {
	for i := 0; i < len(pairs); i += 2 {
		text = strings.ReplaceAll(text, fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1]))
	}
	return text
}
