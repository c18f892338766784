package main

import "testing"

// comments.json says what the sources say.
func TestNotStale(t *testing.T) {
	t.Chdir("../..")
	if err := run(true); err != nil {
		t.Error(err)
	}
}
