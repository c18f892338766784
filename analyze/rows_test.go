package analyze

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each row that cannot be used is named with its line, and refuses the whole.
func TestFaults(t *testing.T) {
	cases := []struct {
		name, text string
		want       []Fault
	}{
		{"not a number", "time_ms,outcome\n1,completed\nNaN,completed\n", []Fault{{3, `time_ms "NaN" is not a number of milliseconds`}}},
		// strconv would read these.
		{"infinite, hexadecimal", "time_ms,outcome\nInf,completed\n0x10,completed\n1_000,errored\n", []Fault{
			{2, `time_ms "Inf" is not a number of milliseconds`}, {3, `time_ms "0x10" is not a number of milliseconds`}, {4, `time_ms "1_000" is not a number of milliseconds`}}},
		{"negative", "outcome,time_ms\nerrored,-0.5\n", []Fault{{2, `time_ms "-0.5" is negative`}}},
		{"too long for nanoseconds", "outcome,time_ms\nerrored,1e13\n", []Fault{{2, `time_ms "1e13" is out of range: at most 106,751 days`}}},
		{"no time", "time_ms,outcome\n,completed\n", []Fault{{2, "time_ms is missing"}}},
		{"an unknown outcome", "time_ms,outcome\n1,ok\n", []Fault{{2, `outcome "ok" is unknown: expected completed, errored or censored`}}},
		{"no outcome", "time_ms,outcome\n1,\n", []Fault{{2, "outcome is missing: expected completed, errored or censored"}}},
		// All that is wrong with a row, once.
		{"two things", "time_ms,outcome\n-1,Completed\n", []Fault{{2, `time_ms "-1" is negative; outcome "Completed" is unknown: expected completed, errored or censored`}}},
		{"half a line", "time_ms,outcome\n1,completed\n17", []Fault{{3, "half a line: 1 of 2 fields"}}},
		{"half a word", "time_ms,outcome\n1,complet", []Fault{{2, `outcome "complet" is unknown: expected completed, errored or censored`}}},
		{"too many fields", "time_ms,outcome\n1,completed,9\n", []Fault{{2, "3 fields, the header has 2"}}},
		{"censored beyond the horizon", "time_ms,outcome\n1000,censored\n1000.000001,censored\n", []Fault{
			{3, "censored at 1.000000001s, beyond the horizon of 1s: nothing is watched longer than that"}}},
		{"an open quote", "time_ms,outcome,note\n1,completed,\"a\nb\n", []Fault{{2, "half a line: a quote is not closed"}}},
		{"text after a quote", "time_ms,outcome,note\n1,completed,\"a\"b\n", []Fault{{2, "text after a closing quote"}}},
		// Lines count on within a quoted field, and empty ones count too.
		{"lines are counted", "time_ms,outcome,note\n1,completed,\"a\n\nb\"\n\n-1,completed,c\r\n", []Fault{{6, `time_ms "-1" is negative`}}},
		{"JSON: half a line", "{\"time_ms\":1,\"outcome\":\"completed\"}\n{\"time_ms\":1,\"outc", []Fault{{2, `half a line: "{\"time_ms\":1,\"outc" is not a whole JSON object`}}},
		{"JSON: NaN", `{"time_ms":NaN,"outcome":"completed"}`, []Fault{{1, `half a line: "{\"time_ms\":NaN,\"outcome\":\"completed\"}" is not a whole JSON object`}}},
		{"JSON: no time", "{\"outcome\":\"completed\"}\n{\"outcome\":\"completed\",\"time_ms\":null}", []Fault{{1, "time_ms is missing"}, {2, "time_ms is missing"}}},
		{"JSON: a time as text", `{"time_ms":"12","outcome":"completed"}`, []Fault{{1, `time_ms "\"12\"" is not a number of milliseconds`}}},
		{"JSON: an outcome that is none", `{"time_ms":12,"outcome":["completed"]}`, []Fault{{1, "outcome is an object or a list: a text was expected"}}},
		{"JSON: one twice", `{"time_ms":12,"outcome":"errored","time_ms":1}`, []Fault{{1, "time_ms stands there twice"}}},
		{"JSON: no object", "{\"time_ms\":12,\"outcome\":\"errored\"}\n[1]", []Fault{{2, `half a line: "[1]" is not a whole JSON object`}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Read(strings.NewReader(c.text), "rows", Options{Horizon: time.Second})
			faults := new(Faults)
			if a != nil || !errors.As(err, &faults) {
				t.Fatalf("got %v, %v, expected faults", a, err)
			}
			if diff := cmp.Diff(c.want, faults.First); diff != "" || faults.Count != int64(len(c.want)) {
				t.Errorf("%d faults (-want +got):\n%s", faults.Count, diff)
			}
		})
	}
}

