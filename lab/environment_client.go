package lab

import (
	"math"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// client watches the machine that makes the load while a run on the real clock
// goes on: how busy its processors are, and how long the garbage collector
// stops the world. It belongs to one goroutine; its sampling is its own.
type client struct {
	stop    chan struct{}
	stopped chan struct{}
	cpu     cpuLoad
	pauses  []uint64  // in measurement windows, by bucket
	bounds  []float64 // of the buckets; nil when the runtime does not tell
}

const (
	cpuEvery  = 500 * time.Millisecond
	cpuWindow = 5 * time.Second // design: host CPU over any 5 s
)

// watchClient begins to watch.
func watchClient() *client {
	c := &client{stop: make(chan struct{}), stopped: make(chan struct{})}
	c.cpu.sample(hostCPU())
	go func() {
		defer close(c.stopped)
		tick := time.NewTicker(cpuEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.cpu.sample(hostCPU())
			case <-c.stop:
				c.cpu.sample(hostCPU())
				return
			}
		}
	}()
	return c
}

// ballastBytes are never touched, so they cost no memory; but the collector takes
// them for live, and waits for as much garbage before it stops the world. The
// fewer pauses, the fewer can fall on a request.
const ballastBytes = 64 << 20

// window runs a measurement window: garbage collection outside of one, such as
// in a warm-up, disturbs no number.
func (c *client) window(run func() error) error {
	ballast := make([]byte, ballastBytes)
	before := gcPauses()
	err := run()
	after := gcPauses()
	runtime.KeepAlive(ballast)
	if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
		return err
	}
	if c.bounds == nil {
		c.bounds, c.pauses = after.Buckets, make([]uint64, len(after.Counts))
	}
	for i := range after.Counts {
		c.pauses[i] += after.Counts[i] - before.Counts[i]
	}
	return err
}

// end stops watching and returns what two gates judge.
func (c *client) end() []Gate {
	close(c.stop)
	<-c.stopped
	cpu, gc := Gate{Name: gateCPU}, Gate{Name: gateGC}
	if busiest, ok := c.cpu.busiest(); ok {
		cpu.Value = &busiest
	} else {
		cpu.Reason = "not measured: this system does not tell how busy its processors are"
	}
	if p99, ok := pauseP99(c.pauses, c.bounds); ok {
		pause := p99 * 1e3
		gc.Value = &pause
	} else {
		gc.Reason = "not measured: the Go runtime does not tell its pauses"
	}
	return []Gate{cpu, gc}
}

// cpuLoad keeps samples of the time that all processors together were busy.
type cpuLoad struct {
	samples []cpuSample
	missing bool
}

type cpuSample struct{ busy, total float64 }

func (l *cpuLoad) sample(s cpuSample, ok bool) {
	l.missing = l.missing || !ok
	l.samples = append(l.samples, s)
}

// busiest returns the greatest load, in percent, over any window of five
// seconds, or over the whole of a shorter run.
func (l *cpuLoad) busiest() (percent float64, ok bool) {
	if l.missing || len(l.samples) < 2 {
		return 0, false
	}
	width := min(int(cpuWindow/cpuEvery), len(l.samples)-1)
	for i := width; i < len(l.samples); i++ {
		from, to := l.samples[i-width], l.samples[i]
		if d := to.total - from.total; d > 0 {
			percent, ok = max(percent, 100*(to.busy-from.busy)/d), true
		}
	}
	return percent, ok
}

// hostCPU reads the processors' time since boot, in any unit.
func hostCPU() (cpuSample, bool) {
	fields := strings.Fields(firstLine("/proc/stat"))
	if len(fields) < 6 || fields[0] != "cpu" {
		return cpuSample{}, false
	}
	var s cpuSample
	for i, f := range fields[1:min(len(fields), 9)] { // guest time is in user time already
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return cpuSample{}, false
		}
		s.total += v
		if i != 3 && i != 4 { // idle, and waiting for a disk
			s.busy += v
		}
	}
	return s, true
}

const pausesMetric = "/sched/pauses/total/gc:seconds"

func gcPauses() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: pausesMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// pauseP99 returns the 99th percentile (nearest rank) of counted pauses in
// seconds, as the upper end of its bucket; 0 when there was none.
func pauseP99(counts []uint64, bounds []float64) (seconds float64, ok bool) {
	if len(bounds) != len(counts)+1 {
		return 0, false
	}
	var n uint64
	for _, count := range counts {
		n += count
	}
	rank, seen := (99*n+99)/100, uint64(0)
	for i, count := range counts {
		if seen += count; n > 0 && seen >= rank {
			if upper := bounds[i+1]; !math.IsInf(upper, 1) {
				return upper, true
			}
			return bounds[i], true
		}
	}
	return 0, true
}
