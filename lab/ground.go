package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"brunt/clock"
	"brunt/fault"
	"brunt/study"
	"brunt/target"
	"brunt/testbed"
)

// RemoteError says that a study would send load to another machine, and that
// nobody has agreed to it. Nothing was sent.
type RemoteError struct {
	Target string
	At     target.Address
}

// Error implements error.
func (e *RemoteError) Error() string {
	what := "target " + e.Target
	if e.Target == study.OnlyTarget {
		what = "the target"
	}
	return fmt.Sprintf("%s is at %v, which is not this machine: load and faults would hit somebody else; when that is yours to do, say --yes", what, e.At)
}

// ground is what a run on real targets stands on: where they are, looked up
// once, and what its requests are called.
type ground struct {
	study     *study.Study
	self      []string
	addresses map[string]target.Address
	nonce     string       // begins the id of every request of the run
	folder    string       // for what a testbed leaves
	guard     *fault.Guard // sees to it that nothing is left; nil where nothing is started or harmed
	keeps     bool         // one stand serves every composition
	kept      *stand       // that one
}

// newGround looks the targets up. It returns nil for a study without any. Those
// that are not on this machine need consent.
func newGround(ctx context.Context, s *study.Study, o Options) (*ground, error) {
	if !s.CallsReal() {
		return nil, nil
	}
	g := &ground{study: s, self: o.Self, addresses: map[string]target.Address{}}
	g.nonce = "brunt-" + strconv.FormatInt(wallClock().UnixMicro(), 36)
	for i, name := range s.Callees() {
		config, real := s.RealTarget(name)
		if !real || config.URL == "" {
			continue
		}
		at, err := target.Resolve(ctx, config)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", s.Callees()[i], err)
		}
		if !at.Loopback() && !o.Remote {
			return nil, &RemoteError{name, at}
		}
		g.addresses[name] = at
	}
	for _, name := range s.Compositions.Names() {
		external := s.External(name)
		if external == nil {
			continue
		}
		at, err := target.Resolve(ctx, &external.Config)
		if err != nil {
			return nil, fmt.Errorf("composition %s: %w", name, err)
		}
		if !at.Loopback() && !o.Remote {
			return nil, &RemoteError{"of composition " + name, at}
		}
		g.addresses[external.URL] = at
		if len(external.Command) > 0 { // now, and not when its turn comes
			if err := testbed.FindProgram(external.Command, s.Folder()); err != nil {
				return nil, fmt.Errorf("composition %s: %w", name, err)
			}
		}
	}
	harms := s.Fault != nil && s.Fault.Injected() != nil
	if s.Testbed == nil && !harms && !s.Starts() {
		return g, nil
	}
	if len(g.self) == 0 {
		return nil, errors.New("start processes: nobody has said how brunt is called again")
	}
	var err error
	if g.guard, err = fault.NewGuard(ctx, fault.GuardConfig{Run: g.nonce, State: fault.StateDir(os.Getenv), Reap: append(slices.Clone(g.self), "reap")}); err != nil {
		return nil, err
	}
	if s.Testbed == nil && !s.Starts() {
		return g, nil
	}
	if o.Folder != nil {
		g.folder = filepath.Join(o.Folder.Path(), "testbed")
		if err := os.MkdirAll(g.folder, 0o777); err != nil {
			return nil, errors.Join(err, g.close())
		}
		return g, nil
	}
	if g.folder, err = g.guard.Folder(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// close removes what the ground must not leave.
func (g *ground) close() error {
	if g == nil {
		return nil
	}
	var errs []error
	if g.kept != nil {
		g.kept.kept = false
		errs = append(errs, g.kept.close())
	}
	if g.guard != nil {
		errs = append(errs, g.guard.Close())
	}
	return errors.Join(errs...)
}

// keep has every composition stand on the same ground: the testbed and the
// connections stay, as for the steps of a calibration.
func (g *ground) keep() {
	if g != nil {
		g.keeps = true
	}
}

// stand is the ground of one composition of one repeat: its own testbed, and
// its own connections. What was before it has left nothing.
type stand struct {
	study   *study.Study
	bed     *testbed.Testbed // nil without one
	callers []*target.Caller // by position among what can be called; nil for what is simulated
	service *target.Caller   // of a service of the user's own; nil without one
	counter *counter         // where its dependencies are served; nil where nothing is
	started *testbed.Service // the service, where the study starts it
	guard   *fault.Guard
	key     string // of the composition and its repeat
	prefix  string // begins the id of each request
	runs    int64  // so far: a warm-up and the run, or the steps of a calibration
	kept    bool   // closed with the ground
	loop    atomic.Pointer[clock.Loop]
}

// stand prepares for one composition.
func (g *ground) stand(ctx context.Context, key, composition string, seed int64) (_ *stand, err error) {
	if g == nil {
		return nil, nil
	}
	if g.kept != nil {
		return g.kept, nil
	}
	t := &stand{study: g.study, guard: g.guard, prefix: g.nonce + "-" + key, key: key}
	defer func() {
		if err == nil && g.keeps {
			g.kept, t.kept = t, true
		}
	}()
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if g.study.Testbed != nil {
		folder := filepath.Join(g.folder, key)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, fmt.Errorf("start the testbed: %w", err)
		}
		if t.bed, err = testbed.Start(ctx, g.study.Testbed, testbed.Env{
			Command: g.self, Folder: folder, Seed: seed, After: wallAfter, Start: g.guard.Start,
		}); err != nil {
			return nil, err
		}
	}
	for _, name := range g.study.Callees() {
		config, real := g.study.RealTarget(name)
		if !real {
			t.callers = append(t.callers, nil)
			continue
		}
		caller, err := g.call(ctx, t, name, *config)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", name, err)
		}
		t.callers = append(t.callers, caller)
	}
	if external := g.study.External(composition); external != nil {
		if err := g.receive(ctx, t, external); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// receive serves the dependencies to a service of the user's own, has it started
// where the study says how, and prepares to load it.
func (g *ground) receive(ctx context.Context, t *stand, external *study.External) (err error) {
	u, err := url.Parse(external.URL)
	if err != nil {
		return fmt.Errorf("the service: %w", err)
	}
	if len(external.Command) == 0 && !testbed.Listening(hostAndPort(u)) {
		return fmt.Errorf("nothing listens at %s: start the service first, or say how in external.command", hostAndPort(u))
	}
	if t.counter, err = openCounter(g.study, t.prefix); err != nil {
		return err
	}
	if len(external.Command) > 0 {
		env := []string{"BRUNT_LISTEN=" + u.Host}
		for i, name := range g.study.Callees() {
			if _, served := g.study.Serve.Get(name); served {
				env = append(env, "BRUNT_URL_"+study.EnvironmentName(name)+"="+t.counter.server.URL(i))
			}
		}
		ready := ""
		if external.Ready != "" {
			ready = u.Scheme + "://" + u.Host + external.Ready
		}
		t.started, err = testbed.StartService(ctx, testbed.ServiceConfig{
			Command: external.Command, Folder: g.study.Folder(), Env: env, Address: hostAndPort(u), Ready: ready, Within: external.ReadyWithin,
			Log: filepath.Join(g.folder, t.key+".log"), After: wallAfter, Start: g.guard.Start,
		})
		if err != nil {
			return err
		}
	}
	at, known := g.addresses[external.URL]
	if !known {
		if at, err = target.Resolve(ctx, &external.Config); err != nil {
			return fmt.Errorf("the service: %w", err)
		}
	}
	t.service, err = target.New(ctx, &external.Config, at, target.Env{Now: t.now, Getenv: os.Getenv, Prefix: t.prefix, Traced: true})
	if err != nil {
		return fmt.Errorf("the service: %w", err)
	}
	return nil
}

// hostAndPort is where a URL connects to.
func hostAndPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// call prepares to call one target. One without a url is the testbed's front.
func (g *ground) call(ctx context.Context, t *stand, name string, config target.Config) (*target.Caller, error) {
	at, known := g.addresses[name]
	if !known {
		config.URL = t.bed.URL()
		var err error
		if at, err = target.Resolve(ctx, &config); err != nil {
			return nil, err
		}
	}
	return target.New(ctx, &config, at, target.Env{Now: t.now, Getenv: os.Getenv, Prefix: t.prefix})
}

// now is the time on the loop that is running. Any goroutine may call it.
func (t *stand) now() time.Duration {
	if loop := t.loop.Load(); loop != nil {
		return loop.Elapsed()
	}
	return 0
}

// idsPerRun keeps the ids of requests apart that have one prefix: no two
// requests on one stand have the same.
const idsPerRun = 1 << 40

// attach lets a runner call the targets.
func (t *stand) attach(r *runner) {
	if t == nil {
		return
	}
	t.loop.Store(r.loop)
	r.firstID = t.runs * idsPerRun
	t.runs++
	for i, caller := range t.callers {
		if caller != nil {
			r.remotes[i].caller = caller
			caller.Attach(r.loop)
		}
	}
	if t.service != nil {
		r.hear()
		t.service.Attach(r.loop)
	}
}

// close ends the connections, then the processes.
func (t *stand) close() error {
	if t == nil || t.kept {
		return nil
	}
	for _, caller := range append(slices.Clone(t.callers), t.service) {
		if caller != nil {
			caller.Close()
		}
	}
	errs := []error{t.started.Close(), t.counter.close()}
	if t.bed != nil {
		errs = append(errs, t.bed.Close())
	}
	return errors.Join(errs...)
}
