package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/chance"
	"brunt/record"
)

// What a server is known to take is measured within 2 % or 1 ms: the time to
// the first piece of content, that to the end, and the gaps between. On a
// machine with other work the best of a few tries counts for each quantile:
// noise comes and goes, a fault in the measuring stays.
func TestLatency(t *testing.T) {
	const calls = 40
	draw := chance.New(1)
	took := make([][3]time.Duration, calls) // what the server did, measured there
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		n, err := strconv.Atoi(strings.Split(r.Header.Get("X-Request-Id"), "-")[1])
		if err != nil {
			t.Error(err)
			return
		}
		wait := func(purpose chance.Purpose, most time.Duration) {
			<-time.After(time.Duration(draw.Draw(purpose, int64(n), 0, 0).Below(int64(most))))
		}
		flush := w.(http.Flusher).Flush
		wait(chance.Latency, 150*time.Millisecond)
		took[n][0] = time.Since(begin)
		_, _ = io.WriteString(w, token)
		flush()
		second := time.Now()
		wait(chance.Token, 50*time.Millisecond)
		took[n][1] = time.Since(second)
		_, _ = io.WriteString(w, token)
		flush()
		_, _ = io.WriteString(w, stop+done)
		flush()
		took[n][2] = time.Since(begin)
	}))
	defer s.Close()
	caller := newCaller(t, s.URL, openAI) // one, so that later tries need not connect
	off := map[string]string{}
	for try := range 6 {
		now := measured(t, caller, took)
		if try == 0 {
			off = now
		}
		for name := range off {
			if now[name] == "" {
				delete(off, name)
			}
		}
		if len(off) == 0 {
			return
		}
	}
	t.Error(off)
}

func measured(t *testing.T, caller *Caller, took [][3]time.Duration) map[string]string {
	const sideBySide = 10 // more would wait for the processor, on both sides
	var all []*running
	var answers []*Answer
	for i := range took {
		if all = append(all, start(t, caller, int64(i), record.Never)); len(all) == sideBySide {
			for _, r := range all {
				answers = append(answers, r.end())
			}
			all = nil
		}
	}
	off := map[string]string{}
	var seen, truth [3][]time.Duration
	for i, a := range answers {
		if a.Cause != record.None || a.Contents != 2 {
			t.Fatalf("%+v", a)
		}
		for k, d := range []time.Duration{a.FirstContent - a.Wrote, a.LastContent - a.FirstContent, a.Terminal - a.Wrote} {
			seen[k], truth[k] = append(seen[k], d), append(truth[k], took[i][k])
		}
	}
	for k, name := range []string{"first content", "gap", "terminal event"} {
		slices.Sort(seen[k])
		slices.Sort(truth[k])
		for _, percent := range []int{10, 50, 90, 95} {
			at := len(took) * percent / 100
			got, want := seen[k][at], truth[k][at]
			if slack := max(time.Millisecond, want/50); got < want-slack || got > want+slack {
				off[name+" p"+strconv.Itoa(percent)] = "measured " + got.String() + ", was " + want.String()
			}
		}
	}
	return off
}
