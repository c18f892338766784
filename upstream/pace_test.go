package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/dependency"
	"brunt/record"
)

// exchangeInBubble sends a request and reads what comes, to the end of the
// connection.
func exchangeInBubble(t *testing.T, request string, b Backend) []piece {
	t.Helper()
	s, p := inBubble(b)
	c := p.dial()
	send(t, c, request)
	all := readPieces(c)
	c.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return all
}

const last = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

func trickling(how dependency.Trickle, body int) *dependency.Wire {
	return wire(func(w *dependency.Wire) { w.Trickle, w.Body = how, body })
}

// checkPieces holds an answer to how many pieces it has, that they are evenly
// spread, and that the last is there at the end.
func checkPieces(t *testing.T, all []piece, pieces int, first, every, end time.Duration) {
	t.Helper()
	if len(all) != pieces {
		t.Errorf("%d pieces, want %d: %+v", len(all), pieces, all)
	}
	for n, p := range all {
		want := first + time.Duration(n)*every
		if n == len(all)-1 {
			want = end
		}
		if (p.At - want).Abs() > time.Microsecond {
			t.Errorf("piece %d of %d comes at %v, want %v", n, len(all), p.At, want)
		}
	}
}

// whole text of an answer.
func text(all []piece) string {
	var b strings.Builder
	for _, p := range all {
		b.WriteString(p.Text)
	}
	return b.String()
}

func parse(t *testing.T, all []piece) (*http.Response, string) {
	t.Helper()
	response, body, err := parseAnswer(text(all))
	if err != nil {
		t.Errorf("%v: %q", err, text(all))
	}
	return response, body
}

func TestTrickle(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		name         string
		plan         Plan
		reply        Reply
		pieces       int
		first, every time.Duration
		status       int
		body         int
		breaks       bool
	}{
		{"silence", Plan{After: second, FirstToken: record.Never}, Reply{}, 1, 0, 0, 200, 64, false},
		{"a body", Plan{After: second, FirstToken: record.Never, Wire: trickling(dependency.TrickleBody, 5000)},
			Reply{Wire: trickling(dependency.TrickleBody, 5000)}, 51, 0, 20 * ms, 200, 5000, false},
		// One piece a millisecond at most.
		{"a body in no time", Plan{After: 10 * ms, FirstToken: record.Never, Wire: trickling(dependency.TrickleBody, 5000)},
			Reply{Wire: trickling(dependency.TrickleBody, 5000)}, 11, 0, ms, 200, 5000, false},
		// One piece a byte at most.
		{"a short body", Plan{After: second, FirstToken: record.Never, Wire: trickling(dependency.TrickleBody, 4)},
			Reply{Wire: trickling(dependency.TrickleBody, 4)}, 5, 0, 250 * ms, 200, 4, false},
		// Its head alone would be all of it.
		{"an empty body", Plan{After: second, FirstToken: record.Never, Wire: trickling(dependency.TrickleBody, 0)},
			Reply{Wire: trickling(dependency.TrickleBody, 0)}, 1, 0, 0, 200, 0, false},
		{"a recorded status", Plan{After: second, FirstToken: record.Never, Status: 202, Wire: trickling(dependency.TrickleBody, 100)},
			Reply{Status: 202, Wire: trickling(dependency.TrickleBody, 100)}, 51, 0, 20 * ms, 202, 100, false},
		{"heads", Plan{After: second, FirstToken: record.Never, Wire: trickling(dependency.TrickleHeaders, 5000)},
			Reply{Wire: trickling(dependency.TrickleHeaders, 5000)}, 51, second / 51, second / 51, 200, 5000, false},
		{"heads without a body", Plan{After: second, FirstToken: record.Never, Status: 204, Wire: trickling(dependency.TrickleHeaders, 5000)},
			Reply{Status: 204, Wire: trickling(dependency.TrickleHeaders, 5000)}, 51, second / 51, second / 51, 204, 0, false},
		{"heads of a failure", Plan{After: second, FirstToken: record.Never, Fails: true, Wire: trickling(dependency.TrickleHeaders, 5000)},
			Reply{Cause: record.Failure, RetryAfter: 3 * second, Wire: trickling(dependency.TrickleHeaders, 5000)}, 51, second / 51, second / 51, 503, len(apology), false},
		// Its head would tell of it too early.
		{"the body of a failure", Plan{After: second, FirstToken: record.Never, Fails: true, Wire: trickling(dependency.TrickleBody, 5000)},
			Reply{Cause: record.Failure, RetryAfter: 3 * second, Wire: trickling(dependency.TrickleBody, 5000)}, 1, 0, 0, 503, len(apology), false},
		{"half a body", Plan{After: second, FirstToken: record.Never, Fails: true, Wire: cutting(dependency.TrickleBody)},
			Reply{Cause: record.Stream, Wire: cutting(dependency.TrickleBody)}, 51, 0, 20 * ms, 200, 500, true},
		{"heads and half a body", Plan{After: second, FirstToken: record.Never, Fails: true, Wire: cutting(dependency.TrickleHeaders)},
			Reply{Cause: record.Stream, Wire: cutting(dependency.TrickleHeaders)}, 51, second / 51, second / 51, 200, 500, true},
		{"half of a recorded body", Plan{After: second, FirstToken: record.Never, Fails: true, Wire: trickling(dependency.Silence, 1000)},
			Reply{Cause: record.Stream, Wire: trickling(dependency.Silence, 1000)}, 1, 0, 0, 200, 500, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := exchangeInBubble(t, last, planned(test.plan, test.reply))
				checkPieces(t, all, test.pieces, test.first, test.every, test.plan.After)
				response, body, err := parseAnswer(text(all))
				if response == nil || response.StatusCode != test.status || len(body) != test.body || (err != nil) != test.breaks {
					t.Fatalf("%q: %v", text(all), err)
				}
				if wait := response.Header.Get("Retry-After"); (wait == "3") != (test.reply.RetryAfter > 0) {
					t.Errorf("Retry-After %q", wait)
				}
				if !test.breaks && test.status != 204 && test.body > 0 && !json.Valid([]byte(body)) {
					t.Errorf("%q is no JSON", body)
				}
			})
		})
	}
}

