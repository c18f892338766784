//go:build unix

package clock

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkDispatch states how late events of a schedule happen on the real
// clock when they do nothing, and what each costs:
//
//	go test -run '^$' -bench Dispatch -benchtime 1x ./clock
func BenchmarkDispatch(b *testing.B) {
	for _, rate := range []int{1_000, 10_000, 50_000, 100_000} {
		b.Run(fmt.Sprint(rate, "/s"), func(b *testing.B) {
			var late []time.Duration
			cpu := time.Duration(0)
			for range b.N {
				l, err := Real()
				if err != nil {
					b.Fatal(err)
				}
				p := &pace{loop: l, rate: rate, left: rate} // one second
				p.next()
				begin := cpuTime()
				l.Run()
				cpu += cpuTime() - begin
				l.Close()
				late = append(late, p.late...)
			}
			slices.Sort(late)
			for _, percent := range []int{50, 99} {
				b.ReportMetric(float64(late[len(late)*percent/100])/1e3, fmt.Sprint("p", percent, "-us"))
			}
			b.ReportMetric(float64(late[len(late)-1])/1e3, "max-us")
			b.ReportMetric(float64(cpu)/1e3/float64(len(late)), "cpu-us/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// pace is a schedule of even spacing.
type pace struct {
	loop *Loop
	rate int
	left int
	n    int
	late []time.Duration
}

func (p *pace) next() {
	if p.left > 0 {
		p.left--
		p.loop.At(p.due(), Arrival, p)
	}
}

func (p *pace) due() time.Duration { return time.Duration(p.n) * time.Second / time.Duration(p.rate) }

// Happen implements [Event].
func (p *pace) Happen() {
	p.late = append(p.late, p.loop.Now()-p.due())
	p.n++
	p.next()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAnswer states how long another goroutine waits for an answer from a
// loop that has nothing else to do, asked by Post and by Do, a thousand times a
// second:
//
//	go test -run '^$' -bench Answer -benchtime 5000x ./clock
func BenchmarkAnswer(b *testing.B) {
	for _, how := range []struct {
		name string
		ask  func(l *Loop, f func())
	}{{"post", (*Loop).Post}, {"do", (*Loop).Do}} {
		b.Run(how.name, func(b *testing.B) {
			l, err := Real()
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			l.Hold()
			took := make([]time.Duration, b.N)
			begin := cpuTime()
			go func() {
				defer l.Post(l.Release)
				for i := range took {
					<-time.After(time.Millisecond)
					asked, answered := time.Now(), make(chan struct{})
					how.ask(l, func() { l.After(0, Func(func() { close(answered) })) })
					<-answered
					took[i] = time.Since(asked)
				}
			}()
			l.Run()
			b.ReportMetric(float64(cpuTime()-begin)/1e3/float64(b.N), "cpu-us/ask")
			slices.Sort(took)
			for _, percent := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*percent/100])/1e3, fmt.Sprint("p", percent, "-us"))
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