// What is wrong with the file as a whole.
func TestUnusable(t *testing.T) {
	cases := []struct{ name, text, say string }{
		{"empty", "", "empty: a header with time_ms and outcome was expected"},
		{"no time", "latency,outcome\n", `no column time_ms in the header "latency,outcome"`},
		{"no outcome", "time_ms\n1\n", `no column outcome in the header "time_ms"`},
		{"one twice", "time_ms,outcome,time_ms\n", "two columns are named time_ms"},
		{"Parquet", "PAR1....", "Parquet cannot be read from a stream"},
		{"compressed", "\x1f\x8b\x08", "gunzip -c"},
		// Nothing says how long these were watched.
		{"no horizon", "time_ms,outcome\n1,censored\n2,censored\n", "2 rows are censored, so a horizon is needed"},
	}
	for _, c := range cases {
		_, err := Read(strings.NewReader(c.text), "rows", Options{})
		if faults := new(Faults); !errors.As(err, &faults) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, expected %q", c.name, err, c.say)
		}
	}
}

// The list is bounded, the count is not.
func TestManyFaults(t *testing.T) {
	_, err := Read(strings.NewReader("time_ms,outcome\n5,completed\n"+strings.Repeat("x,completed\n", 50)), "rows.csv", Options{})
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if want := "50 of 51 rows cannot be used, so nothing was computed"; !strings.HasSuffix(lines[0], want) {
		t.Errorf("begins %q, want %q", lines[0], want)
	}
	if len(lines) != 22 || lines[1] != `  rows.csv:3: time_ms "x" is not a number of milliseconds` || lines[21] != "  and 30 more" {
		t.Errorf("lists:\n%v", err)
	}
}

// The ways to write the same rows. A few columns are not asked for, and hold
// what makes reading hard.
func TestSameRows(t *testing.T) {
	cases := []struct{ name, text string }{
		{"plain", "time_ms,outcome,group,window\n1.5,completed,a,early\n2,errored,b,late\n1000,censored,a,late\n"},
		{"another order, more columns", "x,group,outcome,window,time_ms\n,a,completed,early,1.5\n9,b,errored,late,2.0\n,a,censored,late,1e3\n"},
		{"carriage returns, a byte order mark, no end", "\xef\xbb\xbftime_ms,outcome,group,window\r\n1.5,completed,a,early\r\n2,errored,b,late\r\n1000,censored,a,late"},
		{"quotes", "\"time_ms\",outcome,\"note\",group,window\n\"1.5\",completed,\"say \"\"a,b\"\"\n,\",\"a\",early\n2,\"errored\",,b,late\n1000,censored,,a,late\n"},
		{"spaces", "time_ms, outcome, group,window\n 1.5, completed ,a,early\n+2,errored,b,late\n1000.0000000,censored,a,late\n"},
		{"JSON Lines", `{"time_ms":1.5,"outcome":"completed","group":"a","window":"early"}` + "\n" +
			` {"x":{"time_ms":3,"y":["}",1]},"window":"l\u0061te","group":"b","z":"\"},{","outcome" : "errored","time_ms" : 2.0 , "n":null}` + "\r\n\n" +
			`{"outcome":"censored","time_ms":1e+3,"ok":true,"group":"a","window":"late"}`},
	}
	var first string
	for i, c := range cases {
		a := analyzeText(t, c.text, Options{Horizon: time.Second})
		got := ""
		for _, list := range [][]*Stratum{{a.Whole}, a.Groups, a.Windows} {
			for _, s := range list {
				got += fmt.Sprintln(s.Name, s.Scheduled, s.Completed, s.Errored, s.Censored, curve(t, a, s))
			}
		}
		if i == 0 {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Errorf("%s (-first +this):\n%s", c.name, diff)
		}
	}
	if !strings.Contains(first, "b 1 0 1 0") || !strings.Contains(first, "late 2 0 1 1") {
		t.Errorf("the rows are not those: %s", first)
	}
}

