package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// self is how this program is called again, for the processes that a run
// starts: by the name under which it was called, as that may matter.
func self() ([]string, error) {
	path, err := exec.LookPath(os.Args[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		if path, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program, to start it again: %w", err)
		}
	}
	return []string{path}, nil
}
