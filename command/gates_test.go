package command

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gatedStudy calls a server of the test's own. Its limits are such that no gate
// fails by itself, also on a busy machine; GATE is the one that is to fail.
const gatedStudy = `
study: gated
question: Does the gate fire?
clock: real
load: {rate: 200/s, LOAD}
horizon: HORIZON
target: {kind: http, url: "TARGET"}
phases: [{name: all, for: 1s}]
compositions: {plain: [{call: target}]}
gates: {enforce: true, GATES}
`

// TestGatesFire: each gate on the client makes an enforced run on a real target
// invalid when what it watches for really happens: exit status 3, no numbers.
func TestGatesFire(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close) // behind the parallel runs
	for _, c := range []struct {
		name    string
		gates   map[string]string // besides those that never fail
		load    string
		horizon string
		environ []string
		disturb func(t *testing.T, p *attacker) (skip string)
		failing string // "" for none
		least   float64
	}{
		{name: "nothing happens"},
		{
			name: "the client stands still", gates: map[string]string{"send_skew_max": "50ms", "send_skew_p99": "50ms"},
			disturb: standStill(200 * time.Millisecond), failing: "send skew max", least: 150,
		},
		{
			name: "the client stands still for longer than a request may take", horizon: "100ms",
			disturb: standStill(500 * time.Millisecond), failing: "requests scheduled and not dispatched", least: 1,
		},
		{
			name: "other processes take all processors", gates: map[string]string{"host_cpu": "70%"},
			disturb: takeProcessors, failing: "host CPU over any 5 s", least: 70,
		},
		{
			name: "garbage collection", gates: map[string]string{"gc_pause_p99": "1us"},
			environ: []string{"GOGC=1", "GOMEMLIMIT=1MiB"}, failing: "garbage collection pause p99", least: 1e-3,
		},
		{
			name: "requests are shed by the client", load: "max_in_flight: 1",
			failing: "requests scheduled and not dispatched", least: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := besiege(t)
			gates := map[string]string{"send_skew_p99": "1h", "send_skew_max": "1h", "host_cpu": "100%", "gc_pause_p99": "1h"}
			var list []string
			for name, limit := range gates {
				if given := c.gates[name]; given != "" {
					limit = given
				}
				list = append(list, name+": "+limit)
			}
			load := c.load
			if load == "" {
				load = "max_in_flight: 100000"
			}
			horizon := c.horizon
			if horizon == "" {
				horizon = "5s"
			}
			s.file(t, "study.yaml", at(gatedStudy, "LOAD", load, "HORIZON", horizon, "TARGET", slow.URL, "GATES", strings.Join(list, ", ")))
			p := s.start(t, c.environ, "run", "study.yaml", "--out", "out")
			if c.disturb != nil {
				if skip := c.disturb(t, p); skip != "" {
					t.Skip(skip)
				}
			}
			if c.failing == "" {
				p.expect(statusOK)
				if r := s.result(t, "out"); !r.Valid || len(r.Compositions) != 1 {
					t.Errorf("valid %v with %d compositions", r.Valid, len(r.Compositions))
				}
				return
			}
			p.expect(statusInvalid)
			r := s.result(t, "out")
			if r.Valid || r.Compositions != nil || len(r.Findings) != 0 {
				t.Errorf("valid %v, with numbers: %v, findings %v", r.Valid, r.Compositions != nil, r.Findings)
			}
			for _, g := range r.Gates {
				// The maximum is late too when the 99th percentile is.
				if wanted := g.Name == c.failing; wanted == g.Passed && g.Applies && g.Name != "send skew p99" {
					t.Errorf("%+v", g)
				} else if wanted && (g.Value == nil || *g.Value < c.least || !g.Enforced) {
					t.Errorf("%+v: expected a value of %v at least", g, c.least)
				}
			}
			s.start(t, nil, "report", "out").expect(statusInvalid)
			if again := s.result(t, "out"); again.Valid || again.Compositions != nil {
				t.Error("made again, it is valid or has numbers")
			}
		})
	}
}

// standStill stops a client for a while, once it is sending.
func standStill(d time.Duration) func(*testing.T, *attacker) string {
	return func(t *testing.T, p *attacker) string {
		t.Helper()
		if !eventually(t, 20*time.Second, func() bool { return sending(p) }) {
			return "" // the gate will not have failed
		}
		<-time.After(200 * time.Millisecond)
		for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			if err := p.cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			<-time.After(d)
		}
		return ""
	}
}

// sending reports whether a client has a connection to where it sends to, by the
// sockets among its files.
func sending(p *attacker) bool {
	dir := "/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/fd"
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if to, _ := os.Readlink(dir + "/" + f.Name()); strings.HasPrefix(to, "socket:") {
			return true
		}
	}
	return false
}

// takeProcessors keeps all processors busy until a client ends.
func takeProcessors(t *testing.T, p *attacker) string {
	t.Helper()
	for range runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		})
	}
	before, known := processors(t)
	p.status()
	after, _ := processors(t)
	if !known {
		return "this system does not tell how busy its processors are"
	}
	if busy := (after.busy - before.busy) / (after.total - before.total); busy < 0.8 {
		return "this machine has more processors than one may use"
	}
	return ""
}

type processorTime struct{ busy, total float64 }

// processors reads the time of all processors: proc_stat(5).
func processors(t *testing.T) (at processorTime, known bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return at, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			t.Fatal(err)
		}
		if i >= 8 { // guests are counted already
			break
		}
		at.total += n
		if i != 3 && i != 4 {
			at.busy += n
		}
	}
	return at, true
}
