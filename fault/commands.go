package fault

import (
	"context"
	"fmt"
	"sync"
)

// commands makes a fault by commands of the user's.
type commands struct {
	config *Config
	victim *Victim
	run    string
	mu     sync.Mutex
	said   []string // guarded by mu: what they printed
}

// environ is what each command finds in its environment.
func (c *commands) environ() []string {
	all := []string{"BRUNT_RUN=" + c.run, "BRUNT_VICTIM=" + c.victim.Name}
	if c.victim.PID > 0 {
		all = append(all, fmt.Sprintf("BRUNT_VICTIM_PID=%d", c.victim.PID))
	}
	if c.victim.Addr.IsValid() {
		all = append(all, "BRUNT_VICTIM_ADDR="+c.victim.Addr.String())
	}
	return all
}

// do runs one of the commands, if it is given.
func (c *commands) do(ctx context.Context, name string, command Command) error {
	if len(command) == 0 {
		return nil
	}
	said, err := command.run(ctx, c.config.Timeout, c.environ())
	if said != "" {
		c.mu.Lock()
		c.said = append(c.said, name+": "+said)
		c.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (c *commands) detect(_ context.Context, e *entry) error {
	for _, command := range []Command{c.config.Arm, c.config.Fire, c.config.Observe, c.config.Undo} {
		if err := command.find(); err != nil {
			return err
		}
	}
	e.Undo, e.Timeout, e.Environ = c.config.Undo, c.config.Timeout, c.environ()
	return nil
}

func (c *commands) arm(ctx context.Context, _ *entry) error { return c.do(ctx, "arm", c.config.Arm) }
func (c *commands) fire(ctx context.Context) error          { return c.do(ctx, "fire", c.config.Fire) }

// undo runs also when nothing was fired: arming may have changed something.
func (c *commands) undo(ctx context.Context, _ *entry) error {
	return c.do(ctx, "undo", c.config.Undo)
}

func (c *commands) probe(ctx context.Context) sight {
	if len(c.config.Observe) == 0 {
		return askHealth(ctx, c.victim.Addr, c.victim.Health)
	}
	said, err := c.config.Observe.run(ctx, c.config.Timeout, c.environ())
	if err != nil {
		return sight{said: clipped(err.Error())}
	}
	if said == "" {
		said = "status 0"
	}
	return sight{well: true, said: c.config.Observe[0] + ": " + said}
}

func (c *commands) tell(r *Record) {
	r.How, r.Ends = "command "+c.config.Fire.String(), "this process, else the reaper, by a command"
	if len(c.config.Undo) == 0 {
		r.Ends = "nobody that brunt knows of"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Output = append([]string(nil), c.said...)
}

func (c *commands) close() error { return nil }
