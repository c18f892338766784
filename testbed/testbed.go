// Package testbed starts what a study needs beside brunt itself, and ends it:
// replicas of a mock inference server and a front before them, each a process
// of its own on loopback.
//
// A replica keeps its address when it is started again, so the front finds it.
// That the processes end with the one that started them, also when it is
// killed, is up to [Env.Start].
//
//	bed, err := testbed.Start(ctx, study.Testbed, env)
//	config.URL = bed.URL()
//	err = bed.Restart(ctx, "b")
//	err = bed.Close()
//
// A Testbed may be used from any goroutine.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"brunt/front"
	"brunt/study"
)

// Env is what a testbed needs from around it.
type Env struct {
	// Command calls this program again: its path and what comes before the name of
	// a command.
	Command []string
	// Folder takes the front's access log and what the processes say on stderr.
	Folder string
	// Seed is that of the replicas' draws: each has one of its own.
	Seed int64
	// After is the wall clock.
	After func(time.Duration) <-chan time.Time
	// Start starts a process, so that it ends with this one; nil for the usual way.
	Start func(cmd *exec.Cmd, name string) error
}

// Process is one process of the testbed.
type Process struct {
	Name    string // of the replica; Front for the front
	PID     int
	Listen  string // host and port for callers
	Control string // base URL of its control port
}

// Front is the front's name among processes.
const Front = "front"

// LogFile is the front's access log in the folder.
const LogFile = "front.jsonl"

// Testbed is a running one.
type Testbed struct {
	config *study.Testbed
	env    Env
	client *http.Client

	mu       sync.Mutex // guards what follows
	replicas []*process
	front    *process
}

// patience is how long a process may take to say where it listens, and what it
// is asked for on its control port.
const patience = 10 * time.Second

// Start starts the replicas and the front, and returns once the front has found
// all replicas ready. What it cannot finish it ends.
func Start(ctx context.Context, c *study.Testbed, e Env) (_ *Testbed, err error) {
	t := &Testbed{config: c, env: e, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the testbed: %w", err), t.Close())
		}
	}()
	var upstreams []string
	for i, name := range c.ReplicaNames() {
		p, err := t.startReplica(ctx, i, "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		t.replicas = append(t.replicas, p)
		upstreams = append(upstreams, "--upstream", name+"=http://"+p.Listen)
	}
	h := c.Health
	args := append([]string{
		"front", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--log", filepath.Join(e.Folder, LogFile),
		"--balancer", string(c.Balancer), "--seed", strconv.FormatInt(e.Seed, 10), "--health", h.Path,
		"--interval", h.Interval.String(), "--timeout", h.Timeout.String(),
		"--fall", strconv.Itoa(h.Fall), "--rise", strconv.Itoa(h.Rise), "--drain", "0s",
	}, upstreams...)
	if t.front, err = t.start(ctx, Front, args); err != nil {
		return nil, err
	}
	return t, t.waitReady(ctx)
}

// startReplica starts replica i at an address.
func (t *Testbed) startReplica(ctx context.Context, i int, listen string) (*process, error) {
	return t.start(ctx, t.config.ReplicaName(i), []string{
		"replica", "--name", t.config.ReplicaName(i), "--listen", listen, "--control", "127.0.0.1:0",
		"--seed", strconv.FormatInt(t.env.Seed*mostReplicas+int64(i), 10), "--load-for", t.config.LoadFor.String(), "--grace", "0s",
		"--behaviour", study.BehaviourText(t.config.Behaviour),
	})
}

// mostReplicas keeps the seeds of replicas apart.
const mostReplicas = 64

// waitReady waits until the front has found every replica ready.
func (t *Testbed) waitReady(ctx context.Context) error {
	h := t.config.Health
	limit := t.config.LoadFor + time.Duration(h.Rise+1)*(h.Interval+h.Timeout) + patience
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := t.env.After(limit)
	for {
		if state, err := t.FrontState(ctx); err == nil && !slices.ContainsFunc(state.Upstreams, func(u front.UpstreamState) bool { return u.State != "up" }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("the replicas were not ready within %v: %s", limit, t.said())
		case <-t.env.After(10 * time.Millisecond):
		}
	}
}

// URL is where the front takes requests.
func (t *Testbed) URL() string { return "http://" + t.front.Listen }

// Log is the path of the front's access log.
func (t *Testbed) Log() string { return filepath.Join(t.env.Folder, LogFile) }

// Replica returns a replica as it is at present.
func (t *Testbed) Replica(name string) (Process, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.replicas {
		if p.Name == name {
			return p.Process, true
		}
	}
	return Process{}, false
}

// Restart starts a replica again, at its address, once its process has ended.
func (t *Testbed) Restart(ctx context.Context, name string) error {
	t.mu.Lock()
	i := slices.IndexFunc(t.replicas, func(p *process) bool { return p.Name == name })
	var old *process
	if i >= 0 {
		old = t.replicas[i]
	}
	t.mu.Unlock()
	if old == nil {
		return fmt.Errorf("start replica %s again: there is none", name)
	}
	select {
	case <-old.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	p, err := t.startReplica(ctx, i, old.Listen)
	if err != nil {
		return fmt.Errorf("start replica %s again: %w", name, err)
	}
	t.mu.Lock()
	t.replicas[i] = p
	t.mu.Unlock()
	return nil
}

// Ending is the end of a process that the testbed has not ended.
type Ending struct {
	Name string
	Said string // last, on stderr
}

// Ended lists the processes that are not there any more.
func (t *Testbed) Ended() (list []Ending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range append(slices.Clone(t.replicas), t.front) {
		select {
		case <-p.done:
			text, _ := os.ReadFile(p.stderr) // without it there is less to tell
			list = append(list, Ending{p.Name, clip(string(text))})
		default:
		}
	}
	return list
}

// Close ends the processes and waits for them.
func (t *Testbed) Close() error {
	t.mu.Lock()
	all := slices.Clone(t.replicas)
	if t.front != nil { // first: it must not take the replicas' end for an event of the run
		all = slices.Insert(all, 0, t.front)
	}
	t.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.end(t.env.After))
	}
	t.client.CloseIdleConnections()
	return errors.Join(errs...)
}

// said tells what the processes said last on stderr.
func (t *Testbed) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range append(slices.Clone(t.replicas), t.front) {
		if p == nil {
			continue
		}
		if text, err := os.ReadFile(p.stderr); err == nil && len(text) > 0 {
			return p.Name + " said: " + clip(string(text))
		}
	}
	return "they said nothing"
}
