package command

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// hangups lets a run outlive the terminal that it tells of itself on: the
// results are in its folder, and nobody has asked for it to end. A hang-up that
// comes while the terminal is there is somebody's wish, as an interrupt is.
type hangups struct {
	came      chan os.Signal
	terminals []*os.File
	lost      atomic.Bool // the terminal is gone
	done      chan struct{}
}

// outlive begins to watch for hang-ups, where any of the files is a terminal.
// wish takes those that are somebody's. Whoever calls it calls stop, once.
func outlive(wish chan<- os.Signal, files ...io.Writer) *hangups {
	h := &hangups{came: make(chan os.Signal, 1), done: make(chan struct{})}
	for _, w := range files {
		if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			h.terminals = append(h.terminals, f)
		}
	}
	if len(h.terminals) > 0 && !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(h.came, syscall.SIGHUP)
	}
	go func() {
		defer close(h.done)
		for sig := range h.came {
			if h.gone() {
				h.lost.Store(true)
				continue
			}
			select {
			case wish <- sig:
			default: // one has come already
			}
		}
	}()
	return h
}

// gone reports whether a terminal is none any more. The system takes it away
// before it sends the signal.
func (h *hangups) gone() bool {
	for _, f := range h.terminals {
		if !term.IsTerminal(int(f.Fd())) {
			return true
		}
	}
	return false
}

// unread reports whether an error of writing a report is that the terminal it
// should have gone to has gone away.
func (h *hangups) unread(err error) bool {
	return errors.Is(err, syscall.EIO) && h.gone()
}

// stop ends the watch. Where the terminal is gone hang-ups go on being nothing:
// they may come more than once, from the system and from a shell.
func (h *hangups) stop() {
	if h.lost.Load() {
		signal.Ignore(syscall.SIGHUP)
	}
	signal.Stop(h.came)
	close(h.came)
	<-h.done
}
