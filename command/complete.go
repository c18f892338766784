package command

import (
	"github.com/spf13/cobra"

	"brunt/study"
)

// completeStudy offers the built-in studies, and files.
func completeStudy(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return builtInNames(), cobra.ShellCompDirectiveDefault
}

// completeBuiltIn offers the built-in studies alone.
func completeBuiltIn(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return builtInNames(), cobra.ShellCompDirectiveNoFileComp
}

func builtInNames() []cobra.Completion {
	var all []cobra.Completion
	for _, b := range study.BuiltIn() {
		all = append(all, cobra.CompletionWithDesc(b.Name, b.Question))
	}
	return all
}

// completeFolder offers folders.
func completeFolder(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// offer has a shell offer the values of a flag.
func offer(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag was not declared
	}
}