func cutting(how dependency.Trickle) *dependency.Wire {
	return wire(func(w *dependency.Wire) { w.Failure, w.Trickle, w.Body = dependency.CutAnswer, how, 1000 })
}

// What has begun and ends in something else breaks off.
func TestOtherEnds(t *testing.T) {
	for _, how := range []dependency.Trickle{dependency.TrickleBody, dependency.TrickleHeaders} {
		t.Run(string(how), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := trickling(how, 1000)
				all := text(exchangeInBubble(t, last, planned(Plan{After: second, FirstToken: record.Never, Wire: w}, Reply{Cause: record.Overload, Wire: w})))
				if _, _, err := parseAnswer(all); err == nil || !strings.HasPrefix(all, "HTTP/1.1 200 OK\r\n") {
					t.Errorf("%q: %v", all, err)
				}
			})
		})
	}
}

// The head of a HEAD is all of its answer, so it comes at its end.
func TestTrickleOfHead(t *testing.T) {
	for _, how := range []dependency.Trickle{dependency.TrickleBody, dependency.TrickleHeaders} {
		synctest.Test(t, func(t *testing.T) {
			w := trickling(how, 1000)
			all := exchangeInBubble(t, strings.Replace(last, "GET", "HEAD", 1), planned(Plan{After: second, FirstToken: record.Never, Wire: w}, Reply{Wire: w}))
			checkPieces(t, all, 1, 0, 0, second)
			if !strings.HasSuffix(text(all), "\r\n\r\n") || !strings.Contains(text(all), "Content-Length: 1000\r\n") {
				t.Errorf("%s: %q", how, text(all))
			}
		})
	}
}

// An answer that never comes has no pieces.
func TestHang(t *testing.T) {
	for _, how := range []dependency.Trickle{dependency.Silence, dependency.TrickleBody, dependency.TrickleHeaders} {
		synctest.Test(t, func(t *testing.T) {
			s, p := inBubble(planned(Plan{After: record.Never, FirstToken: record.Never, Wire: trickling(how, 1000)}, Reply{}))
			c := p.dial()
			send(t, c, last)
			time.AfterFunc(time.Hour, func() { c.Close() })
			if all := readPieces(c); len(all) != 1 || all[0] != (piece{time.Hour, ""}) {
				t.Errorf("%s: %+v", how, all)
			}
			s.Close()
		})
	}
}

// An answer that ends as it begins may have its head out, or not.
func TestHardlyBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := trickling(dependency.TrickleBody, 1000)
		for range 20 {
			all := text(exchangeInBubble(t, last, backend(func(_ context.Context, _ Arrival, begin func(Plan)) Reply {
				begin(Plan{After: second, FirstToken: record.Never, Wire: w})
				return Reply{Cause: record.Overload, Wire: w}
			})))
			response, _, err := parseAnswer(all)
			if response == nil || response.StatusCode == 503 && err != nil || response.StatusCode == 200 && err == nil {
				t.Errorf("%q: %v", all, err)
			}
		}
	})
}

// What has not begun is answered as if nothing had been planned.
func TestNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := trickling(dependency.TrickleHeaders, 1000)
		response, _ := parse(t, exchangeInBubble(t, last, backend(func(_ context.Context, _ Arrival, begin func(Plan)) Reply {
			begin(Plan{After: second, FirstToken: record.Never, Wire: w})
			return Reply{Cause: record.Overload, Wire: w}
		})))
		if response == nil || response.StatusCode != 503 {
			t.Errorf("%v", response)
		}
	})
}

