package fault

import (
	"fmt"
	"strings"
	"time"

	"brunt/check"
)

// Kind is what is done to the victim.
type Kind string

// The kinds.
const (
	Kill      Kind = "kill"       // the process ends at once (SIGKILL)
	Freeze    Kind = "freeze"     // the process stops, its sockets stay open (SIGSTOP)
	BlackHole Kind = "black_hole" // what is sent to its port, and from it, is lost
	Mode      Kind = "mode"       // a brunt replica is told to be bad
	Exec      Kind = "exec"       // commands do it
)

// Config is what is done to a real thing.
type Config struct {
	// What is done: kill, freeze, black_hole, mode (of a brunt replica) or exec (commands of yours).
	Kind Kind `yaml:"kind"`
	// How long it lasts. For kill: after how long the process is started again; 0 means never.
	For time.Duration `yaml:"for"`
	// For mode: the mode of the replica: stall, error, abort, hang, slow or reload.
	Mode string `yaml:"mode"`
	// For mode slow: how many times as long everything takes.
	Factor float64 `yaml:"factor"`
	// For exec: the command that prepares. A command is a list of a program and its arguments; no shell reads it.
	Arm Command `yaml:"arm"`
	// For exec: the command that makes the fault.
	Fire Command `yaml:"fire"`
	// For exec: the command that looks at the victim. Status 0 means that it is well. Without it the victim's health is asked.
	Observe Command `yaml:"observe"`
	// For exec: the command that ends the fault. It may come more than once, and when nothing was fired.
	Undo Command `yaml:"undo"`
	// For exec: how long each command may take.
	Timeout time.Duration `yaml:"timeout"`
}

// Command is a program and its arguments.
type Command []string

// String writes a command for people.
func (c Command) String() string { return strings.Join(c, " ") }

// usualTimeout is how long a command may take when nothing is said.
const usualTimeout = 10 * time.Second

// usualFactor is that of a brunt replica in mode slow.
const usualFactor = 10

// SetDefaults sets what a study may leave out.
func (c *Config) SetDefaults() { *c = Config{Factor: usualFactor, Timeout: usualTimeout} }

// Check reports what is wrong with the settings.
func (c *Config) Check(p check.Problems) {
	if c.Kind == "" {
		p.Add("kind", nil, "missing: expected kill, freeze, black_hole, mode or exec")
		return
	}
	check.OneOf(p, "kind", c.Kind, Kill, Freeze, BlackHole, Mode, Exec)
	switch c.Kind {
	case Freeze, BlackHole, Mode:
		c.checkFor(p)
	case Exec:
		if len(c.Undo) > 0 {
			c.checkFor(p)
		} else {
			p.NotNegative("for", c.For)
		}
	default:
		p.NotNegative("for", c.For)
	}
	c.checkMode(p)
	c.checkCommands(p)
}

// checkFor asks for a duration: whatever does not end by itself is not fired.
func (c *Config) checkFor(p check.Problems) {
	if c.For == 0 {
		p.Add("for", nil, "missing: expected how long the fault lasts")
		return
	}
	p.Positive("for", c.For)
	if c.For > 0 && c.For < time.Millisecond {
		p.Add("for", c.For, "expected 1ms or more")
	}
}

func (c *Config) checkMode(p check.Problems) {
	if c.Kind != Mode {
		if c.Mode != "" {
			p.Add("mode", c.Mode, "goes with kind mode")
		}
		return
	}
	check.OneOf(p, "mode", c.Mode, "stall", "error", "abort", "hang", "slow", "reload")
	check.Between(p, "factor", c.Factor, 0, 1e6)
	if c.Mode != "slow" && c.Factor != usualFactor {
		p.Add("factor", c.Factor, "goes with mode slow")
	}
}

func (c *Config) checkCommands(p check.Problems) {
	commands := []struct {
		name string
		Command
	}{{"arm", c.Arm}, {"fire", c.Fire}, {"observe", c.Observe}, {"undo", c.Undo}}
	if c.Kind == Exec {
		p.Positive("timeout", c.Timeout)
		if len(c.Fire) == 0 {
			p.Add("fire", nil, "missing: expected the command that makes the fault")
		}
		if len(c.Undo) == 0 {
			p.Doubt("undo", nil, "missing: nothing ends the fault when brunt is gone")
		}
	}
	for _, command := range commands {
		switch {
		case len(command.Command) == 0:
		case c.Kind != Exec:
			p.Add(command.name, command.Command, "goes with kind exec")
		case command.Command[0] == "":
			p.In(command.name).Add("0", fmt.Sprintf("%q", ""), "expected a program")
		}
	}
}
