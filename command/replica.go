package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/check"
	"brunt/dependency"
	"brunt/replica"
	"brunt/study"
)

// replicaFlags are what `brunt replica` can be told.
type replicaFlags struct {
	behaviour       string
	name            string
	listen, control string
	seed            int64
	loadFor, grace  time.Duration
}

// usualReplica is a small model on one accelerator: at 64 tokens an answer it
// can do about 5 requests/s.
const usualReplica = "{first_token: {lognormal: {p50: 200ms, p95: 400ms}}, token_gap: 20ms, tokens: 64, workers: 8, queue: 100}"

func (c *command) replicaCommand() *cobra.Command {
	var f replicaFlags
	cmd := &cobra.Command{
		Use:   "replica",
		Short: "Serve a mock inference server that degrades, and fails when it is told to",
		Long: `Replica answers OpenAI-style chat completions (POST /v1/chat/completions, also as
a stream; GET /health) as a behaviour says, in the words that a study uses for
its dependencies: workers are slots, and a stream holds one to its last token.
A full queue is answered 503 with Retry-After, a failure 500.

When it listens it prints one line of JSON: listen, control, name and pid. The
control address, on loopback alone, shows the state (GET /state) and switches
modes (POST /mode):

  {"mode": "stall", "for": "2s"}   streams stop in the middle, and go on later
  {"mode": "error"}                every new request gets 500
  {"mode": "abort", "for": "0s"}   resets what is in flight; without for later ones too
  {"mode": "hang"}                 silence, on open connections
  {"mode": "slow", "factor": 4}    what begins takes so many times as long
  {"mode": "reload", "load_for": "5s"}   not ready for a time
  {"mode": "normal"}               as the behaviour says

Each may have a "for", after which it ends by itself.

SIGTERM and interrupts drain it: health says 503, streams end, for as long as
--grace. The second one quits.

Exit status: 143 and 130 when a signal has ended it, 2 for usage and a behaviour
that is none, 4 when it cannot serve.`,
		Example: `  brunt replica --name east --control 127.0.0.1:0
  brunt replica --listen 127.0.0.1:8001 --behaviour '{latency: 20ms, workers: 4, queue: 16}'
  brunt replica --behaviour model.yaml --load-for 10s`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.replica(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.behaviour, "behaviour", usualReplica, "how it behaves: a `mapping` in braces, a file, or - for stdin")
	flags.StringVar(&f.name, "name", "replica", "its `name`, in the header X-Brunt-Replica")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "the `address` for callers; port 0 takes a free one")
	flags.StringVar(&f.control, "control", "", "the `address` for control, on loopback, such as 127.0.0.1:0 (default: none)")
	flags.Int64Var(&f.seed, "seed", 1, "the `seed` of every draw")
	flags.DurationVar(&f.loadFor, "load-for", 0, "how `long` it is not ready at first, and at a reload that says nothing else")
	flags.DurationVar(&f.grace, "grace", 30*time.Second, "how `long` streams may go on when it is told to stop")
	return cmd
}

// readBehaviour reads a mapping in braces, a file, or standard input.
func (c *command) readBehaviour(text string) (dependency.Behaviour, error) {
	read := func() (dependency.Behaviour, study.Errors, error) {
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			return study.ParseBehaviour("--behaviour", text, study.Options{})
		}
		return study.ReadBehaviour(text, study.Options{Stdin: c.stdin})
	}
	b, doubts, err := read()
	var faults study.Errors
	if err != nil && !errors.As(err, &faults) {
		err = usageError{err}
	}
	for _, d := range doubts {
		fmt.Fprintln(c.stderr, "warning:", d)
	}
	return b, err
}

// listening is what a server says on stdout once it can be reached.
type listening struct {
	Listen  string `json:"listen"`
	Control string `json:"control,omitempty"`
	Name    string `json:"name"`
	PID     int    `json:"pid"`
}

func (c *command) replica(ctx context.Context, f replicaFlags) error {
	b, err := c.readBehaviour(f.behaviour)
	if err != nil {
		return err
	}
	config := replica.Config{Name: f.name, Behaviour: b, Seed: f.seed, LoadFor: f.loadFor, Grace: f.grace, Now: time.Now}
	problems := check.New()
	config.Check(problems)
	if all := problems.All(); len(all) > 0 {
		return usageError{all[0]}
	}
	ctx, signals := watchSignals(ctx, c.stderr)
	err = c.serveReplica(ctx, config, f)
	if number := signals.stop(); number != 0 {
		return interrupted{number, err}
	}
	return err
}

func (c *command) serveReplica(ctx context.Context, config replica.Config, f replicaFlags) error {
	listener, err := replica.Listen(ctx, f.listen)
	if err != nil {
		return fmt.Errorf("serve a replica: %w", err)
	}
	defer listener.Close()
	said := listening{Listen: listener.Addr().String(), Name: f.name, PID: os.Getpid()}
	var control net.Listener
	if f.control != "" {
		if control, err = replica.Listen(ctx, f.control); err != nil {
			return fmt.Errorf("serve control: %w", err)
		}
		defer control.Close()
		if !replica.IsLoopback(control) {
			return usagef("--control %s: expected a loopback address: anybody who reaches it can break the replica", f.control)
		}
		said.Control = control.Addr().String()
	}
	s, err := replica.New(config)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(c.stdout).Encode(said); err != nil {
		fmt.Fprintln(c.stderr, "brunt: nobody reads where it listens:", err) // and yet it can be found: serve
	}
	return s.Serve(ctx, listener, control)
}
