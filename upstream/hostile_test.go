package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"brunt/record"
)

// await waits until a server has seen something.
func await(t testing.TB, s *Server, what string, seen func(Stats) bool) {
	t.Helper()
	tick := time.NewTicker(ms)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !seen(s.Stats()) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: %+v", what, s.Stats())
		}
	}
}

// well reports whether a server still answers.
func well(t testing.TB, s *Server) {
	t.Helper()
	c := dial(t, s)
	send(t, c, last)
	text, err := io.ReadAll(c)
	if _, body, parsed := parseAnswer(string(text)); err != nil || parsed != nil || len(body) != 64 {
		t.Errorf("a good request after it: %q, %v", text, errors.Join(err, parsed))
	}
}

func TestMalformed(t *testing.T) {
	for _, test := range []struct {
		name, text string
		status     int // 0 for none
	}{
		{"junk", "\x00\x01\x02\x03\r\n\r\n", 400},
		{"the beginning of TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"no version", "GET /\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"a length and chunks", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n", 501},
		{"two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", 400},
		{"a negative length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -4\r\n\r\n", 400},
		{"a space before the colon", "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n", 400},
		{"a folded field", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
		{"a large header", "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
		{"many fields", "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 15<<10) + "\r\n", 431},
		{"HTTP/2 gone wrong", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", 0},
		{"another version", "GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505},
		{"another expectation", "GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n", 417},
		{"a chunk of no size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 0},
		{"a huge chunk", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 0},
		{"half a header", "GET / HTTP/1.1\r\nHost: x\r\nX:", 400},
		{"half a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{}", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // some end slowly
			s := listenOn(t, always(Reply{}))
			c := dial(t, s)
			send(t, c, test.text)
			_ = c.CloseWrite()       // the server may have ended the connection before
			text, _ := io.ReadAll(c) // what is not read resets the connection
			status := 0
			if len(text) > 0 {
				if _, err := fmt.Sscanf(string(text), "HTTP/1.1 %d", &status); err != nil {
					t.Errorf("%q: %v", text, err)
				}
			}
			if status != test.status {
				t.Errorf("status %d, want %d: %q", status, test.status, text)
			}
			await(t, s, "counted", func(now Stats) bool { return now.Malformed == 1 && now.Requests == 0 })
			well(t, s)
		})
	}
}

// With a length and chunks, the chunks count (RFC 9112, section 6.3).
func TestLengthAndChunks(t *testing.T) {
	s := listenOn(t, backend(func(_ context.Context, a Arrival, _ func(Plan)) Reply { return Reply{Wire: body64(len(a.Request))} }))
	c := dial(t, s)
	send(t, c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\n\r\n"+
		"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: second\r\nConnection: close\r\n\r\n")
	in := bufio.NewReader(c)
	for _, size := range []int{0, len("second")} {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err != nil || len(text) != size {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// Requests that come before their turn are answered in order.
func TestPipelining(t *testing.T) {
	s := listenOn(t, backend(func(_ context.Context, a Arrival, _ func(Plan)) Reply {
		return Reply{Wire: body64(len(a.Request))}
	}))
	c := dial(t, s)
	var all strings.Builder
	for n := range 50 {
		body := strings.Repeat("b", n)
		fmt.Fprintf(&all, "POST / HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s", strings.Repeat("x", n+1), n, body)
	}
	send(t, c, all.String())
	in := bufio.NewReader(c)
	for n := range 50 {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || len(text) != n+1 {
			t.Fatalf("answer %d has %d bytes, %v", n, len(text), err)
		}
	}
}

// A body that is too large is not read to its end.
func TestLargeBody(t *testing.T) {
	s := listenOn(t, always(Reply{}))
	s.mostBody = 1 << 20
	response, err := client(t, false).Post(s.URL(7), "text/plain", io.LimitReader(zeros{}, 1<<20+100))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if stats := s.Stats(); response.StatusCode != 413 || stats.Requests != 0 || stats.Malformed != 1 {
		t.Errorf("%s, %+v", response.Status, stats)
	}
	well(t, s)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// How long a client may take, and be silent.
func TestSlowClients(t *testing.T) {
	const body = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
	for _, test := range []struct {
		name  string
		sends string
		pause time.Duration // before it
		drips time.Duration // between single bytes; 0 for no more
		want  time.Duration // when the connection ends
	}{
		{"nothing", "", 0, 0, idleTime},
		{"half a header", "GET / HT", 0, 0, headerTime},
		{"half a header, after a while", "GET / HT", time.Minute, 0, time.Minute + headerTime},
		{"a header that drips", "GET / HTTP/1.1\r\nX: ", 0, time.Second, headerTime},
		{"half a body", body, 0, 0, bodyTime},
		{"a body that drips", body, 0, time.Second, bodyTime},
		{"a request and nothing more", get, 0, 0, idleTime},
		{"a request after a while, and nothing more", get, time.Minute, 0, time.Minute + idleTime},
		{"half of the next request", get + "GET / HT", 0, 0, headerTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := inBubble(always(Reply{}))
				start := time.Now()
				c := p.dial()
				written := make(chan struct{})
				go func() {
					defer close(written)
					<-time.After(test.pause)
					_, err := io.WriteString(c, test.sends)
					for err == nil && test.drips > 0 {
						<-time.After(test.drips)
						_, err = c.Write([]byte("x"))
					}
				}()
				_, _ = io.ReadAll(c)
				took := time.Since(start)
				c.Close()
				s.Close()
				<-written
				if took != test.want {
					t.Errorf("it ends after %v, want %v", took, test.want)
				}
			})
		})
	}
}

// Who does not take its answer loses it.
func TestUnreadAnswers(t *testing.T) {
	for _, test := range []struct {
		name string
		b    Backend
	}{
		{"at once", always(Reply{Wire: body64(1 << 20)})},
		{"little by little", planned(Plan{After: second, FirstToken: record.Never, Wire: trickling("body", 1<<20)}, Reply{Wire: trickling("body", 1<<20)})},
		{"heads", planned(Plan{After: second, FirstToken: record.Never, Wire: trickling("headers", 1<<20)}, Reply{Wire: trickling("headers", 1<<20)})},
		{"tokens", planned(Plan{After: second, FirstToken: ms, Tokens: 100}, Reply{Tokens: 100})},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, p := inBubble(test.b)
				c := p.dial()
				start := time.Now()
				send(t, c, get)
				s.open.Wait()
				if took := time.Since(start); took < writeTime*3/4 || took > writeTime+2*second {
					t.Errorf("it ends after %v", took)
				}
				c.Close()
				s.Close()
			})
		})
	}
}

// Connections beyond the limit are reset at once, and there is room again when
// others have ended.
func TestTooManyConnections(t *testing.T) {
	s := listenOn(t, always(Reply{}))
	s.mu.Lock()
	s.mostConns = 2
	s.mu.Unlock()
	first, second := dial(t, s), dial(t, s)
	await(t, s, "two", func(now Stats) bool { return now.Open == 2 })
	third, err := net.Dial("tcp", strings.TrimPrefix(s.ports[0].url, "http://"))
	if err == nil { // else it was reset before it was told that it is connected
		defer third.Close()
		_, err = third.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the third: %v", err)
	}
	send(t, first, get)
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	second.Close()
	await(t, s, "one", func(now Stats) bool { return now.Open == 1 && now.Refused == 1 })
	first.Close()
	await(t, s, "none", func(now Stats) bool { return now.Open == 0 })
	well(t, s)
	if got := s.Stats().Peak; got != 2 {
		t.Errorf("%d at a time", got)
	}
}

// So are requests.
func TestTooManyRequests(t *testing.T) {
	here, end := make(chan struct{}), make(chan struct{})
	s := listenOn(t, backend(func(context.Context, Arrival, func(Plan)) Reply {
		here <- struct{}{}
		<-end
		return Reply{}
	}))
	s.mu.Lock()
	s.mostRequests = 1
	s.mu.Unlock()
	first, second := dial(t, s), dial(t, s)
	send(t, first, get)
	<-here
	send(t, second, get)
	if _, err := second.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the second: %v", err)
	}
	close(end)
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Refused != 1 || got.Requests != 1 {
		t.Errorf("%+v", got)
	}
}

// Whatever bytes come, a server answers others and ends.
func FuzzListener(f *testing.F) {
	for _, text := range []string{
		get, get + get, "GET / HTTP/1.1\r\nHost: x\r\nX:", "\x16\x03\x01",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		frame(headers, 5, 1, asking),
		frame(headers, 1, 1, asking) + frame(headers, 1, 3, asking) + frame(9, 4, 1, "x"),
		frame(settings, 0, 0, "\x00\x04\xff\xff\xff\xff") + frame(8, 0, 0, "\x00\x00\x00\x00"),
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	s := listenOn(f, always(Reply{Tokens: 2}))
	good := []byte(last)
	f.Fuzz(func(t *testing.T, text []byte, framed bool) {
		c := dial(t, s)
		if framed {
			text = append([]byte(preface+frame(settings, 0, 0, "")), text...)
		}
		_, _ = c.Write(text) // the server may end the connection before
		if framed {
			_ = c.Close() // net/http takes a second to end such a connection by itself
		} else {
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		}
		other := dial(t, s)
		send(t, other, string(good))
		if answer, err := io.ReadAll(other); err != nil || !bytes.Contains(answer, []byte("[DONE]")) {
			t.Errorf("%q: %v", answer, err)
		}
	})
}
