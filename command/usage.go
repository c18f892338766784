package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/study"
)

// exactly takes one argument. Its error says what stands for it.
func exactly(name, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("%s is missing: expected %s; %s", name, what, seeHelp(cmd))
		case len(args) > 1:
			return tooMany(cmd, args[1], "takes one "+name)
		}
		return nil
	}
}

// noArguments takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return tooMany(cmd, args[0], "takes no arguments")
	}
	return nil
}

func tooMany(cmd *cobra.Command, first, takes string) error {
	return usagef("%q is one argument too many: `%s` %s; %s", first, cmd.CommandPath(), takes, seeHelp(cmd))
}

func seeHelp(cmd *cobra.Command) string {
	if cmd.HasParent() {
		return fmt.Sprintf("see `%s help %s`", cmd.Root().Name(), strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "))
	}
	return fmt.Sprintf("see `%s help`", cmd.Name())
}

// unknownCommand is what a command with commands of its own makes of an
// argument that is none of them.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := args[0]
	var commands []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			commands = append(commands, sub.Name())
		}
	}
	builtIn := func(b study.Listed) bool { return b.Name == name }
	hint := seeHelp(cmd)
	if near := nearest(name, commands); near != "" {
		hint = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), near)
	} else if !cmd.HasParent() && (strings.HasSuffix(name, ".yaml") || slices.ContainsFunc(study.BuiltIn(), builtIn)) {
		hint = fmt.Sprintf("that is a study: did you mean `brunt run %s`?", name)
	}
	return usagef("unknown command %q: %s", name, hint)
}

// badFlag says what is wrong with a flag, and which one may have been meant.
func badFlag(cmd *cobra.Command, err error) error {
	hint := seeHelp(cmd)
	var unknown interface {
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" && strings.HasPrefix(err.Error(), "unknown") {
		var flags []string
		for line := range strings.Lines(cmd.Flags().FlagUsages()) {
			if _, after, ok := strings.Cut(line, "--"); ok {
				name, _, _ := strings.Cut(after, " ")
				flags = append(flags, strings.TrimSpace(name))
			}
		}
		if near := nearest(unknown.GetSpecifiedName(), flags); near != "" {
			hint = fmt.Sprintf("did you mean --%s?", near)
		}
	}
	return usagef("%w: %s", err, hint)
}

// nearest returns the name that a mistyped one is nearest to, or "".
func nearest(name string, names []string) string {
	// cobra measures the distance, of the names of commands.
	all := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, n := range names {
		all.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	if near := all.SuggestionsFor(name); len(near) > 0 {
		return near[0]
	}
	return ""
}

// completionCommand makes cobra's own command for shell completion strict.
func completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = unknownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// helpCommand is cobra's, except that a command it does not know is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
