package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"brunt/lab"
	"brunt/study"
)

// settings are the flags that override a study. --seed and --clock are short
// for a --set, and come after them.
type settings struct {
	sets        []string
	seed, clock string
}

// flagSet is the part of a flag set that settings need.
type flagSet interface {
	StringArrayVar(p *[]string, name string, value []string, usage string)
	StringVar(p *string, name, value, usage string)
}

func (s *settings) register(flags flagSet) {
	flags.StringArrayVar(&s.sets, "set", nil, "override a value: `path=value`, such as load.rate=250/s or 'phases.*.for=10s'")
	flags.StringVar(&s.seed, "seed", "", "the `seed` of every draw: a whole number")
	flags.StringVar(&s.clock, "clock", "", "the `clock`: virtual or real")
}

// all returns the settings in order, and the flag that each is short for.
func (s *settings) all() (sets []string, short map[string]string) {
	sets, short = append(sets, s.sets...), map[string]string{}
	for _, flag := range [][2]string{{"seed", s.seed}, {"clock", s.clock}} {
		if value := flag[1]; value != "" {
			set := flag[0] + "=" + value
			sets = append(sets, set)
			short["--set "+set] = "--" + flag[0] + " " + value
		}
	}
	return sets, short
}

// read reads a study and tells of doubts about it on stderr.
func (c *command) read(source string, o settings) (*study.Study, error) {
	sets, short := o.all()
	if source == "-" { // it may be read again, with a rate that was found by then
		text, err := io.ReadAll(c.stdin)
		if err != nil {
			return nil, usageError{fmt.Errorf("read a study from standard input: %w", err)}
		}
		c.stdin = bytes.NewReader(text)
		defer func() { c.stdin = bytes.NewReader(text) }()
	}
	s, err := study.Read(source, study.Options{Sets: sets, Stdin: c.stdin, Measure: lab.CheckName})
	var faults study.Errors
	if errors.As(err, &faults) {
		for i, fault := range faults { // name a flag as it was written
			if flag, ok := short[fault.File]; ok {
				faults[i].File = flag
			}
		}
		return nil, faults
	} else if err != nil {
		return nil, usageError{err}
	}
	if err := c.canRun(s); err != nil {
		return nil, err
	}
	for _, w := range s.Warnings() {
		fmt.Fprintln(c.stderr, "warning:", w)
	}
	return s, nil
}

// canRun refuses a study with clients that this program does not have.
func (c *command) canRun(s *study.Study) error {
	for _, name := range s.Compositions.Names() {
		switch library := s.Library(name); {
		case library != "" && c.libraries == nil:
			return usagef("composition %s is built with the Go library %s, which this program does not carry: `go run -C adapters . run STUDY` in its sources does, with the path of the study from that folder", name, library)
		case s.HasGuest(name) && library == "" && s.External(name) == nil:
			return usagef("study %s has a composition with a client of its own (guest), which only a Go test has: run it with brunttest.Run", s.Name)
		}
	}
	return nil
}

// guests makes the clients of the study that are not brunt's.
func (c *command) guests(s *study.Study) (map[string]*lab.Guest, error) {
	all := map[string]*lab.Guest{}
	for _, name := range s.Compositions.Names() {
		if s.Library(name) == "" {
			continue
		}
		guest, err := c.libraries(s, name)
		if err != nil {
			return nil, usageError{fmt.Errorf("composition %s: %w", name, err)}
		}
		all[name] = guest
	}
	return all, nil
}
