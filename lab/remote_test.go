package lab

import (
	"testing"

	"brunt/front"
	"brunt/record"
)

// What a front answers by itself, as it has no replica for it, was answered by no
// replica: its shares are of those that there are.
func TestReplicaNone(t *testing.T) {
	r := &runner{replicas: map[string]int32{"a": 0, "b": 1}}
	for name, want := range map[string]int32{"": record.Unnamed, front.None: record.Unnamed, "b": 1} {
		if got := r.replica(name); got != want {
			t.Errorf("%q has number %d, want %d", name, got, want)
		}
	}
}
