package study

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/check"
	"brunt/dependency"
)

// File is a file that a study names.
type File struct {
	Name string // as the study names it, relative to its folder
	Data []byte
}

// mostFileBytes bounds the files that a study names: some ten million lines.
const mostFileBytes = 256 << 20

// readFiles fills in what the files that a study names hold.
func (r *reader) readFiles(s *Study) {
	if s.Load.Trace != "" {
		s.Load.Instants = r.instants(s.Load.Trace, s.end())
	}
	for name, stack := range s.Compositions.All() {
		if e := stack.External(); e != nil {
			r.keep(e.Files, join("compositions."+name, strconv.Itoa(len(stack)-1))+".external.files")
		}
	}
	for name, b := range s.Dependencies.All() {
		r.filesOf(&b, "dependencies", name)
	}
	for name, service := range s.Services.All() {
		r.filesOf(&service.Behaviour, "services", name)
	}
	for i, p := range s.Phases {
		for name, b := range p.Dependencies.All() {
			r.filesOf(&b, "phases", strconv.Itoa(i), "dependencies", name)
		}
	}
}

// keep reads files that only the results want.
func (r *reader) keep(names []string, path string) {
	for i, name := range names {
		if _, want := r.load(name); want != "" {
			at := join(path, strconv.Itoa(i))
			r.errs = append(r.errs, r.at(r.places.of(at), at, strconv.Quote(clip(name)), want))
		}
	}
}

// filesOf fills in what the files hold that a behaviour names, and its replicas.
func (r *reader) filesOf(b *dependency.Behaviour, steps ...string) {
	at := strings.Join(steps, ".")
	if l := b.Latency; l != nil {
		r.times(&l.Latency, at+".latency")
		r.times(l.First, at+".latency.first")
		r.times(l.Later, at+".latency.later")
	}
	r.times(b.FirstToken, at+".first_token")
	r.times(b.TokenGap, at+".token_gap")
	r.replays(b, steps...)
	for i := range b.Replica {
		one := b.Replica[i].Behaviour
		one.Replay, one.Replica = nil, nil // they are refused there
		r.filesOf(&one, append(slices.Clone(steps), "replica", strconv.Itoa(i))...)
	}
}

// end is the sum of the phases, whatever they are.
func (s *Study) end() (d time.Duration) {
	for _, p := range s.Phases {
		d += min(max(p.For, 0), check.Longest)
	}
	return d
}

func (r *reader) instants(name string, end time.Duration) (instants []time.Duration) {
	last := time.Duration(0)
	r.lines(name, "load.trace", func(s string) (want string) {
		d, ok := instant(s)
		switch {
		case !ok:
			return cmp.Or(timeOutOfRange(s), "expected a time since the start, such as 1.5s or 1.5")
		case d < last:
			return fmt.Sprintf("before the instant above it, %v: expected instants in order", last)
		case d >= end:
			return fmt.Sprintf("after the end of the study at %v", end)
		}
		instants, last = append(instants, d), d
		return ""
	})
	return instants
}

// instant reads a duration of 0 or more, or a number of seconds.
func instant(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	if err != nil {
		seconds, ok := number(s)
		if !ok || !(seconds >= 0 && seconds <= check.Longest.Seconds()) {
			return 0, false
		}
		d = time.Duration(math.Round(seconds * float64(time.Second)))
	}
	return d, d >= 0 && d <= check.Longest
}

// timeOutOfRange says what is wrong with a time in a file that was refused
// though it is written well. It returns "" for any other text.
func timeOutOfRange(s string) string {
	switch {
	case !durationText.MatchString(s) && !numberText.MatchString(s):
		return ""
	case strings.HasPrefix(s, "-"):
		return "too small: expected 0 or more"
	}
	return "too large: expected a duration below ten years"
}

func (r *reader) times(l *dependency.Latency, path string) {
	if l == nil || l.Empirical == nil || strings.TrimSpace(l.Empirical.File) == "" {
		return
	}
	l.Empirical.Times = nil
	r.lines(l.Empirical.File, path+".empirical.file", func(s string) (want string) {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 || d > check.Longest {
			if numberText.MatchString(s) {
				return "has no unit: write " + s + "ms or " + s + "s"
			}
			return cmp.Or(timeOutOfRange(s), "expected a duration such as 5ms")
		}
		l.Empirical.Times = append(l.Empirical.Times, d)
		return ""
	})
}

// lines gives each line of a file that is no comment to take, and notes what
// take wants instead.
func (r *reader) lines(name, path string, take func(string) (want string)) {
	fail := func(want string) {
		r.errs = append(r.errs, r.at(r.places.of(path), path, strconv.Quote(clip(name)), want))
	}
	data, want := r.load(name)
	if want != "" {
		fail(want)
		return
	}
	if r.scan(name, data, fail, take) == 0 {
		fail("holds nothing: expected a time a line")
	}
}

// scan gives each line that is no comment to take, and returns how many there
// are. The rest of a hopeless file is not read.
func (r *reader) scan(name string, data []byte, fail func(want string), take func(string) (want string)) (lines int) {
	const most = 20
	faults := 0
	for number, line := 1, []byte(nil); len(data) > 0; number++ {
		line, data, _ = bytes.Cut(data, []byte("\n"))
		line, _, _ = bytes.Cut(line, []byte("#"))
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		lines++
		want := take(text)
		if want == "" {
			continue
		}
		column := bytes.Index(line, []byte(text)) + 1
		r.errs = append(r.errs, Error{File: name, Line: number, Column: column, Value: clip(strconv.Quote(text)), Want: want})
		if faults++; faults == most {
			fail(fmt.Sprintf("more than %d faults: the rest was not read", most))
			break
		}
	}
	return lines
}

// load returns the content of a file in the study's folder, or what was
// expected instead.
func (r *reader) load(name string) (data []byte, want string) {
	for _, f := range r.files {
		if f.Name == name {
			return f.Data, ""
		}
	}
	switch {
	case r.folder == "":
		return nil, "a built-in study has no folder for files: write it out with `brunt init`, and run that"
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return nil, "expected a file in the study's folder, so that the results can keep a copy"
	}
	if data, want = readFile(filepath.Join(r.folder, filepath.FromSlash(name))); want != "" {
		return nil, want
	}
	r.files = append(r.files, File{name, data})
	return data, ""
}

// readFile returns the content of a file, or what was expected instead.
func readFile(path string) (data []byte, want string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Sprintf("cannot be read: %v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, "is not a regular file"
	}
	data, err = io.ReadAll(io.LimitReader(f, mostFileBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Sprintf("cannot be read: %v", err)
	case len(data) > mostFileBytes:
		return nil, fmt.Sprintf("has more than %d MB", mostFileBytes>>20)
	}
	return data, ""
}
