package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"brunt/record"
)

// Without descriptors it waits, longer each time, and goes on.
func TestNoDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		for range 5 {
			p.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
		}
		start := time.Now()
		s := serve([]*port{newPort(Address{Name: "primary"}, p)}, always(Reply{}))
		c := p.dial()
		if waited := time.Since(start); waited < 100*ms || waited > 5*second {
			t.Errorf("it went on after %v", waited)
		}
		send(t, c, last)
		if _, body := parse(t, readPieces(c)); len(body) != 64 {
			t.Errorf("%q", body)
		}
		if got := s.Stats(); got.Complaints != 5 {
			t.Errorf("%+v", got)
		}
		c.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A listener that fails for good is told at the end.
func TestAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := inBubble(always(Reply{}))
		p.errs <- errors.New("the card is gone")
		s.loops.Wait()
		for range 2 {
			if err := s.Close(); err == nil || err.Error() != `serve dependency "primary" on http://pipes: the card is gone` {
				t.Error(err)
			}
		}
	})
}

// Whatever its clients are at, a server ends. Who waits for an answer is reset.
func TestClose(t *testing.T) {
	var here sync.WaitGroup
	var ended atomic.Int64
	s := listenOn(t, backend(func(ctx context.Context, a Arrival, begin func(Plan)) Reply {
		takes := 0 * ms // the run to notice
		switch a.Request {
		case "framed":
			takes = 50 * ms // longer than its connection lives
		case "trickled":
			begin(Plan{After: time.Hour, FirstToken: record.Never, Wire: trickling("body", 1000)})
		}
		here.Done()
		<-ctx.Done()
		<-time.After(takes)
		ended.Add(1)
		return Reply{Err: ctx.Err()}
	}))
	dial(t, s)                                  // a silent one
	send(t, dial(t, s), "GET / HTTP/1.1\r\nX:") // half a header
	here.Add(5)
	waiting := dial(t, s)
	send(t, waiting, get)
	trickled := dial(t, s)
	send(t, trickled, "GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: trickled\r\n\r\n")
	pipelined := dial(t, s)
	send(t, pipelined, get+get)
	posted := dial(t, s)
	send(t, posted, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
	framed := dial(t, s)
	send(t, framed, preface+frame(settings, 0, 0, "")+frame(headers, 5, 1, asking+"\x40\x0cx-request-id\x06framed"))
	here.Wait()
	start := time.Now()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*second {
		t.Errorf("it took %v", took)
	}
	if n := ended.Load(); n != 5 {
		t.Errorf("%d attempts have ended", n)
	}
	if s.enter() {
		t.Error("it takes more")
	}
	for name, c := range map[string]*net.TCPConn{"waiting": waiting, "pipelined": pipelined, "posted": posted, "trickled": trickled} {
		if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.Stats(); got.Open != 0 || got.Requests != 5 {
		t.Errorf("%+v", got)
	}
	if c, err := net.Dial("tcp", waiting.RemoteAddr().String()); err == nil {
		c.Close()
		t.Error("it listens on")
	}
}

// A client that has sent the beginning of its next request cannot be seen to
// leave, and does not hold the server up.
func TestClosePipelined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := inBubble(planned(Plan{After: record.Never, FirstToken: record.Never}, Reply{}))
		c := p.dial()
		send(t, c, get)
		send(t, c, "G")
		start := time.Now()
		s.Close()
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		c.Close()
	})
}

// lastMinute is a listener that takes one more connection while it is closed.
type lastMinute struct {
	*pipes
	conn chan net.Conn
}

func (l lastMinute) Accept() (net.Conn, error) {
	c, err := l.pipes.Accept()
	if err != nil {
		<-time.After(second)
		select {
		case c := <-l.conn:
			return c, nil
		default:
		}
	}
	return c, err
}

func TestCloseInTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		l := lastMinute{newPipes(), make(chan net.Conn, 1)}
		l.conn <- theirs
		s := serve([]*port{newPort(Address{Name: "primary"}, l)}, always(Reply{}))
		synctest.Wait()
		start := time.Now()
		s.Close()
		if took := time.Since(start); took > 3*second {
			t.Errorf("it took %v", took)
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the last connection: %v", err)
		}
	})
}

// A connection that comes while the server ends does not hold it up.
func TestCloseWhileConnecting(t *testing.T) {
	for range 20 {
		s := listenOn(t, always(Reply{}))
		address := s.ports[0].listener.Addr().String()
		started, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			var conns []net.Conn
			for n := 0; ; n++ {
				c, err := net.Dial("tcp", address)
				if err != nil {
					break
				}
				if conns = append(conns, c); n == 10 {
					close(started)
				}
			}
			for _, c := range conns {
				c.Close()
			}
		}()
		<-started
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 5*second {
			t.Errorf("it took %v", took)
		}
		<-ended
	}
}