// An answer that takes longer than its plan ends with the attempt, not before,
// and so does one that takes no time.
func TestLateAndEarly(t *testing.T) {
	for _, how := range []dependency.Trickle{dependency.TrickleHeaders, dependency.TrickleBody} {
		for _, end := range []time.Duration{0, 50 * ms, 999 * ms, time.Second, 3 * time.Second} {
			t.Run(fmt.Sprintf("%s %v", how, end), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					all := exchangeInBubble(t, last, backend(func(_ context.Context, _ Arrival, begin func(Plan)) Reply {
						begin(Plan{After: time.Second, FirstToken: record.Never, Wire: trickling(how, 100)})
						<-time.After(end)
						begin(Plan{After: ms, FirstToken: record.Never, Wire: trickling(how, 100)}) // too often
						<-time.After(0)
						return Reply{Wire: trickling(how, 100)}
					}))
					if at := all[len(all)-1].At; at != end {
						t.Errorf("it ends at %v, want %v", at, end)
					}
					if response, body := parse(t, all); response != nil && len(body) != 100 {
						t.Errorf("%q", body)
					}
				})
			})
		}
	}
}

// A plan that comes after its attempt is nothing.
func TestBeginTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan func(Plan), 1)
		s, p := inBubble(backend(func(_ context.Context, _ Arrival, begin func(Plan)) Reply {
			late <- begin
			return Reply{}
		}))
		c := p.dial()
		if err := c.SetDeadline(time.Now().Add(second)); err != nil {
			t.Fatal(err)
		}
		send(t, c, get)
		time.AfterFunc(second/2, func() {
			(<-late)(Plan{After: second / 10, FirstToken: record.Never, Wire: trickling(dependency.TrickleHeaders, 100)})
		})
		if all := readPieces(c); len(all) != 2 || all[1] != (piece{second, ""}) {
			t.Errorf("%+v", all)
		}
		c.Close()
		s.Close()
	})
}

const second = time.Second

func TestStreams(t *testing.T) {
	for _, test := range []struct {
		name         string
		plan         Plan
		reply        Reply
		pieces       int
		first, every time.Duration
		end          time.Duration
		tokens       int
		broken       bool
	}{
		{"evenly", Plan{After: second, FirstToken: 200 * ms, Tokens: 5}, Reply{Tokens: 5}, 5, 200 * ms, 200 * ms, second, 5, false},
		{"all at once", Plan{After: second, FirstToken: second, Tokens: 5}, Reply{Tokens: 5}, 1, 0, 0, second, 5, false},
		{"one token", Plan{After: second, FirstToken: second, Tokens: 1}, Reply{Tokens: 1}, 1, 0, 0, second, 1, false},
		{"one token before its end", Plan{After: second, FirstToken: 100 * ms, Tokens: 1}, Reply{Tokens: 1}, 2, 100 * ms, 0, second, 1, false},
		{"a number that nobody knows", Plan{After: second, FirstToken: 100 * ms}, Reply{}, 2, 100 * ms, 0, second, 1, false},
		{"a number that is known at the end", Plan{After: second, FirstToken: 100 * ms}, Reply{Tokens: 3}, 2, 100 * ms, 0, second, 3, false},
		{"a plan of nothing", Plan{After: second, FirstToken: record.Never}, Reply{Tokens: 3}, 1, 0, 0, second, 3, false},
		{"no trickle", Plan{After: second, FirstToken: 500 * ms, Tokens: 2, Wire: trickling(dependency.TrickleHeaders, 9)}, Reply{Tokens: 2}, 2, 500 * ms, 0, second, 2, false},
		{"broken off", Plan{After: second, FirstToken: 200 * ms, Tokens: 5, Fails: true}, Reply{Cause: record.Stream}, 5, 200 * ms, 200 * ms, second, 5, true},
		{"failed in its midst", Plan{After: second, FirstToken: 200 * ms, Tokens: 5, Fails: true}, Reply{Cause: record.Failure}, 5, 200 * ms, 200 * ms, second, 4, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := exchangeInBubble(t, last, planned(test.plan, test.reply))
				checkPieces(t, all, test.pieces, test.first, test.every, test.end)
				response, body, err := parseAnswer(text(all))
				if response == nil || (err != nil) != test.broken {
					t.Fatalf("%q: %v", text(all), err)
				}
				if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
					t.Errorf("type %q", kind)
				}
				got := readChunks(t, body)
				want := chunks{Role: "assistant", Tokens: test.tokens, Done: !test.broken}
				if !test.broken {
					want.Reason = "stop"
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A stream that fails before its first token is a failure as any other.
func TestStreamFails(t *testing.T) {
	for _, test := range []struct {
		plan   Plan
		reply  Reply
		status int
	}{
		{Plan{After: second, FirstToken: record.Never, Fails: true}, Reply{Cause: record.Failure}, 503},
		{Plan{After: second, FirstToken: 2 * second, Tokens: 9, Fails: true}, Reply{Cause: record.Failure, Status: 429}, 429},
	} {
		synctest.Test(t, func(t *testing.T) {
			response, _ := parse(t, exchangeInBubble(t, last, planned(test.plan, test.reply)))
			if response == nil || response.StatusCode != test.status {
				t.Errorf("%+v: %v", test.plan, response)
			}
		})
	}
}

// A stream that stalls after its first token ends with its client.
func TestStreamStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		s, p := inBubble(backend(func(ctx context.Context, a Arrival, begin func(Plan)) Reply {
			defer close(left)
			begin(Plan{After: record.Never, FirstToken: 100 * ms, Tokens: 9})
			<-ctx.Done()
			return Reply{Err: ctx.Err()}
		}))
		c := p.dial()
		send(t, c, last)
		time.AfterFunc(time.Hour, func() { c.Close() })
		all := readPieces(c)
		<-left
		s.Close()
		if len(all) != 2 || all[0].At != 100*ms || all[1].At != time.Hour || strings.Count(text(all), "token") != 1 {
			t.Errorf("%+v", all)
		}
	})
}

