package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// GuardConfig is what a guard needs.
type GuardConfig struct {
	// Run names the run, its journal and its tables: letters, digits, - and _.
	Run string
	// State is the folder of the journals, see [StateDir].
	State string
	// Reap is the command line that calls [Reap] with the path that is put
	// behind it: the program itself and its hidden command.
	Reap []string
	// Grace is how long after its deadline a fault is ended by the reaper, when
	// the run has not done it; 0 for two seconds.
	Grace time.Duration
}

const (
	usualGrace = 2 * time.Second
	// readyWithin bounds how long the reaper takes to start, and to end.
	readyWithin = 10 * time.Second
)

// Guard sees to it that a run leaves nothing behind, however it ends: it keeps
// the run's journal, and a reaper process that undoes what stands there when
// the run is gone.
//
// Its methods may be called from any goroutine.
type Guard struct {
	config GuardConfig
	path   string

	starts chan func() // to the thread whose children die with it
	dead   chan struct{}
	ended  error // of the reaper; to be read once dead is closed
	works  sync.WaitGroup

	mu     sync.Mutex // guards the rest
	book   journal
	pipe   *os.File // its other end is the reaper's standard input
	reaper *os.Process
	next   int
	faults map[*Fault]bool // those in the journal
	closed bool
}

// NewGuard writes an empty journal and starts the reaper. Whoever has a guard
// calls Close.
func NewGuard(ctx context.Context, c GuardConfig) (*Guard, error) {
	if c.Grace == 0 {
		c.Grace = usualGrace
	}
	if c.Run == "" || len(c.Run) > 64 || strings.Trim(c.Run, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return nil, fmt.Errorf("guard a run: %q: expected a name of at most 64 letters, digits, - and _", c.Run)
	}
	if len(c.Reap) == 0 {
		return nil, errors.New("guard a run: no command line of a reaper is given")
	}
	owner, err := Identify(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("guard a run: %w", err)
	}
	if err := makeState(c.State); err != nil {
		return nil, fmt.Errorf("guard a run: %w", err)
	}
	g := &Guard{
		config: c, path: filepath.Join(c.State, c.Run+journalEnd), starts: make(chan func()), dead: make(chan struct{}),
		faults: make(map[*Fault]bool),
		book:   journal{Schema: 1, Run: c.Run, Boot: bootID(), Owner: owner, Grace: c.Grace},
	}
	if _, err := os.Lstat(g.path); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("guard a run: %s is there already: `brunt undo` ends what another run of this name has left", g.path)
	}
	if err := g.book.write(g.path); err != nil {
		return nil, fmt.Errorf("guard a run: %w", err)
	}
	if err := g.startReaper(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("guard a run: %w", err), removeJournal(g.path))
	}
	g.works.Go(g.parent)
	return g, nil
}

// startReaper starts the reaper and waits until it listens.
func (g *Guard) startReaper(ctx context.Context) error {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the reaper: %w", err)
	}
	defer theirs.Close()
	said, says, err := os.Pipe()
	if err != nil {
		ours.Close()
		return fmt.Errorf("start the reaper: %w", err)
	}
	defer said.Close()
	defer says.Close()
	line := append(slices.Clone(g.config.Reap), g.path)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout = theirs, says
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	ownSession(cmd.SysProcAttr) // no signal of a terminal, no kill of a process group
	if err := cmd.Start(); err != nil {
		ours.Close()
		return fmt.Errorf("start the reaper: %w", err)
	}
	says.Close()
	g.pipe, g.reaper = ours, cmd.Process
	g.works.Go(func() {
		g.ended = cmd.Wait()
		close(g.dead)
	})
	said.SetReadDeadline(wall().Add(readyWithin))
	stop := context.AfterFunc(ctx, func() { said.SetReadDeadline(wall()) })
	defer stop()
	answer := make([]byte, len(ready))
	if _, err = io.ReadFull(said, answer); err == nil && string(answer) == ready {
		return nil
	}
	ours.Close()
	cmd.Process.Kill() // it is a child nobody has waited for, so the pid is its own
	g.works.Wait()
	return fmt.Errorf("start the reaper: %s does not say that it is ready: %w", Command(line), errors.Join(err, g.ended, context.Cause(ctx)))
}

// parent starts children on one thread for as long as the guard is there: the
// kernel tells a child of its parent's death when the thread is gone that made
// it.
func (g *Guard) parent() {
	runtime.LockOSThread() // and not unlocked: the thread ends, and with it whatever child is left
	for start := range g.starts {
		start()
	}
}

// Folder makes and returns a folder for files that the run needs while it goes
// on. It goes with the journal, whoever removes that.
func (g *Guard) Folder() (string, error) {
	dir := filesOf(g.path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a folder for a run: %w", err)
	}
	return dir, nil
}

// Path returns where the journal is.
func (g *Guard) Path() string { return g.path }

// Run returns the name of the run.
func (g *Guard) Run() string { return g.config.Run }

