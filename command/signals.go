package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// signals watches over a run: the first interrupt cancels its context, so that
// arrivals stop and what is in flight drains; the second ends the process.
type signals struct {
	came   chan os.Signal
	cancel context.CancelFunc
	pipes  chan os.Signal // takes what would end the process when nobody reads stderr
	done   chan struct{}
	number int // of the signal that came, or 0; to be read after done is closed
}

// watchSignals begins to watch. The context that it returns is cancelled by the
// first signal. Whoever watches calls stop, once.
func watchSignals(ctx context.Context, notices io.Writer) (context.Context, *signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &signals{cancel: cancel, came: make(chan os.Signal, 1), pipes: make(chan os.Signal), done: make(chan struct{})}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(sig) { // a shell has what runs in the background ignore interrupts
			signal.Notify(s.came, sig)
		}
	}
	signal.Notify(s.pipes, syscall.SIGPIPE) // a notice that nobody reads must not cost the results
	go func() {
		defer close(s.done)
		sig, ok := <-s.came
		if !ok {
			return
		}
		signal.Stop(s.came) // from now on a signal ends the process
		number, _ := sig.(syscall.Signal)
		s.number = int(number)
		cancel()
		fmt.Fprintln(notices, "brunt: stopping arrivals and draining; once more to quit at once")
	}()
	return ctx, s
}

// stop ends the watch and returns the number of the signal that came, or 0.
func (s *signals) stop() int {
	signal.Stop(s.came)
	close(s.came)
	<-s.done
	s.cancel()
	signal.Stop(s.pipes)
	return s.number
}
