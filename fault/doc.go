// Package fault does harm to real things on this machine, for a time: it kills
// a process, freezes it, cuts its port off, has a brunt replica be bad, or runs
// commands that do something else. It says when the harm was armed, fired,
// seen, over and seen to be over.
//
// A fault that cannot be armed, or that nothing would end, is not fired. All is
// prepared before: the undo stands in a journal on the disk, a reaper process
// is running, the victim is well. The fire is one message. What can, ends by
// itself in the kernel; the rest is ended by this process at its time, and by
// the reaper when this process is late, stopped or dead. So `kill -9` at any
// moment leaves nothing behind; what a dead reaper left, [Undo] finds by the
// journal.
//
//	guard, err := fault.NewGuard(ctx, fault.GuardConfig{Run: run, State: fault.StateDir(os.Getenv), Reap: []string{self, "reap"}})
//	defer guard.Close()
//	f, err := fault.New(&config, victim, fault.Env{Now: now, Guard: guard})
//	defer f.Close()
//	err = f.Arm(ctx)
//	err = f.Fire(ctx)
//	err = f.Wait(ctx) // until the heal was seen
//	r := f.Record()
//
// Whether a fault has an effect is told by probes from outside: a fresh
// connection and a question for the victim's health, every 10 ms around the
// fire and the expiry, and seldom in between, since what a frozen process has
// in its backlog it must work off later.
//
// It leaves out what reaches beyond this machine; commands (kind exec) serve
// for that. It needs Linux: elsewhere arming fails.
//
// Methods of [Fault] and [Guard] may be called from any goroutine.
package fault
