package fault

import "time"

// A fault is done to real processes: its deadlines are those of the wall, and a
// reaper has no clock but that. This file alone reads it.

// wall is the time of day, for journals and for deadlines of sockets.
func wall() time.Time { return time.Now() }

// newTimer fires once after d.
func newTimer(d time.Duration) *time.Timer { return time.NewTimer(d) }
