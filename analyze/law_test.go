package analyze

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"brunt/measure"
	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const horizon = 20 * time.Millisecond

// someRows draws rows with many ties, some censored before the horizon.
func someRows(t *rapid.T) []measure.Observation {
	early := rapid.Bool().Draw(t, "early")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) measure.Observation {
		o := measure.Observation{
			Time:    time.Duration(rapid.IntRange(0, 25).Draw(t, "time")) * time.Millisecond,
			Outcome: record.Outcome(rapid.IntRange(0, 2).Draw(t, "outcome")),
		}
		if o.Outcome == record.Censored && (!early || o.Time > horizon) {
			o.Time = horizon
		}
		return o
	}), 0, 150).Draw(t, "rows")
}

// written writes rows as CSV.
func written(rows []measure.Observation) string {
	var b strings.Builder
	b.WriteString("time_ms,outcome\n")
	for _, o := range rows {
		fmt.Fprintf(&b, "%v,%v\n", float64(o.Time)/1e6, o.Outcome)
	}
	return b.String()
}

// A stream of counts has the curve, the quantiles and the intervals that the
// rows have in package measure.
func TestEqualsMeasure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := someRows(t)
		q := measure.PPM(rapid.IntRange(0, 1_000_000).Draw(t, "q"))
		a, err := Read(strings.NewReader(written(rows)), "rows", Options{Horizon: horizon, Quantiles: []measure.PPM{q}, most: 8})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		want := measure.NewCurve(rows, horizon)
		i := 0
		err = a.Curve(a.Whole, func(p *Point) error {
			w := want.Points[i]
			if p.Time != w.Time || p.AtRisk != w.AtRisk || p.Completed != w.Completed || p.Errored != w.Errored || p.Censored != w.Censored {
				return fmt.Errorf("point %d is %+v, want %+v", i, p, w)
			}
			band := want.Band(i)
			for _, pair := range [][3]float64{{p.Incidence, w.Incidence, 1e-12}, {p.Outstanding, w.Outstanding, 1e-12}, {p.Variance, w.Variance, 1e-14},
				{p.Band.Low, band.Low, 1e-10}, {p.Band.High, band.High, 1e-10}} {
				if !(math.Abs(pair[0]-pair[1]) <= pair[2]) {
					return fmt.Errorf("point %d: %v, want %v, in %+v", i, pair[0], pair[1], p)
				}
			}
			i++
			return nil
		})
		if err != nil || i != len(want.Points) {
			t.Fatalf("%d of %d points: %v", i, len(want.Points), err)
		}
		s := a.Whole
		plain, gone := true, false
		for _, p := range want.Points {
			plain = plain && !(gone && p.Completed+p.Errored > 0)
			gone = gone || p.Censored > 0
		}
		if s.Plain != plain {
			t.Fatalf("plain counting: %v, want %v", s.Plain, plain)
		}
		if math.Abs(s.Final-want.Final()) > 1e-12 || math.Abs(s.Ceiling-want.Ceiling()) > 1e-12 ||
			s.Scheduled != want.Scheduled || s.CensoredBeforeHorizon != want.CensoredBeforeHorizon {
			t.Fatalf("%+v, want final %v, ceiling %v, censored early %d", s, want.Final(), want.Ceiling(), want.CensoredBeforeHorizon)
		}
		words := cmpopts.IgnoreFields(measure.Quantile{}, "Reason") // they also tell of late completions
		if diff := cmp.Diff(want.Quantile(q), s.Quantiles[0].Quantile, words); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", q, diff)
		}
		if diff := cmp.Diff(want.QuantileInterval(q), s.Quantiles[0].Interval, words); diff != "" {
			t.Fatalf("interval of %v (-want +got):\n%s", q, diff)
		}
	})
}

// Neither the order of the rows nor how many entries memory holds changes
// anything.
func TestOrderAndMemoryChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.SplitAfter(written(someRows(t)), "\n")
		head, lines := "group,window,"+lines[0], lines[1:len(lines)-1]
		for i := range lines {
			lines[i] = fmt.Sprintf("g%d,w%d,", rapid.IntRange(0, 2).Draw(t, "group"), rapid.IntRange(0, 2).Draw(t, "window")) + lines[i]
		}
		one := everything(t, head+strings.Join(lines, ""), 1<<10)
		lines = rapid.Permutation(lines).Draw(t, "order")
		other := everything(t, head+strings.Join(lines, ""), 2)
		if diff := cmp.Diff(one, other); diff != "" {
			t.Fatal(diff)
		}
	})
}

// everything writes all numbers of rows.
func everything(t *rapid.T, text string, most int) string {
	a, err := Read(strings.NewReader(text), "rows", Options{Horizon: horizon, most: most, Points: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var b strings.Builder
	for _, list := range [][]*Stratum{{a.Whole}, a.Groups, a.Windows} {
		for _, s := range list {
			if _, err := fmt.Fprintf(&b, "%s %d %d %d %v %v %+v\n", s.Name, s.Scheduled, s.CensoredBeforeHorizon, s.Late, s.Final, s.Ceiling, s.Points); err != nil {
				t.Fatal(err)
			}
			for _, q := range s.Quantiles {
				fmt.Fprintf(&b, "%s %v %v\n", q.Status, q.Reason, q.Interval.Reason)
			}
			err := a.Curve(s, func(p *Point) error { fmt.Fprintf(&b, "%+v\n", *p); return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.String()
}

// A temporary file has no name while it is in use, so nothing can leave it
// behind; a curve comes out of it again and again.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("time_ms,outcome\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "%d.%06d,completed\n", i*7919%1000, i)
	}
	a := analyzeText(t, b.String(), Options{dir: dir, most: 64})
	if !a.Spilled {
		t.Fatal("nothing was written out")
	}
	for range 2 {
		if n := len(curve(t, a, a.Whole)); n != 1000 {
			t.Errorf("%d points, want 1000", n)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// A curve that its reader stops says why.
	stop := errors.New("enough")
	seen := 0
	if err := a.Curve(a.Whole, func(*Point) error { seen++; return stop }); !errors.Is(err, stop) || seen != 1 {
		t.Errorf("stopped after %d points with %v", seen, err)
	}
}

// The folder of the temporary file may not be there, or be full.
func TestNoRoomToSpill(t *testing.T) {
	text := "time_ms,outcome\n1,completed\n2,completed\n3,completed\n4,completed\n"
	_, err := Read(strings.NewReader(text), "rows", Options{dir: t.TempDir() + "/none", most: 2})
	if err == nil || !strings.Contains(err.Error(), "temporary file") {
		t.Errorf("got %v", err)
	}
	if faults := (*Faults)(nil); errors.As(err, &faults) {
		t.Error("the rows are blamed for it")
	}
}
