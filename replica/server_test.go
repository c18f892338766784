package replica

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/dependency"
)

// running is a replica on loopback.
type running struct {
	t            *testing.T
	url, control string
	address      string
	client       *http.Client
	stop         context.CancelFunc
	done         chan error
}

func serve(t *testing.T, c Config) *running {
	t.Helper()
	if c.Name == "" {
		c.Name = "a"
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	control, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{}
	r := &running{
		t: t, address: data.Addr().String(), url: "http://" + data.Addr().String(), control: "http://" + control.Addr().String(),
		client: &http.Client{Transport: transport, Timeout: 20 * time.Second}, stop: cancel, done: make(chan error, 1),
	}
	go func() { r.done <- s.Serve(ctx, data, control) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
	})
	return r
}

const plain = `{"messages": [{"role": "user", "content": "hello"}]}`

func streaming(more string) string {
	return `{"model": "m", "stream": true, "messages": [{"role": "user", "content": "hello"}]` + more + `}`
}

// post sends a chat request; the caller closes the body.
func (r *running) post(ctx context.Context, body string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+chatPath, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set(requestHeader, "id-7")
	return r.client.Do(q)
}

// answerOf is what a whole answer came to.
type answerOf struct {
	status  int
	tokens  int
	said    string
	at      []time.Duration // when each token came
	finish  string
	usage   *usage
	done    bool
	header  http.Header
	closes  bool // the connection, after it
	problem apology
	err     error
}

// ask sends a chat request and reads all of its answer.
func (r *running) ask(body string) answerOf {
	begun := time.Now()
	response, err := r.post(r.t.Context(), body)
	if err != nil {
		return answerOf{err: err}
	}
	defer response.Body.Close()
	a := answerOf{status: response.StatusCode, header: response.Header}
	if a.status != http.StatusOK {
		a.decode(response)
		return a
	}
	if response.Header.Get("Content-Type") == "application/json" {
		var c completion
		a.err = json.NewDecoder(response.Body).Decode(&c)
		a.take(c, begun)
		return a
	}
	a.read(bufio.NewReader(response.Body), begun)
	return a
}

// decode reads an error.
func (a *answerOf) decode(response *http.Response) {
	a.status, a.closes = response.StatusCode, response.Close
	a.err = json.NewDecoder(response.Body).Decode(&a.problem)
}