// Start starts a command whose process ends when this one does, however it
// ends: the kernel kills it, and the reaper once more. Its SysProcAttr may be
// set already; a process that leads a group (Setpgid) ends with all of it.
func (g *Guard) Start(cmd *exec.Cmd, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("start %s: the guard is closed", name)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	started := make(chan error)
	g.starts <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := g.process(cmd.Process.Pid, name, cmd.SysProcAttr.Setpgid); err != nil {
		return errors.Join(err, cmd.Process.Kill(), ignoreExit(cmd.Wait()))
	}
	return nil
}

func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// Process adds a process that runs already, and that must not outlive the run.
func (g *Guard) Process(pid int, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("guard %s: the guard is closed", name)
	}
	return g.process(pid, name, false)
}

func (g *Guard) process(pid int, name string, group bool) error {
	p, err := Identify(pid)
	if err != nil {
		return fmt.Errorf("guard %s: %w", name, err)
	}
	// First by the pipe, which takes microseconds and not a write to the disk.
	what := "process"
	if group {
		what = "group"
	}
	if err := g.tell("%s %d %d\n", what, p.PID, p.Start); err != nil {
		return fmt.Errorf("guard %s: %w", name, err)
	}
	// Whoever has ended needs no guard: a campaign starts many.
	kept := slices.DeleteFunc(slices.Clone(g.book.Processes), func(p guarded) bool { return !p.there() })
	g.book.Processes = append(kept, guarded{p, name, group})
	return g.write()
}

// tell writes one line to the reaper.
func (g *Guard) tell(line string, args ...any) error {
	select {
	case <-g.dead:
		return fmt.Errorf("the reaper is gone: %w", errors.Join(errors.New("nobody would undo the fault"), g.ended))
	default:
	}
	if _, err := fmt.Fprintf(g.pipe, line, args...); err != nil {
		return fmt.Errorf("tell the reaper: %w", err)
	}
	return nil
}

func (g *Guard) write() error { return g.book.write(g.path) }

// add puts a fault into the journal, on the disk.
func (g *Guard) add(f *Fault, e *entry) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("the guard is closed")
	}
	select {
	case <-g.dead:
		return errors.New("the reaper is gone: nobody would undo the fault")
	default:
	}
	g.next++
	e.ID = fmt.Sprint(g.next)
	if e.Kind == BlackHole {
		e.Table = tablePrefix + g.config.Run + "_" + e.ID
	}
	g.book.Faults = append(g.book.Faults, *e)
	g.faults[f] = true
	return g.write()
}

// firing tells the reaper, by the pipe alone, that a fault comes now.
func (g *Guard) firing(e *entry) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("the guard is closed")
	}
	return g.tell("fire %s %d\n", e.ID, int64(e.For))
}

// fired writes the deadline of a fault into the journal.
func (g *Guard) fired(e *entry, deadline time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.book.Faults, func(f entry) bool { return f.ID == e.ID })
	if i < 0 || g.closed {
		return nil // undone meanwhile
	}
	g.book.Faults[i].Deadline = &deadline
	return g.write()
}

// strike takes a fault that is undone out of the journal.
func (g *Guard) strike(f *Fault, e *entry) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	delete(g.faults, f)
	g.book.Faults = slices.DeleteFunc(g.book.Faults, func(f entry) bool { return f.ID == e.ID })
	_ = g.tell("undone %s\n", e.ID) // a reaper that is gone has nothing to forget
	return g.write()
}

// Close closes faults that are not undone, ends guarded processes that are still
// there, removes the journal and ends the reaper. After an error the journal is
// left, for `brunt undo`. A second call does nothing.
func (g *Guard) Close() error {
	g.mu.Lock()
	open := slices.Collect(maps.Keys(g.faults))
	g.mu.Unlock()
	for _, f := range open {
		_ = f.Close() // what fails stands in the journal still
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	close(g.starts)
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	_, err := g.book.undo(ctx)
	if err == nil {
		err = removeJournal(g.path)
	}
	if err == nil {
		// A reaper that died early is no fault any more.
		_ = g.tell(allIsWell)
	}
	g.pipe.Close() // unless all is well the reaper tries once more
	if !g.waitReaper() {
		g.reaper.Kill()
		err = errors.Join(err, fmt.Errorf("the reaper does not end within %v", readyWithin))
	}
	g.works.Wait()
	if _, left := os.Lstat(g.path); err != nil && errors.Is(left, fs.ErrNotExist) {
		return nil // it has done what we could not
	}
	if err != nil {
		return fmt.Errorf("end the guard of run %s (`brunt undo` tries again): %w", g.config.Run, err)
	}
	return nil
}

func (g *Guard) waitReaper() bool {
	late := newTimer(readyWithin + reapTries*reapWithin)
	defer late.Stop()
	select {
	case <-g.dead:
		return true
	case <-late.C:
		return false
	}
}
