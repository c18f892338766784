package command

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"brunt/policy"
	"brunt/study"
	"brunt/testbed"
)

func (c *command) checkCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:               "check STUDY",
		Short:             "Read and judge a study without running it; worst cases of each stack",
		Args:              exactly("STUDY", "a file, the name of a built-in study (brunt studies), or - for stdin"),
		ValidArgsFunction: completeStudy,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := c.read(args[0], s)
			if err != nil {
				return err
			}
			if _, err := c.guests(s); err != nil { // what a library cannot express is told here too
				return err
			}
			c.lookForServices(s)
			return c.describe(s)
		},
	}
	s.register(cmd.Flags())
	return cmd
}

// lookForServices warns of services that a run could not start. They may still be
// to be built.
func (c *command) lookForServices(s *study.Study) {
	for _, name := range s.Compositions.Names() {
		if e := s.External(name); e != nil && len(e.Command) > 0 {
			if err := testbed.FindProgram(e.Command, s.Folder()); err != nil {
				fmt.Fprintf(c.stderr, "warning: composition %s: %v\n", name, err)
			}
		}
	}
}

// describe prints what a study would do.
func (c *command) describe(s *study.Study) error {
	var b bytes.Buffer
	about := ""
	if !s.Schedule().Exact() {
		about = "about "
	}
	fmt.Fprintf(&b, "%s: %s, %v, %s%s for each of %s, %s clock\n\n", s.Name, plural(int64(len(s.Phases)), "phase"), s.Length(),
		about, plural(s.Schedule().Expected(), "request"), plural(int64(s.Compositions.Len()), "composition"), s.Clock)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "composition\tattempts per request, at most\tlongest time to an answer")
	for _, name := range s.Compositions.Names() {
		if s.HasGuest(name) {
			fmt.Fprintf(w, "%s\tnot known: %s\tas the study's horizon: %v\n", name, whose(s, name), s.Horizon)
			continue
		}
		worst := s.Worst(name)
		fmt.Fprintf(w, "%s\t%d\t%s\n", name, worst.Attempts, longest(worst.Longest, s.Horizon))
	}
	_ = w.Flush() // to memory
	describeReplays(&b, s)
	if p := s.Protocol(); p != nil {
		fmt.Fprintf(&b, "\nprotocol %s, SHA-256 %s, pins:\n\n", p, p.SHA256)
		fmt.Fprintln(w, "setting\tmust be\tclause")
		for _, pin := range s.Pins() {
			fmt.Fprintf(w, "%s\t%s %s\t%s\n", pin.Path, strings.ReplaceAll(string(pin.Relation), "_", " "), pin.Value, pin.Clause)
		}
		_ = w.Flush()
	}
	_, err := c.stdout.Write(b.Bytes())
	return err
}

// whose says who decides on the attempts of a composition that is not brunt's.
func whose(s *study.Study, composition string) string {
	if library := s.Library(composition); library != "" {
		return "the library " + library + " decides"
	}
	if e := s.External(composition); e != nil {
		return "the service at " + e.URL + " decides"
	}
	return "the client decides"
}

// describeReplays prints what stands in for dependencies, and the worst of it.
func describeReplays(b *bytes.Buffer, s *study.Study) {
	list := s.Replays()
	if len(list) == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nreplayed\tin phases\trecorded\tcompleted\tgiven up\tlongest known")
	for _, of := range list {
		from := of.Recording.Origin
		var phases []string
		for _, i := range of.Phases {
			phases = append(phases, s.Phases[i].Name)
		}
		longest, ends := of.Recording.Longest()
		bound := longest.String()
		if !ends {
			bound += fmt.Sprintf(", and %.3g %% never end", 100*of.Recording.Endless())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", of.Dependency, strings.Join(phases, ", "), plural(from.Calls, "call"), from.Completed, from.Cut, bound)
	}
	_ = w.Flush() // to memory
}

// longest writes the longest time to an answer, which the horizon ends.
func longest(d, horizon time.Duration) string {
	switch {
	case d == policy.Unbounded:
		return fmt.Sprintf("no bound of its own: censored at the horizon, %v", horizon)
	case d > horizon:
		return fmt.Sprintf("%v, but censored at the horizon, %v", d, horizon)
	}
	return d.String()
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
