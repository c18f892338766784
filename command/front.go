package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"brunt/dependency"
	"brunt/front"
)

// frontFlags are what `brunt front` can be told.
type frontFlags struct {
	front.Config
	upstreams []string
	balancer  string
	listen    string
	control   string
	log       string
}

func (c *command) frontCommand() *cobra.Command {
	f := frontFlags{Config: front.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "front --upstream NAME=URL",
		Short: "Spread requests over replicas, one by one, and log where each went",
		Long: `Front is an HTTP/1.1 front for measurements. It sends each request to one
replica, once: there are no retries, no caps on connections, no buffering of
streams, and by default no timeouts. What breaks behind it breaks for the caller
in the same way.

Every answer says which replica it is from (X-Brunt-Replica; none when none was
up), and one that the front made itself says why (X-Brunt-Error: connect, reset,
malformed, timeout, none-up).

The log has two JSON lines for each request, by X-Request-Id, which is made up
if missing: routed as soon as the replica is chosen, done at the end. It also
tells when a replica came up or went down. It is written at least every 100 ms.

Once it listens it prints one line of JSON with its addresses. GET /state at the
control address tells how the replicas are. The first interrupt or SIGTERM stops
it: requests in flight may end, for as long as --drain says. A second one ends it
at once.

Exit status: 0 when all requests had ended, 2 for usage, 4 when it could not
serve or answers were cut off, 130 and 143 when a second signal ended it.`,
		Example: `  brunt front --upstream a=http://127.0.0.1:8001 --upstream b=http://127.0.0.1:8002 --listen 127.0.0.1:8000 --log front.jsonl`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(f.upstreams) == 0 {
				return usagef("--upstream is missing: expected NAME=http://HOST:PORT; %s", seeHelp(cmd))
			}
			return c.front(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.upstreams, "upstream", nil, "a replica: `NAME=http://HOST:PORT`; may be given again")
	flags.StringVar(&f.balancer, "balancer", string(f.Balancer), "how a replica is chosen: round_robin, random, least_loaded or two_choices")
	flags.Int64Var(&f.Seed, "seed", 1, "the seed of what the balancer draws")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "the `address` to take requests at; port 0 for any free one")
	flags.StringVar(&f.control, "control", "127.0.0.1:0", "the `address` that tells the state")
	flags.StringVar(&f.log, "log", "", "the `file` for the access log; it is appended to")
	flags.StringVar(&f.Health.Path, "health", f.Health.Path, "the `path` of the health checks; empty for none")
	flags.DurationVar(&f.Health.Interval, "interval", f.Health.Interval, "from the start of a check to the next")
	flags.DurationVar(&f.Health.Timeout, "timeout", f.Health.Timeout, "how long a check may take")
	flags.IntVar(&f.Health.Fall, "fall", f.Health.Fall, "how many failed checks in a row take a replica down")
	flags.IntVar(&f.Health.Rise, "rise", f.Health.Rise, "how many good checks in a row bring it up again")
	flags.IntVar(&f.Passive, "passive", 0, "how many failed requests in a row take a replica down; 0 for never")
	flags.DurationVar(&f.ConnectTimeout, "connect-timeout", 0, "how long connecting may take; 0s for no limit")
	flags.DurationVar(&f.AnswerTimeout, "answer-timeout", 0, "how long a replica may take to begin its answer; 0s for no limit")
	flags.DurationVar(&f.Drain, "drain", f.Drain, "how long requests in flight may take to end when the front is stopped")
	return cmd
}

// front serves until a signal comes.
func (c *command) front(ctx context.Context, f frontFlags) (err error) {
	f.Balancer = dependency.Balancing(f.balancer)
	for _, s := range f.upstreams {
		u, err := front.ParseUpstream(s)
		if err != nil {
			return usageError{err}
		}
		f.Upstreams = append(f.Upstreams, u)
	}
	out := io.Discard
	if f.log != "" {
		file, err := front.OpenLog(f.log)
		if err != nil {
			return usageError{err}
		}
		defer file.Close() // Serve has told whether all was written
		out = file
	}
	// One look at the wall clock: instants in the log never jump.
	begun := time.Now()
	clock := front.Clock{Now: func() time.Time { return begun.Add(time.Since(begun)).UTC().Round(0) }, After: time.After}
	server, err := front.New(f.Config, clock, front.NewLog(out))
	if err != nil {
		return usageError{err}
	}

	ctx, signals := watchSignals(ctx, c.stderr)
	defer signals.stop()
	listener, err := plainTCP(ctx, f.listen)
	if err != nil {
		return err
	}
	control, err := plainTCP(ctx, f.control)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	line, err := json.Marshal(struct {
		Listen    string           `json:"listen"`
		Control   string           `json:"control"`
		Upstreams []front.Upstream `json:"upstreams"`
		PID       int              `json:"pid"`
	}{listener.Addr().String(), control.Addr().String(), f.Upstreams, os.Getpid()})
	if err == nil {
		_, err = fmt.Fprintf(c.stdout, "%s\n", line)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("saying where it listens: %w", err), listener.Close(), control.Close())
	}
	return server.Serve(ctx, listener, control)
}

// plainTCP listens with plain TCP: filters on sockets do not see Multipath TCP.
func plainTCP(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", address, err)
	}
	return l, nil
}
