// Command brunt runs studies of what retries, breakers, limits, hedges and
// fallbacks do to callers and to a dependency that slows, fails or vanishes.
package main

import (
	"context"
	"io"
	"os"

	"brunt/fault"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command. It returns the exit status.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &command{args: args, env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	if _, err := fault.EnterNamespace(c.getenv); err != nil {
		return c.status(err)
	}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return c.status(root.ExecuteContext(ctx))
}
