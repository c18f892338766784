package target

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs every test twice: with goroutines for calls, and with a loop
// that carries them.
func TestMain(m *testing.M) {
	code := m.Run()
	onLoops = true
	code = max(code, m.Run())
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
