package measure

import (
	"flag"
	"iter"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"brunt/chance"
	"brunt/record"
)

var coverageDraws = flag.Int64("coverage.draws", 2000, "draws in each cell of the coverage test")

// competing draws rows of which a share f completes by one second, half of the
// others fails by then, and a fifth is censored at a uniform time before: were
// nobody censored the incidence at one second would be f.
func competing(luck chance.Source, draw int64, n int, f float64) []Observation {
	rows := make([]Observation, n)
	for i := range rows {
		d := luck.Draw(chance.Latency, draw, uint64(n), uint64(i))
		fate := d.Float()
		d = d.Next()
		rows[i] = Observation{Time: time.Second, Outcome: record.Censored}
		if fate < f+(1-f)/2 {
			rows[i] = Observation{Time: time.Duration(d.Float() * 1e9), Outcome: record.Completed}
			if fate >= f {
				rows[i].Outcome = record.Errored
			}
		}
		d = d.Next()
		watched := d.Float()
		if watched < 0.2 {
			if c := time.Duration(watched * 5e9); c < rows[i].Time {
				rows[i] = Observation{Time: c, Outcome: record.Censored}
			}
		}
	}
	return rows
}

// counted puts rows into steps of 10 ms, which makes ties and spares sorting.
func counted(rows []Observation) iter.Seq[Count] {
	var steps [101]Count
	for _, r := range rows {
		c := &steps[(r.Time+10*ms-1)/(10*ms)]
		switch r.Outcome {
		case record.Completed:
			c.Completed++
		case record.Errored:
			c.Errored++
		default:
			c.Censored++
		}
	}
	for i := range steps {
		steps[i].Time = time.Duration(i) * 10 * ms
	}
	return slices.Values(steps[:])
}

// The band holds the true incidence at least as often as it promises, with
// errors and with censoring before the horizon, also where every transform of
// a Wald interval fails. -coverage.draws=20000 is the long form; the short one
// allows for three standard errors of its own, √(.95·.05/draws).
func TestBandCovers(t *testing.T) {
	draws := *coverageDraws
	least := 0.945
	if draws < 20_000 {
		least -= 3 * math.Sqrt(.95*.05/float64(draws))
	}
	luck := chance.New(20_000)
	for _, n := range []int{50, 200, 1000} {
		for _, f := range []float64{.5, .9, .99} {
			t.Run(strconv.Itoa(n)+" of "+strconv.FormatFloat(f, 'f', -1, 64), func(t *testing.T) {
				t.Parallel()
				covered, early := int64(0), int64(0)
				for i := range draws {
					c, err := CurveOf(counted(competing(luck, i, n, f)), time.Second)
					if err != nil {
						t.Fatal(err)
					}
					early += c.CensoredBeforeHorizon
					if b := c.Band(len(c.Points) - 1); b.Low <= f && f <= b.High {
						covered++
					}
				}
				if early == 0 {
					t.Fatal("nothing was censored before the horizon: this would test counting alone")
				}
				share := float64(covered) / float64(draws)
				t.Logf("%.4f covered", share)
				if share < least {
					t.Errorf("%.4f covered, want at least %.4f", share, least)
				}
			})
		}
	}
}
