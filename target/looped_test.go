package target

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/clock"
	"brunt/record"
)

// loopedCaller returns a caller with a loop attached, or without one.
func loopedCaller(t testing.TB, loop bool, url string, change ...func(*Config, *Env)) *Caller {
	t.Helper()
	if !canBare && loop {
		t.Skip("no loop can have connections here")
	}
	before := onLoops
	onLoops = loop
	defer func() { onLoops = before }()
	return newCaller(t, url, change...)
}

// seconds are answers to a request on a connection that has carried one before.
var seconds = []struct {
	name string
	say  []string // pieces
	then string   // end, rst or "": goes on with the next request
}{
	{name: "plain", say: []string{hello}},
	{name: "in two pieces", say: []string{hello[:len(hello)-3], hello[len(hello)-3:]}},
	{name: "head in two pieces", say: []string{hello[:20], hello[20:]}},
	{name: "byte by byte", say: strings.Split(hello, "")},
	{name: "no body", say: []string{"HTTP/1.1 204 No Content\r\n\r\n"}},
	{name: "empty body", say: []string{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}},
	{name: "last answer", say: []string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"}, then: "end"},
	{name: "until the end", say: []string{"HTTP/1.1 200 OK\r\n\r\nhello"}, then: "end"},
	{name: "chunked", say: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "llo\r\n0\r\n\r\n"}},
	{name: "chunked and more", say: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + strings.Repeat("x", 20_000)}},
	{name: "a buffer full, and more", say: []string{bufferFull + "x"}},
	{name: "interim with a length", say: []string{"HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\n" + hello}},
	{name: "interim", say: []string{"HTTP/1.1 100 Continue\r\n\r\n", hello}},
	{name: "too much", say: []string{hello + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"}},
	{name: "body too long", say: []string{hello + "x"}},
	{name: "named replica", say: []string{"HTTP/1.1 200 OK\r\nX-Brunt-Replica: a\x1b\r\nContent-Length: 0\r\n\r\n"}},
	{name: "replica", say: []string{"HTTP/1.1 200 OK\r\nx-brunt-replica: b\r\nContent-Length: 0\r\n\r\n"}},
	{name: "long body", say: []string{"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n", strings.Repeat("x", 300_000)}},
	{name: "body of some length", say: []string{"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n", strings.Repeat("x", 60_000)}},
	{name: "refused", say: []string{"HTTP/1.1 503 Oh\r\nContent-Length: 4\r\nRetry-After: 2\r\n\r\nboom"}},
	{name: "refused without words", say: []string{"HTTP/1.1 429 Oh\r\nContent-Length: 0\r\nRetry-After: Mon, 02 Jan 2006 15:04:15 GMT\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\n\r\n"}},
	{name: "refused in two pieces", say: []string{"HTTP/1.1 503 Oh\r\nContent-Length: 4\r\n\r\n", "boom"}},
	{name: "refused at length", say: []string{"HTTP/1.1 500 Oh\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000)}},
	{name: "redirect", say: []string{"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"}},
	{name: "ended", then: "end"},
	{name: "reset", then: "rst"},
	{name: "ended in the head", say: []string{"HTTP/1.1 200 OK\r\nContent-"}, then: "end"},
	{name: "reset in the head", say: []string{"HTTP/1.1 200 OK\r\nContent-"}, then: "rst"},
	{name: "ended in the body", say: []string{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"}, then: "end"},
	{name: "reset in the body", say: []string{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"}, then: "rst"},
	{name: "ended in a refusal", say: []string{"HTTP/1.1 503 Oh\r\nContent-Length: 40\r\n\r\nboom"}, then: "end"},
	{name: "not HTTP", say: []string{"SSH-2.0-OpenSSH_9.2\r\n"}},
	{name: "bad header", say: []string{"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"}},
	{name: "two lengths", say: []string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"}},
	{name: "status 000", say: []string{"HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n"}},
	{name: "switching", say: []string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"}},
}

// bufferFull is an answer that ends where the buffer of its reader does.
var bufferFull = func() string {
	const head, end = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: ", "\r\n\r\n0\r\n\r\n"
	return head + strings.Repeat("x", readBuffer-len(head)-len(end)) + end
}()

// fate is what became of three requests on one connection, of which the second
// met the answer under test: without instants.
type fate struct {
	Answers [3]Answer
	Events  [3][]What
	Seen    int
}

func fateOf(t *testing.T, loop bool, say []string, then string) (f fate) {
	s := serve(t, func(p *peer) {
		for i := 0; p.read(); i++ {
			if p.number != 0 || i != 1 {
				p.say(hello)
				continue
			}
			for _, piece := range say {
				p.say(piece)
			}
			switch then {
			case "rst":
				p.rst()
				return
			case "end":
				return
			}
		}
	})
	caller := loopedCaller(t, loop, s.url)
	for i := range f.Answers {
		r := start(t, caller, int64(i), record.Never)
		a := *r.end()
		for _, at := range []*time.Duration{&a.Began, &a.Connected, &a.Wrote, &a.FirstByte, &a.End} {
			*at = min(*at, 1) // came, or never did
		}
		f.Answers[i] = a
		for _, e := range r.all() {
			f.Events[i] = append(f.Events[i], e.What)
		}
	}
	f.Seen = s.count()
	return f
}

// A loop carries calls just as goroutines do: the same events, causes, bytes and
// words, and the connection is kept or not for the same reasons.
func TestLoopAsGoroutines(t *testing.T) {
	if onLoops {
		t.Skip("compares both by itself")
	}
	for _, second := range seconds {
		t.Run(second.name, func(t *testing.T) {
			want, got := fateOf(t, false, second.say, second.then), fateOf(t, true, second.say, second.then)
			if second.then == "rst" { // it may overtake what was said, and find the writing of the next
				for _, f := range []*fate{&want, &got} {
					f.Answers[1].Detail, f.Answers[1].FirstByte, f.Answers[1].Status, f.Answers[1].Bytes, f.Events[1] = "", 0, 0, 0, nil
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("goroutines (-) and loop (+):\n%s", diff)
			}
		})
	}
}

// On an idle connection the request is written before Start returns, and no
// goroutine comes of it on a loop, unless the answer is a stream.
func TestStartWrites(t *testing.T) {
	for _, loop := range []bool{false, true} {
		for _, change := range []func(*Config, *Env){func(*Config, *Env) {}, openAI} {
			goOn := make(chan bool, 1)
			s := serve(t, func(p *peer) {
				for i := 0; p.read(); i++ {
					if i > 0 {
						<-goOn
					}
					p.say(plainStream)
				}
			})
			caller := loopedCaller(t, loop, s.url, change)
			one(t, caller)
			before := runtime.NumGoroutine()
			r := newRunning(t, caller)
			var events []What
			onLoopOf(caller, func() {
				r.Call = caller.Start(ID{Request: 2}, record.Never, r.see)
				for _, e := range r.all() {
					events = append(events, e.What)
				}
				if more := runtime.NumGoroutine() - before; loop && !caller.stream && more > 0 {
					t.Errorf("%d more goroutines", more)
				}
			})
			goOn <- true
			if a := r.end(); a.Cause != record.None || !a.Reused {
				t.Errorf("%+v", a)
			}
			if diff := cmp.Diff([]What{Began, Wrote}, events); diff != "" {
				t.Errorf("on a loop: %v, stream: %v (-want +got):\n%s", loop, caller.stream, diff)
			}
		}
	}
}

var plainStream = func() string {
	body := token + stop + done
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}()

// A call on a connection that was idle is torn down in any state, whoever ends it.
func TestStops(t *testing.T) {
	for _, loop := range []bool{false, true} {
		t.Run(fmt.Sprint("loop ", loop), func(t *testing.T) { testStops(t, loop) })
	}
}

func testStops(t *testing.T, loop bool) {
	for _, state := range []struct {
		name, say string
		stage     string
	}{
		{"waiting", "", "waited for the answer"},
		{"in the body", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "read the answer"},
		{"in the head", "HTTP/1.1 200 OK\r\nContent-Len", "waited for the answer"},
	} {
		for _, how := range []string{"cancelled", "cancelled on the loop", "deadline"} {
			t.Run(state.name+" "+how, func(t *testing.T) {
				torn := make(chan error, 1)
				s := serve(t, func(p *peer) {
					p.read()
					p.say(hello)
					p.read()
					p.say(state.say)
					torn <- p.gone()
				})
				caller := loopedCaller(t, loop, s.url)
				one(t, caller)
				deadline := record.Never
				if how == "deadline" {
					deadline = caller.env.Now() + 20*time.Millisecond
				}
				r := start(t, caller, 2, deadline)
				r.until(Wrote)
				if state.stage == "read the answer" {
					r.until(FirstByte)
				}
				want, cause := Gone, record.None
				switch how {
				case "cancelled":
					r.Cancel()
				case "cancelled on the loop":
					onLoopOf(caller, r.Cancel)
				case "deadline":
					want, cause = Ended, record.Timeout
				}
				a := r.end()
				if all := r.all(); all[len(all)-1].What != want || a.Cause != cause || !strings.Contains(a.Detail, state.stage) {
					t.Errorf("%v, %+v", all[len(all)-1].What, a)
				}
				if err := <-torn; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("the server saw %v: expected an RST", err)
				}
				r.Cancel()
			})
		}
	}
}

// What comes unasked just before a request is no answer to it, though the loop
// has not been told of it.
func TestUnaskedBeforeStart(t *testing.T) {
	say, said := make(chan bool), make(chan bool)
	s := serve(t, func(p *peer) {
		for i := 0; p.read(); i++ {
			p.say(hello)
			if p.number == 0 && i == 1 {
				<-say
				p.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
				said <- true
			}
		}
	})
	caller := loopedCaller(t, true, s.url)
	one(t, caller)
	one(t, caller)
	r := newRunning(t, caller)
	onLoopOf(caller, func() {
		say <- true
		<-said
		r.Call = caller.Start(ID{Request: 3}, record.Never, r.see)
	})
	if a := r.end(); a.Cause != record.None || a.Reused || a.Bytes != 5 {
		t.Errorf("%+v", a)
	}
}

// A connection whose answers are not for a loop stays with the goroutines.
func TestYieldsOnce(t *testing.T) {
	s := serve(t, func(p *peer) {
		for p.read() {
			p.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		}
	})
	caller := loopedCaller(t, true, s.url)
	w := caller.wire.(*http1)
	for i := range 3 {
		one(t, caller)
		onLoopOf(caller, func() {
			if w.mu.Lock(); len(w.idle) != 1 || !w.idle[0].yields || w.idle[0].bare >= 0 {
				t.Errorf("after %d calls: %+v", i+1, w.idle)
			}
			w.mu.Unlock()
		})
	}
}

// A call that is cancelled at the moment at which it leaves its loop ends too.
func TestCancelledWhileYielding(t *testing.T) {
	s := serve(t, func(p *peer) {
		if p.read() {
			p.say(hello)
			p.read()
			_ = p.gone()
		}
	})
	caller := loopedCaller(t, true, s.url)
	one(t, caller)
	r := newRunning(t, caller)
	onLoopOf(caller, func() {
		r.Call = caller.Start(ID{Request: 2}, record.Never, r.see)
		r.Cancel() // what it posts finds that the call has left
		r.caller.wire.(*http1).looped.yield(r.conn, nil, record.Never)
	})
	if r.end(); r.all()[len(r.all())-1].What != Gone {
		t.Errorf("%v", r.all())
	}
}

// An idle connection that ends is let go of at once, not when it is needed.
func TestIdleEndIsSeen(t *testing.T) {
	end := make(chan bool)
	s := serve(t, func(p *peer) {
		p.read()
		p.say(hello)
		p.read()
		p.say(hello)
		<-end
	})
	caller := loopedCaller(t, true, s.url)
	one(t, caller)
	one(t, caller)
	close(end)
	w := caller.wire.(*http1)
	begin := time.Now()
	for idle := 1; idle > 0; {
		onLoopOf(caller, func() { idle = len(w.idle) + len(w.looped.watched) })
		if time.Since(begin) > patience {
			t.Fatal("the connection is kept")
		}
	}
}

// An answer that is here frees its connection for a request of the same instant.
func TestGlanceBeforeDialing(t *testing.T) {
	answered := make(chan bool, 9)
	s := serve(t, func(p *peer) {
		for p.read() {
			p.say(hello)
			answered <- true
		}
	})
	caller := loopedCaller(t, true, s.url)
	one(t, caller)
	<-answered
	var calls []*running
	onLoopOf(caller, func() {
		for i := range int64(3) {
			r := newRunning(t, caller)
			r.Call = caller.Start(ID{Request: 2 + i}, record.Never, r.see)
			calls = append(calls, r)
			<-answered
		}
	})
	for _, r := range calls {
		if a := r.end(); !a.Reused || a.Cause != record.None {
			t.Errorf("%+v", a)
		}
	}
}

// A request that does not fit at once is written on by a goroutine, whole and once.
func TestLongRequest(t *testing.T) {
	for _, loop := range []bool{false, true} {
		wait := make(chan bool)
		s := serve(t, func(p *peer) {
			for i := 0; ; i++ {
				if i == 1 {
					<-wait // so that the buffers of the kernel run over
				}
				if !p.read() {
					return
				}
				p.say(hello)
			}
		})
		const length = 12 << 20
		caller := loopedCaller(t, loop, s.url, func(c *Config, _ *Env) { c.Body = strings.Repeat("x", length) })
		one(t, caller)
		r := start(t, caller, 2, record.Never)
		r.until(Began)
		if e := r.all(); len(e) > 1 {
			t.Errorf("%v at once", e)
		}
		close(wait)
		for _, r := range []*running{r, start(t, caller, 3, record.Never)} {
			if a := r.end(); a.Cause != record.None || a.Writes != 1 {
				t.Errorf("%+v", a)
			}
		}
		if s.twice() != nil || s.count() != 3 {
			t.Errorf("seen %d, twice %v", s.count(), s.twice())
		}
	}
}

// Loops take turns; the connection stays. What the last one still carried when
// it ended is given up by Close.
func TestAttachInTurn(t *testing.T) {
	if !canBare {
		t.Skip("no loop can have connections here")
	}
	s := serve(t, func(p *peer) {
		for i := 0; p.read() && i < 3; i++ {
			p.say(hello)
		}
		_ = p.gone()
	})
	caller := loopedCaller(t, false, s.url)
	one(t, caller)
	var last *running
	for turn := range int64(3) {
		loop, err := clock.Real()
		if err != nil {
			t.Fatal(err)
		}
		caller.env.Now = loop.Elapsed
		caller.Attach(loop)
		caller.Attach(loop) // again does nothing
		loop.Hold()
		loop.At(0, clock.Work, clock.Func(func() {
			last = newRunning(t, caller)
			deadline := time.Hour // that of a call that is over keeps no loop from ending
			if turn == 2 {
				deadline = record.Never
			}
			last.Call = caller.Start(ID{Request: 1 + turn}, deadline, func(e Event) {
				if last.see(e); e.What == Ended {
					loop.Release()
				}
			})
			if turn == 2 { // the answer to this one never comes
				loop.Release()
			}
		}))
		loop.Run()
		loop.Close()
		if turn < 2 {
			if a := last.end(); !a.Reused || a.Cause != record.None {
				t.Errorf("%+v", a)
			}
		}
	}
	caller.Close()
	if all := last.all(); all[len(all)-1].What != Gone {
		t.Errorf("%v", all)
	}
}