func (a *answerOf) take(c completion, begun time.Time) {
	for _, one := range c.Choices {
		for _, w := range []*words{one.Message, one.Delta} {
			if w != nil && w.Content != "" {
				a.tokens++
				a.said += w.Content
				a.at = append(a.at, time.Since(begun))
			}
		}
		if one.FinishReason != nil {
			a.finish = *one.FinishReason
		}
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
}

// read reads events to the end.
func (a *answerOf) read(events *bufio.Reader, begun time.Time) {
	for {
		text, err := event(events)
		switch {
		case err == io.EOF:
			return
		case err != nil:
			a.err = err
			return
		case text == "[DONE]":
			a.done = true
			continue
		}
		var c completion
		if a.err = json.Unmarshal([]byte(text), &c); a.err != nil {
			return
		}
		a.take(c, begun)
	}
}

// event reads one event of a stream.
func event(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	text, ok := strings.CutPrefix(line, "data: ")
	blank, err := r.ReadString('\n')
	if !ok || err != nil || blank != "\n" {
		return "", fmt.Errorf("%q, %q, %w: no event", line, blank, err)
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// mode switches the mode.
func (r *running) mode(text string) State {
	r.t.Helper()
	response, err := r.client.Post(r.control+modePath, "application/json", strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	var s State
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil || response.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: status %d, %v", text, response.StatusCode, err)
	}
	return s
}

func (r *running) state() State {
	r.t.Helper()
	response, err := r.client.Get(r.control + statePath)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	var s State
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// await asks for the state until it is as expected.
func (r *running) await(what string, ok func(State) bool) {
	r.t.Helper()
	for begun := time.Now(); ; {
		s := r.state()
		if ok(s) {
			return
		}
		if time.Since(begun) > 10*time.Second {
			r.t.Fatalf("never %s: %+v", what, s)
		}
	}
}

func (r *running) health() int {
	r.t.Helper()
	response, err := r.client.Get(r.url + healthPath)
	if err != nil {
		r.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// fast answers eight tokens in 10 ms and 7 gaps of 5 ms.
func fast() dependency.Behaviour {
	return dependency.Behaviour{FirstToken: dependency.Fixed(10 * ms), TokenGap: dependency.Fixed(5 * ms), Tokens: ptr(8)}
}

// held streams for a minute, unless something ends it.
func held() dependency.Behaviour {
	return dependency.Behaviour{FirstToken: dependency.Fixed(ms), TokenGap: dependency.Fixed(time.Minute), Tokens: ptr(2)}
}

func TestStream(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast(), Name: "west-1"})
	const eight = "token1 token2 token3 token4 token5 token6 token7 token8"
	for _, test := range []struct {
		name, body, said, finish string
		done                     bool
		usage                    *usage
	}{
		{"a stream", streaming(""), eight, "stop", true, nil},
		{"usage at its end", streaming(`, "stream_options": {"include_usage": true}`), eight, "stop", true, &usage{2, 8, 10}},
		{"capped", streaming(`, "max_tokens": 3, "temperature": 0.5`), "token1 token2 token3", "length", true, nil},
		{"capped by the newer name", streaming(`, "max_completion_tokens": 1`), "token1", "length", true, nil},
		{"a cap above", streaming(`, "max_tokens": 9`), eight, "stop", true, nil},
		{"no stream", plain, eight, "stop", false, &usage{2, 8, 10}},
		{"parts of a prompt", `{"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}`, eight, "stop", false, &usage{8, 8, 16}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := r.ask(test.body)
			if a.err != nil || a.status != http.StatusOK {
				t.Fatalf("status %d, %v", a.status, a.err)
			}
			if a.said != test.said || a.finish != test.finish || a.done != test.done {
				t.Errorf("%q, finish %q, done %v", a.said, a.finish, a.done)
			}
			if diff := cmp.Diff(test.usage, a.usage); diff != "" {
				t.Error(diff)
			}
			if want := strings.Count(test.said, "token"); test.done && a.tokens != want {
				t.Errorf("%d events with content, want %d", a.tokens, want)
			}
			if a.header.Get(requestHeader) != "id-7" || a.header.Get(replicaHeader) != "west-1" {
				t.Errorf("headers %v", a.header)
			}
		})
	}
}

// On the wire tokens come when they are due: never early, and in the median
// hardly late. Other processes may hold up single ones.
func TestGapsOnTheWire(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: dependency.Behaviour{
		FirstToken: dependency.Fixed(100 * ms), TokenGap: dependency.Fixed(10 * ms), Tokens: ptr(41),
	}})
	a := r.ask(streaming(""))
	if a.err != nil || a.tokens != 41 {
		t.Fatalf("%d tokens, %v", a.tokens, a.err)
	}
	var late, gaps []time.Duration
	for i, at := range a.at {
		due := 100*ms + time.Duration(i)*10*ms
		if at < due {
			t.Errorf("token %d came at %v, due at %v", i+1, at, due)
		}
		late = append(late, at-due)
		if i > 0 {
			gaps = append(gaps, at-a.at[i-1])
		}
	}
	slices.Sort(late)
	slices.Sort(gaps)
	if late[20] > 30*ms {
		t.Errorf("late by %v in the median", late[20])
	}
	if gap := gaps[20]; gap < 7*ms || gap > 15*ms {
		t.Errorf("median gap %v, want 10ms", gap)
	}
}

// Slots are held by streams, then the queue fills, then there is no room.
func TestSlotsAndQueue(t *testing.T) {
	t.Parallel()
	b := slots(held(), 2, 1)
	b.RetryAfter = ptr(1500 * ms)
	b.OnCancel = ptr(dependency.Stops)
	r := serve(t, Config{Behaviour: b})
	var leave []context.CancelFunc
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		leave = append(leave, cancel)
		response, err := r.post(ctx, streaming(""))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if text, err := event(bufio.NewReader(response.Body)); err != nil || !strings.Contains(text, "token1") {
			t.Fatalf("%q, %v", text, err)
		}
	}
	waiting := make(chan answerOf, 1)
	go func() { waiting <- r.ask(streaming(`, "max_tokens": 1`)) }()
	r.await("one waits", func(s State) bool { return s.Working == 2 && s.Waiting == 1 })

	full := r.ask(streaming(""))
	if full.status != http.StatusServiceUnavailable || full.problem.Error.Type != "server_error" || *full.problem.Error.Code != "overloaded" {
		t.Errorf("status %d, %+v", full.status, full.problem)
	}
	if full.header.Get("Retry-After") != "2" || full.header.Get("Retry-After-Ms") != "1500" {
		t.Errorf("headers %v", full.header)
	}
	leave[0]() // frees a slot for the one that waits
	if a := <-waiting; a.err != nil || a.said != "token1" {
		t.Errorf("who waited got %q, %v", a.said, a.err)
	}
	leave[1]()
	r.await("idle", func(s State) bool { return s.Working == 0 && s.Waiting == 0 })
	want := Counts{Requests: 4, Completed: 1, Refused: 1, Left: 2, Tokens: 3}
	if diff := cmp.Diff(want, r.state().Counts); diff != "" {
		t.Error(diff)
	}
}

