// Command brunt runs studies of what retries, breakers, limits, hedges and
// fallbacks do to callers and to a dependency that slows, fails or vanishes.
package main

import (
	"context"
	"os"

	"brunt/command"
)

func main() {
	os.Exit(command.Run(context.Background(), command.Process{
		Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}