// A line may be longer than what is read at once, and not without bound.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x,", 300_000)
	a := analyzeText(t, "note,time_ms,outcome\n\""+long+"\",1,completed\ny,2,errored\n", Options{})
	if a.Whole.Completed != 1 || a.Whole.Errored != 1 {
		t.Errorf("%+v", a.Whole)
	}
	for _, text := range []string{
		"note,time_ms,outcome\n\"" + long + long + "\",1,completed\ny,2,ok\n",
		"{\"time_ms\":1,\"outcome\":\"errored\"}\n{\"x\":\"" + long + long + "\"}\n{\"time_ms\":2}\n",
	} {
		_, err := Read(strings.NewReader(text), "rows", Options{})
		if err == nil || !strings.Contains(err.Error(), "rows:2: longer than 1048576 bytes") || !strings.Contains(err.Error(), "rows:3: outcome") {
			t.Errorf("got %v", err)
		}
	}
}

// A file that ends without a line end may have been cut there: the row counts,
// and the doubt is told.
func TestCutOff(t *testing.T) {
	a := analyzeText(t, "time_ms,outcome\n1,completed", Options{})
	if a.Whole.Scheduled != 1 || len(a.Warnings) != 1 {
		t.Errorf("%d rows, warnings %v", a.Whole.Scheduled, a.Warnings)
	}
}

// A completion after the horizon stays on the curve and is of no quantile, a
// request censored before it is counted, and refuses the intervals.
func TestHorizon(t *testing.T) {
	a := analyzeText(t, "time_ms,outcome\n1,completed\n12,completed\n4,censored\n10,censored\n", Options{Horizon: 10 * time.Millisecond})
	s := a.Whole
	if s.Late != 1 || s.CensoredBeforeHorizon != 1 || s.Censored != 2 || len(curve(t, a, s)) != 4 {
		t.Errorf("%+v", s)
	}
	if q := s.Quantiles[0]; q.Status != "beyond" || !strings.HasPrefix(q.Reason, "more than 10ms: ") || !strings.HasSuffix(q.Reason, "; 1 completed after the horizon") {
		t.Errorf("p50: %+v", q)
	}
	if got := s.Quantiles[0].Interval.Reason; got != "p50-CI omitted (1 requests censored before the horizon)" {
		t.Error(got)
	}
}

func TestParseMillis(t *testing.T) {
	cases := []struct {
		text string
		want time.Duration
	}{
		{"0", 0}, {"12", 12e6}, {"0.000001", 1}, {"1.5", 1_500_000}, {"1.", 1e6}, {".5", 500_000},
		{"0.1", 100_000}, // as a float times 1e6 this is a little more
		{"4.35", 4_350_000}, {"123456789012", 123456789012e6}, {"1e3", 1e9}, {"1.5E-3", 1500}, {"-0", 0},
		// Finer than a nanosecond: to the nearest.
		{"0.0000004", 0}, {"0.0000005", 1}, {"0.00000149", 1}, {"1.9999999", 2e6}, {"0.0000000005", 0},
	}
	for _, c := range cases {
		if got, err := parseMillis([]byte(c.text)); err != nil || got != c.want {
			t.Errorf("%s: %d ns, %v, want %d", c.text, int64(got), err, int64(c.want))
		}
	}
	for _, text := range []string{"1.2.3", "1,5", "12ms", "--1", "e", "1e", "+", "."} {
		if got, err := parseMillis([]byte(text)); err == nil {
			t.Errorf("%s: %v, expected an error", text, got)
		}
	}
}

func TestParseQuantiles(t *testing.T) {
	got, err := ParseQuantiles("p50, p99.9,0.07,1,p0.0001")
	if diff := cmp.Diff("[p50 p99.9 p7 p100 p0.0001]", fmt.Sprint(got)); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, text := range []string{"", "p101", "1.5", "p50,", "p-1", "0.0000001", "median"} {
		if got, err := ParseQuantiles(text); err == nil {
			t.Errorf("%q: %v, expected an error", text, got)
		}
	}
}