// By default a client that leaves has its slot burn on.
func TestLeftSlotBurns(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: slots(held(), 1, 0)})
	ctx, cancel := context.WithCancel(t.Context())
	response, err := r.post(ctx, streaming(""))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	response.Body.Close()
	r.await("left", func(s State) bool { return s.Counts.Left == 1 })
	if s := r.state(); s.Working != 1 {
		t.Errorf("%d work, want the burning one", s.Working)
	}
	if a := r.ask(plain); a.status != http.StatusServiceUnavailable {
		t.Errorf("status %d although the slot burns", a.status)
	}
}

// Told to stop, a replica lets streams end and turns new requests away.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: dependency.Behaviour{FirstToken: dependency.Fixed(ms), TokenGap: dependency.Fixed(300 * ms), Tokens: ptr(2)}, Grace: 10 * time.Second})
	response, err := r.post(t.Context(), streaming(""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r.stop()
	r.await("draining", func(s State) bool { return s.Draining && !s.Ready })
	if status := r.health(); status != http.StatusServiceUnavailable {
		t.Errorf("health %d while draining", status)
	}
	if a := r.ask(plain); a.status != http.StatusServiceUnavailable || *a.problem.Error.Code != "draining" || !a.closes {
		t.Errorf("status %d, %+v, %v", a.status, a.problem, a.header)
	}
	var a answerOf
	a.read(bufio.NewReader(response.Body), time.Now())
	if a.err != nil || a.tokens != 2 || !a.done {
		t.Errorf("the stream in flight: %d tokens, done %v, %v", a.tokens, a.done, a.err)
	}
	ended := time.Now()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	if wait := time.Since(ended); wait > 5*time.Second {
		t.Errorf("it waited %v for nobody", wait)
	}
	r.done <- nil // for the clean-up
	if _, err := r.client.Get(r.url + healthPath); err == nil {
		t.Error("it still listens")
	}
}

// What does not end within the grace is reset.
func TestGrace(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: held(), Grace: 50 * ms})
	response, err := r.post(t.Context(), streaming(""))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r.stop()
	var a answerOf
	a.read(bufio.NewReader(response.Body), time.Now())
	if !isReset(a.err) || a.tokens != 1 {
		t.Errorf("%d tokens, %v", a.tokens, a.err)
	}
}

// Control is for this machine.
func TestControlOnLoopbackAlone(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Name: "a", Behaviour: fast()})
	if err != nil {
		t.Fatal(err)
	}
	data, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	control, err := Listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), data, control); err == nil || !strings.Contains(err.Error(), "expected a loopback address") {
		t.Errorf("got %v", err)
	}
	if _, err := data.Accept(); err == nil {
		t.Error("the listener was left open")
	}
}

func TestConfigFaults(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(*Config)
	}{
		{"no name", "make a replica: name: expected at most", func(c *Config) { c.Name = "" }},
		{"a name that would break a header", "make a replica: name: a\r\nb: expected", func(c *Config) { c.Name = "a\r\nb" }},
		{"replicas", "make a replica: replicas: given: this is one replica", func(c *Config) { c.Behaviour.Replicas = ptr(2) }},
		{"a deadline", "make a replica: deadline: heeded: a request over HTTP", func(c *Config) { c.Behaviour.Deadline = ptr(dependency.Heeded) }},
		{"a negative time", "make a replica: load_for: -1s: expected", func(c *Config) { c.LoadFor = -time.Second }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Config{Name: "a", Behaviour: fast()}
			test.change(&c)
			if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s…", err, test.want)
			}
		})
	}
}

// Many streams at once: no token is lost or written twice.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	const streams, tokens = 400, 20
	r := serve(t, Config{Behaviour: dependency.Behaviour{
		FirstToken: &dependency.Latency{Uniform: &dependency.Uniform{Min: 10 * ms, Max: 100 * ms}},
		TokenGap:   &dependency.Latency{Exponential: &dependency.Exponential{Mean: 10 * ms}}, Tokens: ptr(tokens),
	}})
	var want strings.Builder
	for n := range tokens {
		want.WriteString(token(n + 1))
	}
	answers := make(chan answerOf)
	for range streams {
		go func() { answers <- r.ask(streaming("")) }()
	}
	for range streams {
		if a := <-answers; a.err != nil || a.said != want.String() || !a.done {
			t.Errorf("%d tokens, done %v, %v: %q", a.tokens, a.done, a.err, a.said)
		}
	}
	if diff := cmp.Diff(Counts{Requests: streams, Completed: streams, Tokens: streams * tokens}, r.state().Counts); diff != "" {
		t.Error(diff)
	}
}
