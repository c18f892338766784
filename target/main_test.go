package target

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs every test twice: with goroutines for calls, and with a loop
// that carries them. Benchmarks, fuzzing and lists are for the first time alone.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	once := false
	for _, name := range []string{"test.bench", "test.fuzz", "test.list"} {
		once = once || flag.Lookup(name).Value.String() != ""
	}
	if !once {
		onLoops = true
		code = max(code, m.Run())
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
