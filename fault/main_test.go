//go:build linux

package fault

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVariable tells a process of the test binary what it is to be, besides a
// reaper, which is told by its arguments.
const roleVariable = "FAULT_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // or each process would take a second to end
	}
	if len(os.Args) == 3 && os.Args[1] == "reap" {
		if err := Reap(os.Args[2], os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	roles := map[string]func() error{"victim": beVictim, "idle": beIdle, "owner": beOwner, "inside": beInside, "waits": beWaiting, "outside": beOutside}
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		if err := role(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// self is a command that runs this binary in a role. It ends at the latest when
// its standard input does.
func self(t testing.TB, role string, env ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// child is a running process of the test's.
type child struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

// begin starts a command, and ends it with the test.
func begin(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, stdin, bufio.NewReader(stdout)}
	t.Cleanup(c.end)
	return c
}

// end kills the process, if it is there, and waits for it.
func (c *child) end() {
	if c.ProcessState == nil {
		c.Process.Kill()
		c.Wait()
	}
}

// line reads what the process says next.
func (c *child) line(t testing.TB) string {
	t.Helper()
	text, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("the process says %q and then: %v", text, err)
	}
	return strings.TrimSpace(text)
}

// beVictim answers /health, and /late after the time in its query.
func beVictim() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		d, _ := time.ParseDuration(r.URL.RawQuery)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-time.After(d)
		io.WriteString(w, "late")
	})
	fmt.Println(l.Addr())
	go http.Serve(l, mux)
	io.Copy(io.Discard, os.Stdin)
	return nil
}

func beIdle() error {
	io.Copy(io.Discard, os.Stdin)
	return nil
}

// lasting is a process for a run to start, which does nothing and does not end
// for a minute.
func lasting(path string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), roleVariable+"=waits")
	return cmd
}

// startVictim starts a victim and waits until it listens.
func startVictim(t testing.TB) (*child, Victim) {
	t.Helper()
	c := begin(t, self(t, "victim"))
	at, err := netip.ParseAddrPort(c.line(t))
	if err != nil {
		t.Fatal(err)
	}
	return c, Victim{Name: "east", PID: c.Process.Pid, Addr: at}
}

// sinceStart is a clock for tests.
func sinceStart() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func reapLine() []string {
	path, _ := os.Executable()
	return []string{path, "reap"}
}

// newGuard makes a guard in a folder of the test's, and sees that nothing is
// left of it.
func newGuard(t testing.TB) *Guard {
	t.Helper()
	g, err := NewGuard(t.Context(), GuardConfig{Run: newRun(), State: stateOf(t), Reap: reapLine()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		nothingLeft(t, g.path)
	})
	return g
}

var runs atomic.Int64

// newRun names a run as no other test does, in this process or another.
func newRun() string { return fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)) }

func stateOf(t testing.TB) string { return filepath.Join(t.TempDir(), "brunt") }

// nothingLeft asks for no journal, no reaper and no table.
func nothingLeft(t testing.TB, journal string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(journal), "*"))
	if err != nil || len(found) > 0 {
		t.Errorf("left in the folder of the journals: %v, %v", found, err)
	}
	eventually(t, "the reaper ends", func() bool { return len(reapers(journal)) == 0 })
}

// reapers finds the processes that a journal's path was given to.
func reapers(journal string) (pids []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		if text, _ := os.ReadFile(line); strings.Contains(string(text), "reap\x00"+journal) {
			pids = append(pids, strings.Split(line, "/")[2])
		}
	}
	return pids
}

// eventually waits for something that another process does.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-late:
			t.Fatalf("not within 10s: %s", what)
		case <-tick.C:
		}
	}
}

// newFault makes a fault that is closed with the test.
func newFault(t testing.TB, g *Guard, c Config, v Victim) *Fault {
	t.Helper()
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	f, err := New(&c, v, Env{Now: sinceStart(), Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// armAndFire does both.
func armAndFire(t testing.TB, f *Fault) {
	t.Helper()
	if err := f.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Fire(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// waited waits for the fault's end and returns its record.
func waited(t testing.TB, f *Fault) Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.Wait(ctx); err != nil {
		t.Fatalf("%v; so far %+v", err, f.Record())
	}
	return f.Record()
}

// onDisk reads the journal of a guard.
func onDisk(t testing.TB, g *Guard) journal {
	t.Helper()
	text, err := os.ReadFile(g.path)
	if err != nil {
		t.Fatal(err)
	}
	var j journal
	if err := json.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// request is one request in flight.
type request struct {
	done sync.WaitGroup
	body string
	err  error
	took time.Duration
}

// late begins a request that the victim answers after d, and returns once its
// headers are there.
func late(t testing.TB, v Victim, d time.Duration) *request {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	begun := time.Now()
	answer, err := (&http.Client{Transport: transport}).Get(fmt.Sprintf("http://%v/late?%v", v.Addr, d))
	if err != nil {
		t.Fatal(err)
	}
	r := &request{}
	r.done.Go(func() {
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		r.body, r.err, r.took = string(text), err, time.Since(begun)
	})
	return r
}

func listen(at netip.AddrPort) (net.Listener, error) { return net.Listen("tcp", at.String()) }
