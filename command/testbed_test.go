package command

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"brunt/dependency"
	"brunt/study"
	"brunt/testbed"
)

// bedConfig is a testbed of two replicas that is quick to start.
func bedConfig() *study.Testbed {
	var c study.Testbed
	c.SetDefaults()
	c.Behaviour.Latency = dependency.Every(dependency.Fixed(5 * time.Millisecond))
	c.Health.Interval, c.Health.Timeout = 50*time.Millisecond, 2*time.Second
	return &c
}

// bedEnv is a testbed's in a siege.
func (s *siege) bedEnv(t *testing.T) testbed.Env {
	t.Helper()
	folder := filepath.Join(s.folder, "bed")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return testbed.Env{
		Command: []string{"brunt"}, Folder: folder, Seed: 1, After: time.After,
		Start: func(cmd *exec.Cmd, _ string) error {
			cmd.Env = s.environ()
			return cmd.Start()
		},
	}
}

// TestTestbed starts and ends testbeds in all the ways in which they can go
// wrong. Nothing is left of any: no process, no goroutine, no file but the log.
func TestTestbed(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *siege){
			"restarts at its address":      bedRestarts,
			"port taken":                   bedPortTaken,
			"bad behaviour":                bedBehaviour,
			"no program":                   bedNoProgram,
			"says nothing":                 bedSilent,
			"never ready":                  bedNeverReady,
			"front dies":                   bedFrontDies,
			"two at once":                  bedTwo,
			"given up while it is started": bedGivenUp,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := besiege(t)
				test(t, s)
				s.nothingLeft(t)
				found, err := os.ReadDir(filepath.Join(s.folder, "bed"))
				for _, f := range found {
					if f.Name() != testbed.LogFile {
						t.Errorf("left: %s", f.Name())
					}
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	})
	goleak.VerifyNone(t, before)
}

// startBed starts a testbed that must start.
func startBed(t *testing.T, c *study.Testbed, e testbed.Env) *testbed.Testbed {
	t.Helper()
	bed, err := testbed.Start(t.Context(), c, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bed.Close() }) // a second time does no harm
	return bed
}

// asks sends requests through the front, and counts who answers.
func asks(t *testing.T, bed *testbed.Testbed, n int) map[string]int {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	got := map[string]int{}
	for range n {
		answer, err := client.Get(bed.URL())
		if err != nil {
			got["error"]++
			continue
		}
		answer.Body.Close()
		got[answer.Header.Get("X-Brunt-Replica")]++
	}
	return got
}

