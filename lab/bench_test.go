package lab

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/clock"
	"brunt/measure"
	"brunt/study"
)

// outageOf returns the outage study stretched to so many requests for each
// composition.
func outageOf(tb testing.TB, requests int) *study.Study {
	tb.Helper()
	each := time.Duration(requests) * 10 * time.Millisecond / 4
	return read(tb, "outage", fmt.Sprintf("phases.*.for=%v", each))
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkVirtual runs compositions of the outage study on the virtual clock,
// rows measured, one million requests at a time, and states requests per CPU
// second. Run it on one core: GOMAXPROCS=1 go test -bench Virtual ./lab
func BenchmarkVirtual(b *testing.B) {
	const requests = 1_000_000
	s := outageOf(b, requests)
	for _, name := range s.Compositions.Names() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime(b)
			for range b.N {
				m := measure.NewRecorder(plan(s), s.Schedule().Expected())
				if err := runOn(context.Background(), clock.Virtual(), s, name, s.Schedule(), m, false, nil); err != nil {
					b.Fatal(err)
				}
				if _, err := m.Composition(name); err != nil {
					b.Fatal(err)
				}
			}
			total := float64(requests) * float64(b.N)
			b.ReportMetric(total/(cpuTime(b)-start).Seconds(), "requests/cpu-s")
		})
	}
}

// BenchmarkMemory runs ten million requests of the outage study once and
// states the most memory that the process has held. Run it by itself:
// GOMAXPROCS=1 go test -run '^$' -bench Memory -benchtime 1x ./lab
func BenchmarkMemory(b *testing.B) {
	s := outageOf(b, 10_000_000)
	for range b.N {
		m := measure.NewRecorder(plan(s), s.Schedule().Expected())
		if err := runOn(context.Background(), clock.Virtual(), s, "retry-breaker", s.Schedule(), m, false, nil); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Composition("retry-breaker"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(peakMemory(b), "peak-MB")
}

// peakMemory is the most memory that the process has held, in MB.
func peakMemory(tb testing.TB) float64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Sys) / 1e6
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			return kb * 1024 / 1e6
		}
	}
	tb.Fatal("the kernel does not tell the peak of memory")
	return 0
}
