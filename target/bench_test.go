//go:build unix

package target

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/clock"
	"brunt/record"
)

// Requests to a server of few means on loopback, one after another. The CPU
// time is that of both sides.
func BenchmarkRequest(b *testing.B) {
	s := benchServer(b, hello)
	b.Run("target", func(b *testing.B) { benchTarget(b, newCaller(b, s)) })
	b.Run("loop", func(b *testing.B) { benchLoop(b, s) })
	b.Run("net_http", func(b *testing.B) {
		transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1000}
		defer transport.CloseIdleConnections()
		b.ReportAllocs()
		cpu := cpuTime()
		for b.Loop() {
			r, _ := http.NewRequest("GET", s, nil)
			answer, err := transport.RoundTrip(r)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
		}
		b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/1e3, "cpu-us/op")
	})
}

func BenchmarkStream(b *testing.B) {
	body := role + strings.Repeat(token, 64) + stop + usage + done
	s := benchServer(b, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	benchTarget(b, newCaller(b, s, openAI))
}

func benchTarget(b *testing.B, caller *Caller) {
	over := make(chan *Answer, 1)
	report := func(e Event) {
		if e.Answer != nil {
			over <- e.Answer
		}
	}
	b.ReportAllocs()
	cpu := cpuTime()
	for b.Loop() {
		caller.Start(ID{}, record.Never, report)
		if a := <-over; a.Cause != record.None {
			b.Fatalf("%+v", a)
		}
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/1e3, "cpu-us/op")
}

// benchLoop has a loop carry the calls.
func benchLoop(b *testing.B, url string) {
	loop, err := clock.Real()
	if err != nil {
		b.Fatal(err)
	}
	defer loop.Close()
	caller := newCaller(b, url, func(_ *Config, env *Env) { env.Now = loop.Elapsed })
	caller.Attach(loop)
	left := b.N
	var next func()
	report := func(e Event) {
		switch {
		case e.Answer == nil:
		case e.Answer.Cause != record.None:
			b.Errorf("%+v", e.Answer)
			loop.Release()
		default:
			loop.Post(next)
		}
	}
	next = func() {
		if left--; left < 0 {
			loop.Release()
			return
		}
		caller.Start(ID{}, record.Never, report)
	}
	loop.Hold()
	loop.Post(next)
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	loop.Run()
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/1e3, "cpu-us/op")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchServer answers everything that ends in a blank line, without a parser.
func benchServer(b *testing.B, answer string) string {
	s := serve(b, func(p *peer) {
		for {
			length := 0
			for {
				line, err := p.in.ReadSlice('\n')
				if err != nil {
					return
				}
				if after, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
					for _, c := range strings.TrimSpace(after) {
						length = length*10 + int(c-'0')
					}
				}
				if len(line) <= 2 {
					break
				}
			}
			if _, err := p.in.Discard(length); err != nil {
				return
			}
			p.say(answer)
		}
	})
	return s.url
}