// answers reports whether a replica is well, asked directly.
func answers(t *testing.T, bed *testbed.Testbed, name string) bool {
	t.Helper()
	p, there := bed.Replica(name)
	if !there {
		t.Fatalf("there is no replica %s", name)
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + p.Listen + "/health")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// killReplica ends a replica, and waits until it is gone: until its parent has
// collected it, as one that is still ending may hold its port.
func (s *siege) killReplica(t *testing.T, p testbed.Process) {
	t.Helper()
	process, err := os.FindProcess(p.PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	collected := func() bool {
		_, err := os.Stat(filepath.Join("/proc", strconv.Itoa(p.PID)))
		return errors.Is(err, os.ErrNotExist)
	}
	if !eventually(t, 10*time.Second, collected) {
		t.Fatalf("replica %s does not end", p.Name)
	}
}

func closeBed(t *testing.T, bed *testbed.Testbed) {
	t.Helper()
	if err := bed.Close(); err != nil {
		t.Error(err)
	}
}

func bedRestarts(t *testing.T, s *siege) {
	bed := startBed(t, bedConfig(), s.bedEnv(t))
	if got := asks(t, bed, 10); got["a"] != 5 || got["b"] != 5 {
		t.Errorf("answers by %v: expected half from each", got)
	}
	if n := len(s.processes()); n != 3 {
		t.Errorf("there are %d processes: expected two replicas and a front", n)
	}
	was, _ := bed.Replica("b")
	s.killReplica(t, was)
	if answers(t, bed, "b") {
		t.Error("a dead replica answers")
	}
	if err := bed.Restart(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	is, _ := bed.Replica("b")
	if is.Listen != was.Listen || is.PID == was.PID {
		t.Errorf("it was %+v and is %+v: expected another process at the same address", was, is)
	}
	if !answers(t, bed, "b") {
		t.Error("the replica does not answer")
	}
	if !eventually(t, 10*time.Second, func() bool { who, ok := bed.Through(t.Context()); return ok && who == "b" }) {
		t.Error("the front does not find it again")
	}
	if err := bed.Restart(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "replica c") {
		t.Errorf("of one that is none: %v", err)
	}
	closeBed(t, bed)
}

// A replica whose port somebody else has taken meanwhile says so.
func bedPortTaken(t *testing.T, s *siege) {
	bed := startBed(t, bedConfig(), s.bedEnv(t))
	b, _ := bed.Replica("b")
	s.killReplica(t, b)
	l, err := net.Listen("tcp", b.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = bed.Restart(t.Context(), "b")
	if err == nil || !strings.Contains(err.Error(), "start replica b again") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
	if !answers(t, bed, "a") {
		t.Error("the other one is gone too")
	}
	closeBed(t, bed)
}

func bedBehaviour(t *testing.T, s *siege) {
	c := bedConfig()
	workers := -1
	c.Behaviour.Workers = &workers
	bed, err := testbed.Start(t.Context(), c, s.bedEnv(t))
	if err == nil {
		closeBed(t, bed)
	}
	if err == nil || !strings.Contains(err.Error(), "start a:") || !strings.Contains(err.Error(), "workers") {
		t.Errorf("error %v: expected what is wrong with replica a", err)
	}
}

func bedNoProgram(t *testing.T, s *siege) {
	e := s.bedEnv(t)
	e.Command = []string{filepath.Join(s.folder, "missing")}
	_, err := testbed.Start(t.Context(), bedConfig(), e)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "start the testbed: start a:") {
		t.Errorf("error %v", err)
	}
}

// One that says nothing is given up after a while, which the test shortens.
func bedSilent(t *testing.T, s *siege) {
	e := s.bedEnv(t)
	e.Command = []string{"sh", "-c", "exec sleep 60"}
	e.After = func(time.Duration) <-chan time.Time { return time.After(50 * time.Millisecond) }
	_, err := testbed.Start(t.Context(), bedConfig(), e)
	if err == nil || !strings.Contains(err.Error(), "it has not said where it listens within 10s") {
		t.Errorf("error %v", err)
	}
}

// A front that never finds its replicas ready.
func bedNeverReady(t *testing.T, s *siege) {
	c := bedConfig()
	c.LoadFor = time.Hour
	e := s.bedEnv(t)
	e.After = func(d time.Duration) <-chan time.Time {
		if d > time.Hour {
			d = 300 * time.Millisecond
		}
		return time.After(d)
	}
	_, err := testbed.Start(t.Context(), c, e)
	if err == nil || !strings.Contains(err.Error(), "the replicas were not ready within 1h0m") {
		t.Errorf("error %v", err)
	}
}

// A front that dies in the middle is an error to whoever asks, and no obstacle to
// the end.
func bedFrontDies(t *testing.T, s *siege) {
	bed := startBed(t, bedConfig(), s.bedEnv(t))
	for pid, line := range s.processes() {
		if strings.Contains(line, " front ") {
			s.killReplica(t, testbed.Process{Name: testbed.Front, PID: pid})
		}
	}
	if _, err := bed.FrontState(t.Context()); err == nil {
		t.Error("a dead front tells its state")
	}
	if who, ok := bed.Through(t.Context()); ok {
		t.Errorf("%q answers through a dead front", who)
	}
	if !answers(t, bed, "a") {
		t.Error("the replicas died with their front")
	}
	if _, err := bed.ReplicaState(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	closeBed(t, bed)
}

func bedTwo(t *testing.T, s *siege) {
	first := s.bedEnv(t)
	other := first
	other.Folder = filepath.Join(s.folder, "other")
	if err := os.Mkdir(other.Folder, 0o755); err != nil {
		t.Fatal(err)
	}
	beds := make([]*testbed.Testbed, 2)
	errs := make([]error, 2)
	var starts sync.WaitGroup
	for i, e := range []testbed.Env{first, other} {
		starts.Go(func() { beds[i], errs[i] = testbed.Start(t.Context(), bedConfig(), e) })
	}
	starts.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	closeBed(t, beds[0])
	if got := asks(t, beds[1], 4); got["a"] != 2 || got["b"] != 2 {
		t.Errorf("once the other one has ended, answers are by %v", got)
	}
	if n := len(s.processes()); n != 3 {
		t.Errorf("%d processes are left: expected those of the other testbed", n)
	}
	closeBed(t, beds[1])
}

// Giving up while replicas still load ends what is there.
func bedGivenUp(t *testing.T, s *siege) {
	c := bedConfig()
	c.LoadFor = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	e := s.bedEnv(t)
	go func() {
		_, err := testbed.Start(ctx, c, e)
		ended <- err
	}()
	if !eventually(t, 20*time.Second, func() bool { return len(s.processes()) == 3 }) {
		t.Errorf("there are %v", s.processes())
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
