package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"brunt/lab"
)

// run is a run whose page is looked at.
type run struct {
	folder string
	result *lab.Result

	drawings []drawing // once they were read
}

// brunt builds the command once.
var brunt = sync.OnceValues(func() (string, error) {
	path := filepath.Join(work, "brunt")
	build := exec.Command("go", "build", "-o", path, "./cmd/brunt")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: "go build: " + string(out), Err: err}
	}
	return path, nil
})

// invalidRun is a run that is not valid: on the real clock, with a limit on how late it
// may send that no machine keeps.
func invalidRun(t *testing.T) *run {
	t.Helper()
	r := runOf(t, "outage", "--clock", "real", "--set", "phases.*.for=100ms", "--set", "horizon=300ms", "--set", "load.rate=100/s", "--set", "gates.enforce=true", "--set", "gates.send_skew_p99=1ns")
	if r.result.Valid {
		t.Fatal("the run is valid")
	}
	return r
}

var (
	kept   sync.Mutex
	before = map[string]*run{} // by the arguments
)

// runOf runs a study, once for all tests that look at it. A run may end with any
// status as long as there is a result.
func runOf(t *testing.T, args ...string) *run {
	t.Helper()
	kept.Lock()
	defer kept.Unlock()
	key, _ := json.Marshal(args)
	if r := before[string(key)]; r != nil {
		return r
	}
	path, err := brunt()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp(work, "run-")
	if err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(folder, "out")
	cmd := exec.Command(path, append([]string{"run", "--out", folder, "--format", "json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Logf("brunt run %q: %v\n%s", args, err, stderr.Bytes())
	}
	text, err := os.ReadFile(filepath.Join(folder, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := &run{folder: folder, result: &lab.Result{}}
	if err := json.Unmarshal(text, r.result); err != nil {
		t.Fatal(err)
	}
	before[string(key)] = r
	return r
}
