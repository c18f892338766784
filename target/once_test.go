package target

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brunt/record"
)

// Ends of a kept-alive connection at the moments at which clients are tempted
// to send a request again.
var deaths = []struct {
	name string
	play func(p *peer)
	// What becomes of the request that meets the end, if it was written.
	cause record.Cause
}{
	// between two requests: nothing is lost
	{"ends while idle", func(p *peer) {
		if p.read() {
			p.say(hello)
		}
	}, record.None},
	{"resets while idle", func(p *peer) {
		if p.read() {
			p.say(hello)
			// The client has read the answer once it has closed or asked again.
			if p.read() {
				p.rst()
			}
		}
	}, record.Reset},
	{"ends upon the second request", func(p *peer) {
		if p.read() {
			p.say(hello)
			p.read()
		}
	}, record.Reset},
	{"says that it ends, late", func(p *peer) {
		if p.read() {
			p.say(hello)
			if p.read() {
				p.say("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			}
		}
	}, record.Status},
	{"ends within the answer", func(p *peer) {
		if p.read() {
			p.say(hello)
			if p.read() {
				p.say(hello[:20])
			}
		}
	}, record.Stream},
}

// Each request is written at most once, whatever its method.
func TestWrittenOnce(t *testing.T) {
	for _, death := range deaths {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
			t.Run(death.name+" "+method, func(t *testing.T) {
				s := serve(t, func(p *peer) {
					if method == "HEAD" { // it has no body
						q := *p
						q.Conn = headless{p.Conn}
						p = &q
					}
					death.play(p)
				})
				caller := newCaller(t, s.url, func(c *Config, _ *Env) { c.Method = method })
				const calls = 20
				written := 0
				for i := range int64(calls) {
					a := start(t, caller, i, record.Never).end()
					written += a.Writes
					if a.Cause != record.None && a.Cause != death.cause && !(a.Cause == record.Reset && death.cause == record.None) {
						t.Errorf("%+v", a)
					}
				}
				if again := s.twice(); again != nil {
					t.Errorf("written more than once: %v", again)
				}
				if written != calls || s.count() > calls {
					t.Errorf("%d calls, written %d times, seen %d", calls, written, s.count())
				}
			})
		}
	}
}

// headless leaves out the body of hello.
type headless struct{ net.Conn }

func (c headless) Write(b []byte) (int, error) {
	n := len(b)
	_, err := c.Conn.Write([]byte(strings.TrimSuffix(string(b), "hello")))
	return n, err
}

// The trap of TestWrittenOnce catches a client that sends again: net/http's.
func TestTrapCatches(t *testing.T) {
	s := serve(t, deaths[2].play)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for i := range 2 {
		r, err := http.NewRequest("GET", s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Request-Id", fmt.Sprint(i))
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 10)
		for err == nil {
			_, err = answer.Body.Read(buffer)
		}
		_ = answer.Body.Close()
	}
	if s.twice() == nil {
		t.Error("net/http sent no request twice: this server would catch nobody")
	}
}

// However a server mixes its ends, with calls side by side, no request is
// written twice, and each that was not answered says so.
func TestWrittenOnceProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ends := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 12).Draw(r, "ends")
		side := rapid.IntRange(1, 8).Draw(r, "side by side")
		s := serve(t, func(p *peer) {
			for i := p.number; p.read(); i++ {
				switch ends[i%len(ends)] {
				case 0:
					return
				case 1:
					p.rst()
					return
				case 2:
					p.say(hello[:len(hello)-2])
					return
				default:
					p.say(hello)
				}
			}
		})
		caller := newCaller(t, s.url)
		var all []*running
		completed := 0
		for i := range int64(40) {
			all = append(all, start(t, caller, i, record.Never))
			if len(all) == side {
				for _, one := range all {
					if a := one.end(); a.Cause == record.None {
						completed++
					}
				}
				all = nil
			}
		}
		for _, one := range all {
			if a := one.end(); a.Cause == record.None {
				completed++
			}
		}
		if again := s.twice(); again != nil {
			r.Fatalf("written more than once: %v", again)
		}
		if completed > s.count() {
			r.Fatalf("%d completed of %d that were seen", completed, s.count())
		}
	})
}
