// Package command is the whole command: what it takes from its caller, what it
// prints, and its exit status. Another program than brunt can be it too.
package command

import (
	"context"
	"io"

	"brunt/fault"
	"brunt/lab"
	"brunt/study"
)

// Process is what the command has of its process.
type Process struct {
	// Args are the arguments behind the program's name.
	Args []string
	// Env is the environment, each as NAME=VALUE.
	Env            []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Libraries makes the client of a composition that ends in {go: NAME}; nil in a
	// program that carries none.
	Libraries func(s *study.Study, composition string) (*lab.Guest, error)
}

// Run is one call of the command. It returns the exit status.
func Run(ctx context.Context, p Process) int {
	c := &command{args: p.Args, env: p.Env, stdin: p.Stdin, stdout: p.Stdout, stderr: p.Stderr, libraries: p.Libraries}
	if _, err := fault.EnterNamespace(c.getenv); err != nil {
		return c.status(err)
	}
	root := c.root()
	root.SetArgs(c.args)
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	return c.status(root.ExecuteContext(ctx))
}
