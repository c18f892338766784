package upstream

import (
	"context"
	"encoding/binary"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"brunt/record"
)

// frame is one of HTTP/2 (RFC 9113, section 4.1).
func frame(kind, flags byte, stream uint32, payload string) string {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head[0:4], uint32(len(payload))<<8)
	head[3], head[4] = kind, flags
	binary.BigEndian.PutUint32(head[5:9], stream)
	return string(append(head, payload...))
}

const (
	data, headers, rst, settings = 0, 1, 3, 4

	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// GET, http, /, and the authority x, from HPACK's static table (RFC 7541).
	asking = "\x82\x86\x84\x41\x01x"
)

// readFrame reads the kind and the stream of a frame.
func readFrame(in io.Reader) (kind byte, stream uint32, err error) {
	var head [9]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, 0, err
	}
	size := binary.BigEndian.Uint32(head[0:4]) >> 8
	_, err = io.CopyN(io.Discard, in, int64(size))
	return head[3], binary.BigEndian.Uint32(head[5:9]), err
}

// A stream with a window of 0 is reset in the end, whatever else its connection
// does.
func TestUnreadStreams(t *testing.T) {
	for _, test := range []struct {
		name string
		b    Backend
		room byte // of the window
		want time.Duration
	}{
		{"at once", always(Reply{}), 0, writeTime},
		{"little by little", planned(Plan{After: second, FirstToken: record.Never, Wire: trickling("body", 100)}, Reply{Wire: trickling("body", 100)}), 0, writeTime + 20*ms},
		{"the last piece", planned(Plan{After: second, FirstToken: record.Never, Wire: trickling("body", 100)}, Reply{Wire: trickling("body", 100)}), 99, writeTime + second},
		{"tokens", planned(Plan{After: second, FirstToken: 100 * ms, Tokens: 100}, Reply{Tokens: 100}), 0, writeTime + 100*ms},
		{"tokens all at once", always(Reply{Tokens: 100}), 0, writeTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := inBubble(test.b)
				c := p.dial()
				start := time.Now()
				go io.WriteString(c, preface+frame(settings, 0, 0, "\x00\x04\x00\x00\x00"+string(rune(test.room)))+frame(headers, 5, 1, asking))
				for {
					kind, stream, err := readFrame(c)
					if err != nil {
						t.Fatal(err)
					}
					if kind == data && test.room == 0 {
						t.Error("there was no room for data")
					}
					if kind == rst && stream == 1 {
						break
					}
				}
				if took := time.Since(start); (took - test.want).Abs() > 25*ms {
					t.Errorf("it ends after %v, want %v", took, test.want)
				}
				c.Close()
				s.Close()
			})
		})
	}
}

// Tokens that are far apart are no client that takes nothing.
func TestLongStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := inBubble(planned(Plan{After: 10 * writeTime, FirstToken: writeTime, Tokens: 4}, Reply{Tokens: 4}))
		c := p.dial()
		go io.WriteString(c, preface+frame(settings, 0, 0, "")+frame(headers, 5, 1, asking))
		events := 0
		for start := time.Now(); time.Since(start) < 10*writeTime; {
			kind, _, err := readFrame(c)
			if err != nil || kind == rst {
				t.Fatalf("after %v: frame %d, %v", time.Since(start), kind, err)
			}
			if kind == data {
				events++
			}
		}
		if events != 4 {
			t.Errorf("%d pieces", events)
		}
		c.Close()
		s.Close()
	})
}

// An HTTP/2 client has room for many requests at a time, and leaves without being
// counted; one that breaks the protocol is.
func TestStreamsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			after     string
			malformed int64
		}{
			{"", 0},
			{frame(data, 0, 0, "x"), 1}, // of no stream
		} {
			end := make(chan struct{})
			s, p := inBubble(backend(func(context.Context, Arrival, func(Plan)) Reply {
				<-end
				return Reply{}
			}))
			c := p.dial()
			go io.Copy(io.Discard, c)
			text := preface + frame(settings, 0, 0, "")
			for n := range uint32(mostStreams) {
				text += frame(headers, 5, 2*n+1, asking)
			}
			send(t, c, text)
			synctest.Wait()
			if got := s.Stats(); got.Requests != mostStreams {
				t.Errorf("%+v", got)
			}
			close(end)
			synctest.Wait()
			send(t, c, test.after)
			synctest.Wait()
			c.Close()
			s.open.Wait()
			if got := s.Stats(); got.Malformed != test.malformed {
				t.Errorf("after %q: %+v", test.after, got)
			}
			s.Close()
		}
	})
}

// A stream that is reset takes nothing from its connection, not even its end.
func TestConnectionOfReset(t *testing.T) {
	s := listenOn(t, always(Reply{Cause: record.Reset}))
	c := dial(t, s)
	send(t, c, preface+frame(settings, 0, 0, "")+frame(headers, 5, 1, asking))
	for {
		kind, stream, err := readFrame(c)
		if err != nil {
			t.Fatal(err)
		}
		if kind == rst && stream == 1 {
			break
		}
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Error(err)
	}
}

// A client that opens streams and resets them at once costs a bounded number of
// attempts at a time.
func TestRapidReset(t *testing.T) {
	var now, most atomic.Int64
	s := listenOn(t, backend(func(ctx context.Context, _ Arrival, _ func(Plan)) Reply {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-ctx.Done()
		return Reply{Err: ctx.Err()}
	}))
	c := dial(t, s)
	var all strings.Builder
	all.WriteString(preface + frame(settings, 0, 0, ""))
	const streams = 6000
	for n := range uint32(streams) {
		all.WriteString(frame(headers, 5, 2*n+1, asking) + frame(rst, 0, 2*n+1, "\x00\x00\x00\x08"))
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, c)
	}()
	_, _ = io.WriteString(c, all.String()) // the server may end the connection before
	_ = c.CloseWrite()
	<-ended
	await(t, s, "ended", func(now Stats) bool { return now.Open == 0 })
	if most.Load() > mostStreams {
		t.Errorf("%d attempts at a time", most.Load())
	}
	if n := s.Stats().Requests; n == 0 || n > streams {
		t.Errorf("%d attempts", n)
	}
}
