package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"brunt/lab"
)

type dependencyFlags struct {
	settings
	onFirst bool
	json    bool
}

func (c *command) dependencyCommand() *cobra.Command {
	var f dependencyFlags
	cmd := &cobra.Command{
		Use:   "dependency STUDY",
		Short: "Serve the simulated dependencies of a study over HTTP",
		Long: `Dependency serves the simulated dependencies of a study over HTTP/1.1 and HTTP/2:
any method, any path. They behave as the study says, phase after phase on the
real clock; the last phase lasts until you stop it. Each is where serve says, or
on a free port of this machine.

Stdout has a line for each dependency, its name and its URL; at the end, after
Ctrl-C, what was asked of each in each phase. To load a service of yours and
measure it as well, write {external: {url: …}} into a composition of the study
and let brunt run do both.`,
		Example: `  brunt dependency outage
  brunt dependency mine.yaml --on-first
  brunt dependency outage --set 'serve={service: "127.0.0.1:9001"}' --json`,
		Args:              exactly("STUDY", "a file, or the name of a built-in study"),
		ValidArgsFunction: completeStudy,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.dependency(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.BoolVar(&f.onFirst, "on-first", false, "begin the first phase with the first attempt, and not at once")
	flags.BoolVar(&f.json, "json", false, "write JSON: a line with the URLs, and one at the end")
	return cmd
}

// dependency serves until a signal comes.
func (c *command) dependency(ctx context.Context, source string, f dependencyFlags) error {
	s, err := c.read(source, f.settings)
	if err != nil {
		return err
	}
	ctx, signals := watchSignals(ctx, io.Discard)
	served, err := lab.ServeDependencies(ctx, s, lab.StandaloneOptions{
		OnFirst: f.onFirst,
		Ready: func(urls map[string]string) error {
			if f.json {
				return json.NewEncoder(c.stdout).Encode(map[string]any{"urls": urls})
			}
			for _, name := range slices.Sorted(maps.Keys(urls)) {
				if _, err := fmt.Fprintln(c.stdout, name, urls[name]); err != nil {
					return fmt.Errorf("say where it listens: %w", err)
				}
			}
			return nil
		},
		Phase: func(name string) { fmt.Fprintln(c.stderr, "phase", name) },
	})
	signals.stop()
	switch {
	case errors.Is(err, lab.ErrNothingServed):
		return usageError{fmt.Errorf("serve the dependencies of %s: %w", s.Name, err)}
	case err != nil:
		return err
	case f.json:
		return json.NewEncoder(c.stdout).Encode(served)
	}
	return writeServed(c.stdout, served)
}

// writeServed writes what was asked of dependencies as a table.
func writeServed(out io.Writer, served *lab.Standalone) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "Phase\tDependency\tAttempts\tCompleted\tCancelled\tFailed\t")
	for _, p := range served.Phases {
		for _, d := range p.Dependencies {
			var failed []string
			for _, cause := range slices.Sorted(maps.Keys(d.Causes)) {
				failed = append(failed, fmt.Sprintf("%d %s", d.Causes[cause], cause))
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t\n", p.Phase, d.Dependency, d.Attempts, d.Completed, d.Cancelled, strings.Join(failed, ", "))
		}
	}
	return w.Flush()
}
