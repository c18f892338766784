package analyze

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"brunt/chance"
)

// million writes a million rows, nearly all at a time of their own.
func million(groups int) []byte {
	var b bytes.Buffer
	b.WriteString("id,time_ms,outcome,group\n")
	const rows = 1_000_000
	source := chance.New(1)
	for i := range rows {
		d := source.Draw(0, int64(i), 0, 0)
		u, v := d.Float(), d.Next().Float()
		ms, outcome := 20*math.Exp(3*(u-0.5)*2), "completed"
		switch {
		case v < 0.02:
			outcome = "errored"
		case v < 0.03:
			ms, outcome = 30_000, "censored"
		}
		fmt.Fprintf(&b, "%d,%.6f,%s,g%d\n", i, ms, outcome, i%groups)
	}
	return b.Bytes()
}

func benchmark(b *testing.B, text []byte, whole bool) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		a, err := Read(bytes.NewReader(text), "rows", Options{Horizon: 30 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		if whole {
			if err := a.Curve(a.Whole, func(*Point) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// What the text report needs.
func BenchmarkMillion(b *testing.B) { benchmark(b, million(1), false) }

// What JSON needs: a band at each of a million points.
func BenchmarkMillionCurve(b *testing.B) { benchmark(b, million(1), true) }

// With curves of groups, and their test.
func BenchmarkMillionGroups(b *testing.B) { benchmark(b, million(4), false) }
