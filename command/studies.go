package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"brunt/study"
)

func (c *command) studiesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "studies",
		Short: "List the built-in studies",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
			for _, b := range study.BuiltIn() {
				fmt.Fprintf(w, "%s\t%s\n", b.Name, b.Question)
			}
			return w.Flush()
		},
	}
}

func (c *command) initCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:               "init NAME",
		Short:             "Write a built-in study to a file to start from",
		Args:              exactly("NAME", "the name of a built-in study (brunt studies)"),
		ValidArgsFunction: completeBuiltIn,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := study.Source(args[0])
			if err != nil {
				return usageError{err}
			}
			if out == "-" {
				_, err := c.stdout.Write(text)
				return err
			}
			if out == "" {
				out = args[0] + ".yaml"
			}
			if err := writeNew(out, text); err != nil {
				return err
			}
			fmt.Fprintf(c.stderr, "wrote %s; run it with: brunt run %s\n", out, asArgument(out))
			return nil
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "the `file` to write (default: NAME.yaml; - for stdout)")
	return cmd
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already: remove it, or name another file with --out", path)
	} else if err != nil {
		return usagef("write a study: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write a study: %w", err), os.Remove(path))
	}
	return nil
}

// asArgument writes a file's name so that it is not taken for a built-in one.
func asArgument(path string) string {
	if strings.ContainsAny(path, "/.") {
		return path
	}
	return "./" + path
}
