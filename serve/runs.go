package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/lab"
	"brunt/record/spool"
	"brunt/sweep"
)

// What a listing looks at, at most.
const (
	deepest     = 3        // folders below the one that is served
	mostFolders = 5000     // visited
	mostRuns    = 500      // listed: the last ones
	mostResult  = 64 << 20 // bytes of a result.json
	mostPage    = 64 << 20 // bytes of a report.html
)

// summary is a run as the list shows it.
type summary struct {
	path     string // below the folder, with slashes; "." for the folder itself
	modified time.Time
	size     int64
	study    string
	question string
	started  string // RFC 3339
	state    string // valid, or why its numbers are to be doubted
	good     bool   // there are numbers
	words    string // in place of numbers
	requests int64  // offered, over all compositions
	stacks   []stack
}

// stack is a composition of a run, by its headline numbers.
type stack struct {
	name    string
	numbers []lab.Number // as headlines has them
}

// summaries keeps what was read of results that have not changed since.
type summaries struct {
	mu   sync.Mutex
	read map[string]*summary
}

// listing is what stands in the folder.
type listing struct {
	runs   []*summary
	sweeps int
	cut    string // what was left out; "" for nothing
}

// below opens the folder. Whatever is opened below it stays there, also through
// links: that is what [os.Root] is for.
func (s *Server) below() (*os.Root, error) { return os.OpenRoot(s.config.Folder) }

// find lists the runs of the folder, the last one first. A folder that is not
// there has none.
func (s *Server) find() (listing, error) {
	root, err := s.below()
	if errors.Is(err, fs.ErrNotExist) {
		return listing{}, nil
	} else if err != nil {
		return listing{}, fmt.Errorf("list the runs: %w", err)
	}
	defer root.Close()
	var all listing
	var found []*summary
	folders := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // what cannot be read is not listed; links are not followed
		}
		if folders++; folders > mostFolders {
			all.cut = fmt.Sprintf("Only the first %d folders were looked at.", mostFolders)
			return fs.SkipAll
		}
		if one, kind := look(root, name); kind == aRun {
			found = append(found, one)
			return fs.SkipDir
		} else if kind == aSweep {
			all.sweeps++
			return fs.SkipDir
		}
		if name != "." && (strings.Count(name, "/") >= deepest-1 || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return listing{}, fmt.Errorf("list the runs: %w", err)
	}
	slices.SortFunc(found, func(a, b *summary) int {
		return cmp.Or(b.modified.Compare(a.modified), strings.Compare(a.path, b.path))
	})
	if len(found) > mostRuns {
		all.cut = fmt.Sprintf("Only the last %d of %d runs are listed.", mostRuns, len(found))
		found = found[:mostRuns]
	}
	for _, one := range found {
		all.runs = append(all.runs, s.runs.fill(root, one))
	}
	slices.SortFunc(all.runs, func(a, b *summary) int {
		return cmp.Or(strings.Compare(b.started, a.started), strings.Compare(a.path, b.path))
	})
	return all, nil
}

// What a folder is.
const (
	aFolder = iota
	aRun
	aSweep
)

// look says what a folder is by the names of its files.
func look(root *os.Root, name string) (one *summary, kind int) {
	one = &summary{path: name}
	for _, file := range []string{sweep.ResultFile, sweep.JournalFile} {
		if _, err := root.Lstat(path.Join(name, file)); err == nil {
			return one, aSweep
		}
	}
	if info, err := root.Stat(path.Join(name, lab.ResultFile)); err == nil && info.Mode().IsRegular() {
		one.modified, one.size = info.ModTime(), info.Size()
		return one, aRun
	}
	if info, err := root.Lstat(path.Join(name, lab.EnvironmentFile)); err == nil {
		one.modified, one.state = info.ModTime(), "not ended"
		one.words = "It is running, or it broke off."
		if _, err := root.Lstat(path.Join(name, spool.File)); err == nil {
			one.words += " When it is not running any more, brunt report makes what can be made of it."
		}
		return one, aRun
	}
	return one, aFolder
}

// fill reads what a run's files say, unless it is known.
func (s *summaries) fill(root *os.Root, one *summary) *summary {
	s.mu.Lock()
	known, ok := s.read[one.path]
	s.mu.Unlock()
	if ok && known.modified.Equal(one.modified) && known.size == one.size && known.state != "not ended" {
		return known
	}
	var env lab.Environment
	if err := readJSON(root, path.Join(one.path, lab.EnvironmentFile), &env); err == nil {
		if _, err := time.Parse(time.RFC3339, env.Started); err == nil {
			one.started = env.Started
		}
	}
	if one.started == "" {
		one.started = one.modified.UTC().Format(time.RFC3339)
	}
	if one.state == "" {
		var r lab.Result
		if err := readResult(root, one.path, &r); err != nil {
			one.state, one.words = "unreadable", err.Error()
		} else {
			one.tell(&r)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read == nil || len(s.read) > 4*mostRuns {
		s.read = map[string]*summary{}
	}
	s.read[one.path] = one
	return one
}

// tell takes from a result what the list shows.
func (one *summary) tell(r *lab.Result) {
	one.study, one.question = r.Study, r.Question
	switch {
	case r.Killed:
		one.state = "killed"
	case !r.Valid:
		one.state = "not valid"
	case r.Aborted:
		one.state = "aborted"
	case r.FailedExpectations() > 0:
		one.state = "valid, not as expected"
	default:
		one.state = "valid"
	}
	one.good = r.Valid && len(r.Compositions) > 0
	if !r.Valid {
		one.words = "It shows no numbers:"
		for _, g := range r.Gates {
			if !g.Passed {
				one.words += " " + g.Name
			}
		}
	}
	for _, repeat := range r.Repeats[min(1, len(r.Repeats)):] {
		for i := range repeat.Compositions {
			one.requests += repeat.Compositions[i].Whole.Offered
		}
	}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		k := stack{name: comp.Name}
		for _, h := range headlines {
			n, err := lab.Find(comp, nil, h.name)
			if err != nil {
				n = lab.Number{Refusal: err.Error()}
			}
			k.numbers = append(k.numbers, n)
		}
		one.requests += comp.Whole.Offered
		one.stacks = append(one.stacks, k)
	}
}

// readResult reads a result as it was written.
func readResult(root *os.Root, run string, r *lab.Result) error {
	if err := readJSON(root, path.Join(run, lab.ResultFile), r); err != nil {
		return err
	}
	if r.Schema != lab.Schema {
		return fmt.Errorf("%s has schema %d: this brunt reads schema %d", lab.ResultFile, r.Schema, lab.Schema)
	}
	return nil
}

func readJSON(root *os.Root, name string, into any) error {
	data, err := readFile(root, name, mostResult)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// readFile reads a regular file of so many bytes at most.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("read %s: it has more than %d MB", name, most>>20)
	}
	return data, nil
}

// openFile opens a regular file. Opening anything else could wait for somebody.
func openFile(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file: %w", name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open a file of a run: %w", err)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open a file of a run: %w", err)
	}
	return f, nil
}
