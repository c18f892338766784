// Receiver is the server that the benchmarks of pacing call. It answers every
// request with five bytes, notes the instant at which it has read each, and says
// afterwards how late they were against a schedule of even spacing.
//
// It knows no tool: the schedule begins where it fits best, which is as early
// as no request comes before its time. So all are judged the same.
//
//	receiver LISTEN CONTROL
//
// POST CONTROL/reset forgets what has come; GET CONTROL/report?rate=1000 tells of
// it as one line: requests, seconds, lateness p50, p99 and max in milliseconds,
// CPU microseconds per request of its own.
package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "receiver:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("expected two addresses: where requests come, and where it is asked")
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	a := &arrivals{begin: time.Now()}
	go func() { // until the process ends
		for {
			c, err := l.Accept()
			if err != nil {
				time.Sleep(time.Millisecond) // out of descriptors: connections wait
				continue
			}
			go a.serve(c)
		}
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /reset", func(http.ResponseWriter, *http.Request) { a.reset() })
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, r *http.Request) {
		rate, err := strconv.ParseFloat(r.FormValue("rate"), 64)
		if err != nil || rate <= 0 {
			http.Error(w, "expected ?rate=, in requests a second", http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, a.report(rate))
	})
	return http.ListenAndServe(args[1], mux)
}

// arrivals are the instants at which requests came.
type arrivals struct {
	begin time.Time

	mu  sync.Mutex
	at  []time.Duration // guarded by mu
	cpu time.Duration   // at the last reset; guarded by mu
}

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// serve reads requests without a body, and parses nothing but their end.
func (a *arrivals) serve(c net.Conn) {
	defer c.Close()
	b := make([]byte, 8<<10)
	have := 0
	for {
		n, err := c.Read(b[have:])
		if err != nil || have+n == len(b) {
			return
		}
		at := time.Since(a.begin)
		have += n
		end := bytes.LastIndex(b[:have], []byte("\r\n\r\n"))
		if end < 0 {
			continue
		}
		whole := bytes.Count(b[:end+4], []byte("\r\n\r\n"))
		have = copy(b, b[end+4:have])
		a.mu.Lock()
		for range whole {
			a.at = append(a.at, at)
		}
		a.mu.Unlock()
		for range whole {
			if _, err := c.Write([]byte(answer)); err != nil {
				return
			}
		}
	}
}

func (a *arrivals) reset() {
	a.mu.Lock()
	a.at, a.cpu = a.at[:0], cpuTime()
	a.mu.Unlock()
}

// report judges the k-th arrival against k/rate.
func (a *arrivals) report(rate float64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) == 0 {
		return "0 0 0 0 0 0"
	}
	at := slices.Sorted(slices.Values(a.at))
	late := make([]time.Duration, len(at))
	for k, t := range at {
		late[k] = t - time.Duration(float64(k)/rate*1e9)
	}
	slices.Sort(late)
	rank := func(p float64) float64 {
		return float64(late[max(0, int(p*float64(len(late))+0.5)-1)]-late[0]) / 1e6
	}
	each := float64(cpuTime()-a.cpu) / 1e3 / float64(len(at))
	return fmt.Sprintf("%d %.3f %.3f %.3f %.3f %.1f", len(at), (at[len(at)-1] - at[0]).Seconds(), rank(0.5), rank(0.99), rank(1), each)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
