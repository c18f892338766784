package replica

import (
	"time"

	"brunt/check"
	"brunt/dependency"
)

// Config says what a replica is.
type Config struct {
	// Name is what X-Brunt-Replica says.
	Name string
	// Behaviour has passed its CheckWhole.
	Behaviour dependency.Behaviour
	// Seed is that of every draw.
	Seed int64
	// LoadFor is how long the replica is not ready at first, and at each reload
	// that says nothing else.
	LoadFor time.Duration
	// Grace is how long streams may go on once the replica is told to stop.
	Grace time.Duration
	// Now is the wall clock, for the field created of answers. Without it they
	// were created at 0.
	Now func() time.Time
}

const (
	// patience is how long a client may take to read what it has been answered.
	patience = 30 * time.Second
	// crowd is as good as no limit on how many requests are worked on at once.
	crowd = 1_000_000
	// longestName keeps names fit for a header.
	longestName = 64
)

// Check reports what one replica cannot be, although a study can.
func (c *Config) Check(p check.Problems) {
	if !isName(c.Name) {
		p.Add("name", c.Name, "expected at most %d letters, digits, dashes, dots and underscores", longestName)
	}
	p.NotNegative("load_for", c.LoadFor)
	p.NotNegative("grace", c.Grace)
	b := &c.Behaviour
	if b.Replicas != nil && *b.Replicas != 1 || b.Balancer != nil || len(b.Replica) > 0 {
		p.Add("replicas", "given", "this is one replica: expected a process for each, behind a front")
	}
	if b.Deadline != nil && *b.Deadline == dependency.Heeded {
		p.Add("deadline", *b.Deadline, "a request over HTTP does not say its caller's deadline: expected %s", dependency.Ignored)
	}
}

func isName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
		default:
			return false
		}
	}
	return s != "" && len(s) <= longestName
}

// staffed returns the behaviour with workers: without them it has more than it
// can ever use, so that one path serves both, and a stall stops either. What
// follows from having none is kept.
func staffed(b dependency.Behaviour) dependency.Behaviour {
	if b.Workers != nil {
		return b
	}
	workers := crowd
	b.Workers = &workers
	if b.OnCancel == nil {
		stops := dependency.Stops
		b.OnCancel = &stops
	}
	return b
}

// slowed returns the behaviour with everything so many times as slow.
func slowed(b dependency.Behaviour, factor float64) dependency.Behaviour {
	if b.Slowdown != nil {
		factor *= *b.Slowdown
	}
	b.Slowdown = &factor
	return b
}

// stalled returns the behaviour with its workers standing still.
func stalled(b dependency.Behaviour) dependency.Behaviour {
	paused := true
	b.Paused = &paused
	return b
}