// A usage chunk comes to who asks for it.
func TestUsage(t *testing.T) {
	for _, test := range []struct {
		body string
		want bool
	}{
		{`{"stream":true,"stream_options":{"include_usage":true}}`, true},
		{`{"stream_options": {"include_usage" : true}, "messages": []}`, true},
		{"{\"stream_options\":{\n\"include_usage\":\n\ttrue}}", true},
		{`{"i":"in","":"","include_usage":true}`, true},
		{`{"stream_options":{"include_usage":false}}`, false},
		{`{"stream_options":{"include_usage":null}}`, false},
		{`{"stream":true}`, false},
		{`{"content":"\"include_usage\":true"}`, false},
		{`{"include_usage":"true"}`, false},
		{`{"include_usage ":true}`, false},
		{`{"include_usage":tr ue}`, false},
		{``, false},
	} {
		for _, piece := range []int{1, 3, math.MaxInt} { // it comes in any pieces
			var a asksUsage
			for rest := []byte(test.body); len(rest) > 0; {
				n := min(piece, len(rest))
				a.scan(rest[:n])
				rest = rest[n:]
			}
			if a.found != test.want {
				t.Errorf("%s in pieces of %d: %v", test.body, piece, a.found)
			}
		}
	}
	both(t, func(t *testing.T, framed bool) {
		s := listenOn(t, always(Reply{Tokens: 3}))
		c := client(t, framed)
		for _, asks := range []bool{true, false} {
			response, err := c.Post(s.URL(7), "application/json", strings.NewReader(fmt.Sprintf(`{"stream_options":{"include_usage":%v}}`, asks)))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			want := chunks{Role: "assistant", Tokens: 3, Reason: "stop", Done: true}
			if asks {
				want.Usage = 3
			}
			if diff := cmp.Diff(want, readChunks(t, string(body))); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// With HTTP/2 too, what comes little by little comes before the end, and heads
// come with it.
func TestPiecesOfStreams(t *testing.T) {
	for _, test := range []struct {
		name  string
		plan  Plan
		reply Reply
		early bool
	}{
		{"heads", Plan{After: 20 * ms, FirstToken: record.Never, Wire: trickling(dependency.TrickleHeaders, 100)}, Reply{Wire: trickling(dependency.TrickleHeaders, 100)}, false},
		{"a body", Plan{After: 20 * ms, FirstToken: record.Never, Wire: trickling(dependency.TrickleBody, 100)}, Reply{Wire: trickling(dependency.TrickleBody, 100)}, true},
		{"tokens", Plan{After: 20 * ms, FirstToken: 2 * ms, Tokens: 9}, Reply{Tokens: 9}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := make(chan struct{}) // by the client, before the end
			s := listenOn(t, backend(func(_ context.Context, _ Arrival, begin func(Plan)) Reply {
				begin(test.plan)
				if test.early {
					<-seen
				} else {
					<-time.After(test.plan.After)
				}
				return test.reply
			}))
			response, err := client(t, true).Get(s.URL(7))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			first := make([]byte, 1)
			if _, err := io.ReadFull(response.Body, first); err != nil {
				t.Fatal(err)
			}
			close(seen)
			rest, err := io.ReadAll(response.Body)
			if err != nil || response.ProtoMajor != 2 || test.plan.Tokens == 0 && len(rest) != 99 {
				t.Errorf("%s: %d bytes, %v", response.Proto, len(rest), err)
			}
		})
	}
}
