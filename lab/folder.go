package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"brunt/record"
	"brunt/record/parquet"
	"brunt/record/spool"
	"brunt/study"
)

// The files of a result folder.
const (
	ResultFile      = "result.json"
	EnvironmentFile = "environment.json"
	StudyFile       = "study.yaml"
	ReportFile      = "report.md"
	PageFile        = "report.html"
)

// Folder is where a run puts its results. result.json comes last: a folder
// without it holds a run that did not end.
type Folder struct {
	path string
	lock *os.File // the folder itself, while a run writes to it
}

// NewFolder makes the folder, if need be, and claims it for this run, until
// Close. It refuses one that holds a result already or one of the foreign
// files, or that another run is writing to, so that no result is ever lost.
func NewFolder(path string, foreign ...string) (_ *Folder, err error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("make the output folder: %w", err)
	}
	f := &Folder{path: path}
	if f.lock, err = os.Open(path); err != nil {
		return nil, fmt.Errorf("look into the output folder: %w", err)
	}
	if err := f.claim(foreign); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Folder) claim(foreign []string) error {
	if held, err := lock(f.lock); err != nil {
		return fmt.Errorf("claim the output folder: %w", err)
	} else if held {
		return fmt.Errorf("another run is writing to the output folder %s: name another one with --out", f.path)
	}
	for _, name := range append(foreign, ResultFile, spool.File) {
		if _, err := os.Lstat(filepath.Join(f.path, name)); err == nil && name == spool.File {
			return fmt.Errorf("the output folder %s holds the rows of a run that did not end (%s): name another one with --out, or look at them with brunt report %s", f.path, name, f.path)
		} else if err == nil {
			return fmt.Errorf("the output folder %s holds results already (%s): name another one with --out, or remove it", f.path, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look into the output folder: %w", err)
		}
	}
	probe, err := os.CreateTemp(f.path, ".brunt-*")
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return fmt.Errorf("write to the output folder: %w", err)
	}
	return nil
}

// Close gives the folder up; nothing may be written to it any more.
func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Path returns the folder's path.
func (f *Folder) Path() string { return f.path }

// Write writes a file whole or not at all. When result.json is there, nobody
// needs the spool any more, and it goes.
func (f *Folder) Write(name string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", filepath.Join(f.path, name), err)
		}
	}()
	tmp, err := os.CreateTemp(f.path, "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if err = write(tmp); err != nil {
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), filepath.Join(f.path, name)); err != nil || name != ResultFile {
		return err
	}
	if err := os.Remove(filepath.Join(f.path, spool.File)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// WriteEnvironment writes environment.json.
func (f *Folder) WriteEnvironment(env *Environment) error {
	return f.Write(EnvironmentFile, func(w io.Writer) error {
		b, err := json.MarshalIndent(env, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(b, '\n'))
		return err
	})
}

// WriteStudy writes study.yaml, and the files that the study names beside it.
func (f *Folder) WriteStudy(s *study.Study) error {
	for _, file := range s.Files() {
		if err := os.MkdirAll(filepath.Join(f.path, filepath.Dir(file.Name)), 0o777); err != nil {
			return fmt.Errorf("write a file of the study: %w", err)
		}
		if err := f.Write(file.Name, func(w io.Writer) error {
			_, err := w.Write(file.Data)
			return err
		}); err != nil {
			return err
		}
	}
	return f.Write(StudyFile, func(w io.Writer) error {
		_, err := w.Write(s.YAML())
		return err
	})
}

// Open makes the result of a folder again: from its rows when it has them,
// else from result.json. What rows cannot tell (which brunt made them, the
// environment, the artefacts of ties) is taken from the files beside them. The
// error for a folder without a result is [ErrNoResult]: [OpenKilled] may find one.
func Open(path string) (*Folder, *Result, *Environment, error) {
	f := &Folder{path: path}
	stored, env := &Result{}, &Environment{}
	if err := f.read(ResultFile, stored); err != nil {
		return nil, nil, nil, err
	}
	if stored.Schema != Schema {
		return nil, nil, nil, fmt.Errorf("%s has schema %d: this brunt reads schema %d", filepath.Join(path, ResultFile), stored.Schema, Schema)
	}
	if err := f.read(EnvironmentFile, env); err != nil {
		return nil, nil, nil, err
	}
	s, err := f.study(stored.StudySHA256, ResultFile)
	if err != nil {
		return nil, nil, nil, err
	}
	if !f.hasRows() {
		return f, stored, env, nil
	}
	result, err := f.remake(s, stored)
	return f, result, env, err
}

// study reads the study, which must be the one that a file of the run names.
func (f *Folder) study(sum, named string) (*study.Study, error) {
	s, err := study.Read(filepath.Join(f.path, StudyFile), study.Options{})
	if err != nil {
		return nil, err
	}
	if is := studySum(s); is != sum {
		return nil, fmt.Errorf("%s is not the study that was run (its SHA-256 is %s, that in %s is %s): put the study back, or run this one",
			filepath.Join(f.path, StudyFile), is, named, sum)
	}
	return s, nil
}

// ErrNoResult says that a folder holds no result.
var ErrNoResult = errors.New("no result")

// noResult is that error in words.
type noResult struct{ error }

func (noResult) Is(target error) bool { return target == ErrNoResult }

// without says that the folder lacks a file that every result has.
func (f *Folder) without(name string) error {
	err := fmt.Errorf("%s holds no %s: it is no result folder, or its run did not end", f.path, name)
	if name != ResultFile {
		return err
	}
	if _, there := os.Lstat(filepath.Join(f.path, spool.File)); there == nil {
		err = fmt.Errorf("%s holds no %s: its run did not end; when it is not running any more, brunt report %s makes what can be made of it", f.path, name, f.path)
	}
	return noResult{err}
}

// hasRows reports whether any of the row files is there. One that lacks the
// others has lost them.
func (f *Folder) hasRows() bool {
	for _, name := range []string{parquet.RequestsFile, parquet.AttemptsFile, parquet.EventsFile} {
		if _, err := os.Lstat(filepath.Join(f.path, name)); err == nil {
			return true
		}
	}
	return false
}

func (f *Folder) read(name string, into any) error {
	file := filepath.Join(f.path, name)
	b, err := os.ReadFile(file)
	if info, statErr := os.Stat(f.path); statErr == nil && !info.IsDir() {
		return fmt.Errorf("%s is no folder: expected one that a run wrote", f.path)
	} else if statErr != nil {
		return fmt.Errorf("read the results: %w", statErr)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return f.without(name)
	} else if err != nil {
		return fmt.Errorf("read the results: %w", err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

func (f *Folder) remake(s *study.Study, stored *Result) (*Result, error) {
	rows, err := parquet.Read(f.path, s.Callees())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := jobs(s)
	outcomes, err := measureAll(s, all, 1, true, func(i int, m record.Sink) error { return rows.Feed(all[i].key, m) })
	if err != nil {
		return nil, err
	}
	r := newResult(s, stored.Instrument)
	r.Aborted, r.Ties, r.TiesReason, r.LoadCuts = stored.Aborted, stored.Ties, stored.TiesReason, stored.LoadCuts
	r.Calibration, r.Killed, r.Kill = stored.Calibration, stored.Killed, stored.Kill
	var watched []Gate
	for _, g := range stored.Gates {
		if g.Name == gateCPU || g.Name == gateGC {
			watched = append(watched, g)
		}
	}
	return r, r.conclude(s, outcomes, watched)
}
