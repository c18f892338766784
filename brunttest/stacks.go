package brunttest

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

// mostStacks is how many goroutines an error shows.
const mostStacks = 5

// inBubble finds the bubble in the first line of a goroutine's stack:
//
//	goroutine 12 [sync.Mutex.Lock, synctest bubble 3]:
//	goroutine 13 [chan receive (durable), synctest bubble 3]:
var inBubble = regexp.MustCompile(`^goroutine \d+ .*synctest bubble (\d+)\b.*\]:`)

// bubbleID returns which bubble the goroutine is in; 0 when the runtime does not
// say.
func bubbleID() int64 {
	buf := make([]byte, 256)
	buf = buf[:runtime.Stack(buf, false)]
	m := inBubble.FindSubmatch(buf)
	if m == nil {
		return 0
	}
	id, _ := strconv.ParseInt(string(m[1]), 10, 64) // the expression lets digits through alone
	return id
}

// anybody takes every goroutine of a bubble.
func anybody(string) bool { return true }

// hindered takes those that keep its time from moving: what they wait for can come
// from outside of it.
func hindered(state string) bool { return !strings.Contains(state, "(durable)") }

// stacks returns the stacks of the goroutines of a bubble, but of the caller's own
// and of those that make the bubble; "" when there are none.
func stacks(id int64, of func(state string) bool) string {
	buf := make([]byte, 1<<16)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) || len(buf) >= 1<<26 {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var found []string
	for i, one := range bytes.Split(buf, []byte("\n\n")) {
		m := inBubble.FindSubmatch(one)
		if i == 0 || m == nil || string(m[1]) != strconv.FormatInt(id, 10) || makesBubble(one) {
			continue
		}
		if head, _, _ := strings.Cut(string(one), "\n"); of(head) {
			found = append(found, string(one))
		}
	}
	if len(found) > mostStacks {
		found = append(found[:mostStacks], fmt.Sprintf("and %d more", len(found)-mostStacks))
	}
	return strings.Join(found, "\n\n")
}

// makesBubble reports whether a goroutine is one of the two that wait in
// testing/synctest for the bubble to end.
func makesBubble(stack []byte) bool { return bytes.Contains(stack, []byte("\ntesting/synctest.Test")) }
