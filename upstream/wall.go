package upstream

import "time"

// Real clients are served in the wall's time: what a run decides comes from its
// backend, and what the wall decides is only how the pieces of one answer are
// spread, and when a client is too slow.

func now() time.Time { return time.Now() }

// after returns a timer.
func after(d time.Duration) *time.Timer { return time.NewTimer(d) }
