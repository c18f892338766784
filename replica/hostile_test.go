package replica

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dial opens a bare connection.
func (r *running) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	var d net.Dialer
	d.SetMultipathTCP(false)
	conn, err := d.DialContext(t.Context(), "tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"

func TestBadRequests(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		message                  string
		param                    string
	}{
		{"no JSON", "POST", chatPath, "{", 400, "the body is not a JSON object: unexpected end", ""},
		{"nothing", "POST", chatPath, "", 400, "the body is not a JSON object", ""},
		{"a list", "POST", chatPath, "[]", 400, "the body is not a JSON object", ""},
		{"a text for a number", "POST", chatPath, `{"max_tokens": "8"}`, 400, "max_tokens: a string is not expected here", "max_tokens"},
		{"no messages", "POST", chatPath, `{"stream": true}`, 400, "messages: missing", "messages"},
		{"no tokens at all", "POST", chatPath, streaming(`, "max_tokens": 0`), 400, "max_tokens: 0: expected 1 or more", "max_tokens"},
		{"a huge body", "POST", chatPath, strings.Repeat(" ", mostBody+1), 413, "the body has more than", ""},
		{"a deep body", "POST", chatPath, strings.Repeat("[", 100_000), 400, "the body is not a JSON object", ""},
		{"another method", "GET", chatPath, "", 405, "GET /v1/chat/completions: expected POST", ""},
		{"another path", "POST", "/v1/completions", plain, 404, "no /v1/completions here", ""},
		{"posting to health", "POST", healthPath, "", 405, "POST /health: expected GET", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := http.NewRequestWithContext(t.Context(), test.method, r.url+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := r.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var a answerOf
			if a.decode(response); a.status != test.status || a.err != nil {
				t.Errorf("status %d, want %d, %v", a.status, test.status, a.err)
			}
			e := a.problem.Error
			if !strings.HasPrefix(e.Message, test.message) || e.Type != "invalid_request_error" || (e.Param == nil) != (test.param == "") || e.Param != nil && *e.Param != test.param {
				t.Errorf("error %+v", e)
			}
			if response.Header.Get(replicaHeader) != "a" {
				t.Errorf("headers %v", response.Header)
			}
		})
	}
	if s := r.state(); s.Counts.Requests != 0 {
		t.Errorf("%d of them reached a slot", s.Counts.Requests)
	}
	if a := r.ask(plain); a.status != 200 {
		t.Errorf("a good request after them: status %d, %v", a.status, a.err)
	}
}

// Requests that are sent before their turn are answered in order, one at a
// time.
func TestPipelining(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: slots(fast(), 1, 0)})
	conn := r.dial(t)
	var all bytes.Buffer
	for _, id := range []string{"one", "two", "three"} {
		q, err := http.NewRequest(http.MethodPost, r.url+chatPath, strings.NewReader(streaming("")))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(requestHeader, id)
		if err := q.Write(&all); err != nil {
			t.Fatal(err)
		}
	}
	write(t, conn, all.String())
	in := bufio.NewReader(conn)
	for _, id := range []string{"one", "two", "three"} {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		var a answerOf
		a.read(bufio.NewReader(response.Body), time.Now())
		response.Body.Close()
		if response.Header.Get(requestHeader) != id || a.tokens != 8 || !a.done || a.err != nil {
			t.Errorf("%s: %q, %d tokens, done %v, %v", id, response.Header.Get(requestHeader), a.tokens, a.done, a.err)
		}
	}
}

// A client that pipelines cannot be seen to leave by reading: it must neither
// keep the replica from ending nor its slot for good.
func TestPipeliningAndLeaving(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: held(), Grace: 10 * ms})
	conn := r.dial(t)
	one := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(plain), plain)
	write(t, conn, one+one)
	r.await("at work", func(s State) bool { return s.Working == 1 })
	conn.Close()
	r.stop()
	if err := <-r.done; err != nil { // it ends, although nothing told it
		t.Error(err)
	}
	r.done <- nil
}

// Half a header holds no slot, and does not keep the replica from ending.
func TestSlowHeader(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: slots(fast(), 1, 0)})
	write(t, r.dial(t), head+"X-Slow: ")
	write(t, r.dial(t), head+"Content-Length: 1000\r\n\r\n{") // half a body
	if a := r.ask(plain); a.status != 200 {
		t.Errorf("status %d, %v", a.status, a.err)
	}
}

// A header without end is refused.
func TestHugeHeader(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	conn := r.dial(t)
	write(t, conn, head)
	go func() { // the server may stop reading
		for range 100 {
			if _, err := io.WriteString(conn, "X-Long: "+strings.Repeat("x", 10_000)+"\r\n"); err != nil {
				return
			}
		}
	}()
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(status, "HTTP/1.1 431 ") && !strings.HasPrefix(status, "HTTP/1.1 400 ") {
		t.Errorf("%q", status)
	}
	if err != nil && !isReset(err) {
		t.Error(err)
	}
}

// Nobody speaks HTTP/2 to a replica.
func TestNoHTTP2(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	conn := r.dial(t)
	write(t, conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 ") || strings.HasPrefix(status, "HTTP/1.1 2") {
		t.Errorf("%q, %v", status, err)
	}
	upgrade := r.dial(t)
	write(t, upgrade, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n")
	if status, err := bufio.NewReader(upgrade).ReadString('\n'); err != nil || !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		t.Errorf("an upgrade: %q, %v", status, err)
	}
}

// A page in a browser cannot switch modes.
func TestControlFaults(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	for _, test := range []struct {
		name, method, path, body, origin string
		status                           int
	}{
		{"an unknown mode", "POST", modePath, `{"mode": "x"}`, "", 400},
		{"a huge body", "POST", modePath, strings.Repeat(" ", mostSwitch+1), "", 413},
		{"another method", "GET", modePath, "", "", 405},
		{"another path", "GET", "/", "", "", 404},
		{"posting a state", "POST", statePath, "", "", 405},
		{"a page", "POST", modePath, `{"mode": "hang"}`, "http://x.example", 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := http.NewRequestWithContext(t.Context(), test.method, r.control+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if test.origin != "" {
				q.Header.Set("Origin", test.origin)
			}
			response, err := r.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var a answerOf
			if a.decode(response); a.status != test.status || a.err != nil || a.problem.Error.Message == "" {
				t.Errorf("status %d, want %d, %+v, %v", a.status, test.status, a.problem, a.err)
			}
		})
	}
	if s := r.state(); s.Mode != Normal {
		t.Errorf("mode %s", s.Mode)
	}
}
