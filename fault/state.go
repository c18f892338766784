package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// StateDir returns the folder of the journals: brunt in XDG_RUNTIME_DIR, or
// brunt-UID in TMPDIR (/tmp) where that is no folder of this user's, as it is
// not for root under sudo. It does not make it.
func StateDir(getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && ours(dir, true) == nil {
		return filepath.Join(dir, "brunt")
	}
	tmp := getenv("TMPDIR")
	if !filepath.IsAbs(tmp) {
		tmp = "/tmp"
	}
	return filepath.Join(tmp, fmt.Sprintf("brunt-%d", os.Geteuid()))
}

// makeState makes the folder of the journals, for its user alone.
func makeState(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of the journals: %w", err)
	}
	return ours(dir, true)
}

// ours refuses a folder or a journal that somebody else could have written: a
// journal holds commands, and undo runs them.
func ours(path string, folder bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look for journals: %w", err)
	}
	owner, known := fileOwner(info)
	switch {
	case folder && !info.IsDir():
		return fmt.Errorf("look for journals: %s is no folder", path)
	case !folder && !info.Mode().IsRegular():
		return fmt.Errorf("read a journal: %s is no regular file", path)
	case known && owner != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to %d: commands in it are not run", path, owner, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %v): commands in it are not run", path, info.Mode().Perm())
	}
	return nil
}

// Journals lists the journals in a folder, which need not be there.
func Journals(dir string) ([]string, error) {
	if err := ours(dir, true); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for journals: %w", err)
	}
	var all []string
	for _, f := range found {
		if strings.HasSuffix(f.Name(), journalEnd) {
			all = append(all, filepath.Join(dir, f.Name()))
		}
	}
	return all, nil
}
