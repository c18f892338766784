package measure

import (
	"runtime"
	"testing"
	"time"

	"brunt/chance"
	"brunt/record"
)

// BenchmarkCurve is a million rows with almost as many distinct times, and the
// usual quantiles with their intervals: under 2 s, and under 200 MB with the
// rows.
func BenchmarkCurve(b *testing.B) {
	rows := spread(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		c := NewCurve(rows, 30*time.Second)
		for _, q := range reported {
			c.Quantile(q)
			c.QuantileInterval(q)
		}
		c.Band(len(c.Points) / 2)
	}
}

// spread makes rows at almost as many times, one in a hundred errored and one in a hundred
// censored, some of them early.
func spread(n int) []Observation {
	luck := chance.New(1)
	rows := make([]Observation, n)
	for i := range rows {
		d := luck.Draw(chance.Latency, int64(i), 0, 0)
		rows[i].Time = time.Duration(min(d.Next().Exp(), 30) * 1e9)
		switch d.Below(100) {
		case 0:
			rows[i].Outcome = record.Errored
		case 1:
			rows[i].Outcome = record.Censored
		}
	}
	return rows
}

// A curve keeps what its points need and no more: appending them would take
// three times as much on the way.
func TestCurveMemory(t *testing.T) {
	rows := spread(200_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := NewCurve(rows, 30*time.Second)
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / uint64(len(rows)); got > 184 {
		t.Errorf("%d bytes a row, want at most 184: a million rows must fit into 200 MB with the rows themselves", got)
	}
	if len(c.Points) < 180_000 {
		t.Errorf("%d distinct times do not tell", len(c.Points))
	}
}
