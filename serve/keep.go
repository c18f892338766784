package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"brunt/report"
)

// keep writes a trial into the folder. It runs once more: the same study gives
// the same result, byte for byte.
func (s *Server) keep(w http.ResponseWriter, r *http.Request) {
	var o struct {
		ID string `json:"id"`
	}
	if bad := readOrder(r, &o); bad.status != 0 {
		bad.send(w)
		return
	}
	one := s.trials.find(o.ID)
	if one == nil {
		failed(http.StatusNotFound, errors.New("this run is not known any more: run it again")).send(w)
		return
	}
	leave, err := s.trials.enter(r.Context(), s.limits.waiting)
	if err != nil {
		failed(http.StatusServiceUnavailable, err).send(w)
		return
	}
	defer leave()
	s.trials.mu.Lock()
	kept := one.kept
	s.trials.mu.Unlock()
	if kept == "" {
		if kept, err = s.write(r, one); err != nil {
			failed(http.StatusInternalServerError, fmt.Errorf("keep the run: %w", err)).send(w)
			return
		}
		s.trials.mu.Lock()
		one.kept = kept
		s.trials.mu.Unlock()
	}
	answer{Run: kept, Command: report.CommandLine(one.command), Valid: true}.send(w)
}

// write runs a trial again into a new folder, which it returns as a path below
// the folder of runs. What cannot be had whole is not left there.
func (s *Server) write(r *http.Request, one *trial) (run string, err error) {
	if run, err = s.fresh(one); err != nil {
		return "", err
	}
	path := filepath.Join(s.config.Folder, run)
	err = s.runIn(r.Context(), path, one.study, one.command, report.WriteFolder)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(path))
	}
	return run, nil
}

// fresh makes a new folder, named for the study and when it was tried.
func (s *Server) fresh(one *trial) (name string, err error) {
	if err := os.MkdirAll(s.config.Folder, 0o777); err != nil {
		return "", err
	}
	base := one.study.Name
	if at, err := time.Parse(time.RFC3339, one.started); err == nil {
		base += "-" + at.UTC().Format("20060102-150405")
	}
	name = base
	for n := 2; ; n++ {
		err := os.Mkdir(filepath.Join(s.config.Folder, name), 0o777)
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return name, err
		}
		name = base + "-" + strconv.Itoa(n)
	}
}
