package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"brunt/report"
)

func (c *command) chartCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "chart FOLDER [NAME]",
		Short: "Draw one chart of a run as an SVG file; without a name, list the charts",
		Long: `Draw one chart of report.html as an SVG file, for documents and chats: it needs
nothing besides itself and follows a dark or a light scheme. Without a name, the
charts of the run are listed, each with its title.

A file that is there already is not written over: remove it, or use > with stdout.`,
		Example: `  brunt chart runs/outage
  brunt chart runs/outage timeline/retry -o retry.svg
  brunt chart runs/outage completion/outage >completion.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("FOLDER is missing: expected a folder that `brunt run` wrote; %s", seeHelp(cmd))
			case len(args) > 2:
				return tooMany(cmd, args[2], "takes a FOLDER and a NAME")
			}
			return nil
		},
		ValidArgsFunction: completeFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && out != "" {
				return usagef("--out %s without the name of a chart: `brunt chart %s` lists them", out, args[0])
			}
			list, err := c.chartsOf(args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
				for _, one := range list {
					fmt.Fprintf(w, "%s\t%s\n", one.Name, one.Title)
				}
				return w.Flush()
			}
			i := slices.IndexFunc(list, func(one report.Chart) bool { return one.Name == args[1] })
			if i < 0 {
				return unknownChart(args[0], args[1], list)
			}
			if out == "" || out == "-" {
				_, err := fmt.Fprint(c.stdout, list[i].SVG)
				return err
			}
			return writeWhole(out, []byte(list[i].SVG))
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the `file` to write (default: stdout)")
	return cmd
}

// chartsOf draws the charts of the run in a folder.
func (c *command) chartsOf(path string) ([]report.Chart, error) {
	folder, result, _, err := openRun(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if !result.Valid {
		fmt.Fprintf(c.stderr, "brunt: the run in %s is not valid: it shows no charts\n", path)
		return nil, statusError(statusInvalid)
	}
	return report.Charts(result)
}

func unknownChart(folder, name string, list []report.Chart) error {
	var names []string
	for _, one := range list {
		names = append(names, one.Name)
	}
	hint := fmt.Sprintf("`brunt chart %s` lists them", folder)
	if near := nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return usagef("the run in %s has no chart %q: %s", folder, name, hint)
}

// writeWhole writes a file that must not be there yet, whole or not at all: under
// another name first. A second name never takes the place of a file, as a new one
// would; where the file system has no second names, it is looked for once more.
func writeWhole(path string, text []byte) (err error) {
	defer func() {
		if err != nil && !errors.As(err, new(usageError)) {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	there := usagef("%s is there already: remove it, or name another file with --out", path)
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("write %s: %w", path, err)
	} else if err != nil {
		return err
	}
	defer func() {
		if lost := os.Remove(tmp.Name()); !errors.Is(lost, fs.ErrNotExist) {
			err = errors.Join(err, lost)
		}
	}()
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	err = os.Link(tmp.Name(), path)
	if _, seen := os.Lstat(path); err != nil && errors.Is(seen, fs.ErrNotExist) {
		return os.Rename(tmp.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return there
	}
	return err
}
