package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"brunt/analyze"
	"brunt/measure"
)

// analyses are rows of every kind: with groups and windows, errors and late
// completions; censored before the horizon; and none at all.
var analyses = []struct {
	name    string
	rows    func() string
	horizon time.Duration
}{
	{"analysis", func() string {
		var b strings.Builder
		b.WriteString("time_ms,outcome,group,window\n")
		for i := range 400 {
			ms, outcome := 5+float64(i*i%997)*1.25, "completed"
			switch {
			case i%20 == 3:
				outcome = "errored"
			case i%40 == 9:
				ms, outcome = 2000, "censored"
			case i == 11:
				ms = 2500
			}
			fmt.Fprintf(&b, "%v,%s,%s,%s\n", ms, outcome, [...]string{"<b>|canary", "stable", ""}[i%3], [...]string{"baseline", "fault"}[i%2])
		}
		return b.String()
	}, 2 * time.Second},
	{"analysis-early", func() string {
		return "time_ms,outcome\n1,completed\n2,censored\n3,completed\n3.5,errored\n4,completed\n5,censored"
	}, 5 * time.Millisecond},
	{"analysis-empty", func() string { return "time_ms,outcome\n" }, 0},
}

func analyzed(t *testing.T, rows string, horizon time.Duration) *analyze.Analysis {
	t.Helper()
	a, err := analyze.Read(strings.NewReader(rows), "rows.csv", analyze.Options{Horizon: horizon})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestGoldenAnalysis(t *testing.T) {
	for _, c := range analyses {
		a := analyzed(t, c.rows(), c.horizon)
		for suffix, write := range map[string]func(*bytes.Buffer) error{
			".txt":    func(b *bytes.Buffer) error { return AnalysisText(b, a, TextOptions{}) },
			".60.txt": func(b *bytes.Buffer) error { return AnalysisText(b, a, TextOptions{Width: 60}) },
			".md":     func(b *bytes.Buffer) error { return AnalysisMarkdown(b, a) },
			".json":   func(b *bytes.Buffer) error { return AnalysisJSON(b, a) },
		} {
			if c.name == "analysis" && suffix == ".json" {
				continue // long: TestAnalysisJSON reads it
			}
			t.Run(c.name+suffix, func(t *testing.T) {
				var b bytes.Buffer
				if err := write(&b); err != nil {
					t.Fatal(err)
				}
				golden(t, c.name+suffix, b.Bytes())
			})
		}
	}
}

// The names are a contract, and the curve is whole.
func TestAnalysisJSON(t *testing.T) {
	a := analyzed(t, analyses[0].rows(), analyses[0].horizon)
	var b bytes.Buffer
	if err := AnalysisJSON(&b, a); err != nil {
		t.Fatal(err)
	}
	type part struct {
		N, Completed, Errored, Censored int64
		Early                           *int64 `json:"censored_before_horizon"`
		Curve                           []struct {
			T         measure.Millis `json:"t_ms"`
			AtRisk    int64          `json:"at_risk"`
			Completed *int64
			Errored   *int64
			Incidence *float64
			Variance  *float64
			Lower     *float64
			Upper     *float64
		}
		Final     *float64 `json:"final_incidence"`
		Ceiling   *float64
		Quantiles []struct {
			Q            float64
			Status       measure.Status
			Ms           *measure.Millis
			Lower, Upper *measure.Millis
			Refused      *string `json:"interval_refused"`
		}
	}
	var got struct {
		part
		Groups, Windows map[string]part
		Gray            *struct{ Statistic, DF, P *float64 }
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Groups) != 3 || len(got.Windows) != 2 || got.Gray == nil || *got.Gray.DF != 2 || got.Gray.P == nil {
		t.Errorf("%d groups, %d windows, gray %+v", len(got.Groups), len(got.Windows), got.Gray)
	}
	parts := map[*analyze.Stratum]part{a.Whole: got.part}
	for _, s := range a.Groups {
		parts[s] = got.Groups[s.Name]
	}
	for _, s := range a.Windows {
		parts[s] = got.Windows[s.Name]
	}
	for s, p := range parts {
		if p.N != s.Scheduled || p.Completed+p.Errored+p.Censored != p.N || p.Early == nil || *p.Final != s.Final || *p.Ceiling != s.Ceiling || len(p.Quantiles) != 5 {
			t.Errorf("%q: %+v", s.Name, p)
		}
		i := 0
		err := a.Curve(s, func(want *analyze.Point) error {
			c := p.Curve[i]
			i++
			if time.Duration(c.T) != want.Time || c.AtRisk != want.AtRisk || *c.Completed != want.Completed || *c.Errored != want.Errored ||
				*c.Incidence != want.Incidence || *c.Variance != want.Variance || *c.Lower != want.Band.Low || *c.Upper != want.Band.High {
				return fmt.Errorf("point %d is %+v, want %+v", i-1, c, want)
			}
			return nil
		})
		if err != nil || i != len(p.Curve) {
			t.Errorf("%q: %d of %d points: %v", s.Name, i, len(p.Curve), err)
		}
	}
}

// Numbers are written as package json writes them.
func TestAppendFloat(t *testing.T) {
	for _, x := range []float64{0, 1, 0.1, 1e-6, 9.99e-7, 1.5e-9, 2.5e-10, 1e-100, 1e20, 1e21, 1e22, math.SmallestNonzeroFloat64, math.MaxFloat64, -1e-7} {
		want, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendFloat(nil, x); !bytes.Equal(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, d := range []time.Duration{0, 1, 999_999, 1_000_000, 1_500_000, 30 * time.Second, math.MaxInt64} {
		want, err := measure.Millis(d).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if got := appendMillis(nil, d); !bytes.Equal(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// noRoom is a disk that is full.
type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errFull }

func TestAnalysisNoRoom(t *testing.T) {
	a := analyzed(t, analyses[0].rows(), analyses[0].horizon)
	for _, err := range []error{AnalysisText(noRoom{}, a, TextOptions{}), AnalysisMarkdown(noRoom{}, a), AnalysisJSON(noRoom{}, a)} {
		if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "rows.csv") {
			t.Errorf("got %v", err)
		}
	}
}
