// Command adapters is brunt with well-known Go libraries in it: the whole
// command, which also runs studies whose compositions end in {go: NAME}.
//
//	go run -C adapters . run studies/libraries.yaml
//	go run -C adapters . conformance
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"brunt/adapters/conformance"
	"brunt/adapters/libraries"
	"brunt/command"
	"brunt/lab"
	"brunt/study"
)

func main() {
	os.Exit(run(context.Background(), command.Process{
		Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}

// run is one call of the command. It returns the exit status.
func run(ctx context.Context, p command.Process) int {
	if len(p.Args) > 0 && p.Args[0] == "conformance" {
		return conformance.Command(ctx, p.Args[1:], p.Stdout, p.Stderr)
	}
	p.Libraries = noting(p.Stderr)
	return command.Run(ctx, p)
}

// noting makes the client of a composition, and says what is different from the
// study.
func noting(w io.Writer) func(*study.Study, string) (*lab.Guest, error) {
	return func(s *study.Study, composition string) (*lab.Guest, error) {
		guest, err := libraries.New(s, composition)
		if err != nil {
			return nil, err
		}
		notes, err := libraries.Notes(s, composition)
		for _, note := range notes {
			fmt.Fprintf(w, "note: composition %s, %s\n", composition, note)
		}
		return guest, err
	}
}
