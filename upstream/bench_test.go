package upstream

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An answer over one connection, back and forth. The second is what is added to
// a dependency that takes 1 ms.
func BenchmarkAnswer(b *testing.B) {
	post := "POST / HTTP/1.1\r\nHost: x\r\nX-Brunt-Request: 17\r\nContent-Length: 200\r\n\r\n" + strings.Repeat("b", 200)
	for _, bench := range []struct {
		name, request string
		takes         time.Duration
	}{
		{"get", get, 0},
		{"post", post, 0},
		{"get/1ms", get, ms},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var late time.Duration // of the backend, which is not ours
			s := listenOn(b, backend(func(context.Context, Arrival, func(Plan)) Reply {
				if bench.takes > 0 {
					start := time.Now()
					<-time.After(bench.takes)
					late += time.Since(start)
				}
				return Reply{}
			}))
			c := dial(b, s)
			_ = c.SetDeadline(time.Time{})
			request, piece := []byte(bench.request), make([]byte, 4<<10)
			b.ReportAllocs()
			start := time.Now()
			for b.Loop() {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Read(piece); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((time.Since(start)-late).Nanoseconds())/float64(b.N), "added-ns/op")
		})
	}
	b.Run("HTTP2", func(b *testing.B) {
		s := listenOn(b, always(Reply{}))
		c := client(b, true)
		b.ReportAllocs()
		for b.Loop() {
			response, err := c.Get(s.URL(7))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	})
}

// What connections cost that do nothing: those that have sent nothing, and those
// that have had an answer. Both ends are counted; the client's is a bare socket.
func BenchmarkIdle(b *testing.B) {
	const many = 9000 // two descriptors each
	for _, bench := range []struct{ name, request string }{{"silent", ""}, {"answered", get}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				s := listenOn(b, always(Reply{}))
				before := memory()
				conns := make([]net.Conn, 0, many)
				piece := make([]byte, 4<<10)
				for range many {
					c, err := net.Dial("tcp", s.ports[0].listener.Addr().String())
					if err != nil {
						b.Fatal(err)
					}
					conns = append(conns, c)
					if bench.request != "" {
						send(b, c, bench.request)
						if _, err := c.Read(piece); err != nil {
							b.Fatal(err)
						}
					}
				}
				await(b, s, "all", func(now Stats) bool { return now.Open == many })
				b.ReportMetric(float64(memory()-before)/many/1024, "KiB/conn")
				for _, c := range conns {
					c.Close()
				}
				s.Close()
			}
		})
	}
}

// memory is what the process has in use, stacks included.
func memory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
