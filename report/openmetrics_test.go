package report

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

func metricsOf(t testing.TB, r *lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := OpenMetrics(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sampled is one sample as an ingestor reads it.
type sampled struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	descriptor = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"`)
)

// readMetrics reads the text as the grammar of OpenMetrics 1.0 has it, and holds it
// to what the specification asks of families: their order, suffixes and units.
func readMetrics(text string) (list []sampled, err error) {
	text, ended := strings.CutSuffix(text, "# EOF\n")
	if !ended {
		return nil, errors.New("no # EOF at the end")
	}
	type about struct{ kind, unit, help string }
	families := map[string]*about{}
	var now string // the family that lines belong to
	var of *about
	series := map[string]bool{}
	sampling := false
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole || strings.TrimSpace(line) == "" || line == "# EOF" {
			return nil, fmt.Errorf("the line %q", line)
		}
		if d := descriptor.FindStringSubmatch(line); d != nil {
			if d[2] != now || sampling {
				if families[d[2]] != nil {
					return nil, fmt.Errorf("%s is described in two places", d[2])
				}
				now, of, sampling = d[2], &about{}, false
				families[now] = of
			}
			field := map[string]*string{"TYPE": &of.kind, "UNIT": &of.unit, "HELP": &of.help}[d[1]]
			if *field != "" {
				return nil, fmt.Errorf("%s has two lines of %s", now, d[1])
			}
			*field = d[3]
			if d[1] == "UNIT" && !strings.HasSuffix(now, "_"+d[3]) {
				return nil, fmt.Errorf("%s does not end with its unit %s", now, d[3])
			}
			if d[1] == "HELP" && strings.ContainsAny(d[3], `"\`) {
				return nil, fmt.Errorf("the help %q reads differently in the older format", d[3])
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || of == nil || of.kind == "" || of.help == "" {
			return nil, fmt.Errorf("the line %q", line)
		}
		sampling = true
		switch name := m[1]; of.kind {
		case "counter":
			if name != now+"_total" {
				return nil, fmt.Errorf("%s in the counter %s", name, now)
			}
		case "gauge":
			if name != now || strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_info") {
				return nil, fmt.Errorf("%s in the gauge %s", name, now)
			}
		default:
			return nil, fmt.Errorf("%s is of type %s, which the older format does not have", now, of.kind)
		}
		s := sampled{name: m[1], labels: map[string]string{}}
		if rest := m[2]; rest != "" {
			for rest = rest[1:]; rest != "}"; {
				pair := labelPair.FindStringSubmatch(rest)
				if pair == nil {
					return nil, fmt.Errorf("the labels at %q", rest)
				}
				if _, twice := s.labels[pair[1]]; twice || pair[2] == "" {
					return nil, fmt.Errorf("the label %s in %q", pair[1], line)
				}
				s.labels[pair[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(pair[2])
				if rest = rest[len(pair[0]):]; rest != "}" {
					if rest, whole = strings.CutPrefix(rest, ","); !whole {
						return nil, fmt.Errorf("the labels at %q", rest)
					}
				}
			}
		}
		key := fmt.Sprint(s.name, s.labels)
		if series[key] {
			return nil, fmt.Errorf("%s stands there twice", key)
		}
		series[key] = true
		if s.value, err = strconv.ParseFloat(m[3], 64); err != nil || s.value != s.value || of.kind == "counter" && s.value < 0 {
			return nil, fmt.Errorf("the value in %q: %w", line, err)
		}
		list = append(list, s)
	}
	return list, nil
}

func samplesOf(t testing.TB, r *lab.Result) []sampled {
	t.Helper()
	list, err := readMetrics(metricsOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// sum adds the samples of a name up that have the given labels.
func sum(list []sampled, name string, labels ...string) (v float64, n int) {
	for _, s := range list {
		fits := s.name == name
		for i := 0; i < len(labels); i += 2 {
			fits = fits && s.labels[labels[i]] == labels[i+1]
		}
		if fits {
			v += s.value
			n++
		}
	}
	return v, n
}

func TestGoldenOpenMetrics(t *testing.T) {
	r := pageStudy(t)
	r.Compositions = r.Compositions[1:]
	golden(t, "page.openmetrics.txt", []byte(metricsOf(t, r)))
	golden(t, "invalid.openmetrics.txt", []byte(metricsOf(t, invalidResult(t))))
}

// Counters add up over phases and labels to the whole run; times are in seconds.
func TestOpenMetricsValues(t *testing.T) {
	r := pageStudy(t)
	guest := r.Compositions[0].Name
	r.Compositions[0].Guest = &measure.Guest{Late: 2, Unserved: 3, Unheard: 4, CutOff: 5}
	list := samplesOf(t, r)
	for kind, want := range map[string]float64{"unattributed": 0, "late": 2, "unheard": 4, "cut_off": 5} {
		if v, n := sum(list, "brunt_guest_attempts_total", "kind", kind); v != want || n != 1 {
			t.Errorf("guest attempts %s: %v, %d", kind, v, n)
		}
	}
	if v, n := sum(list, "brunt_guest_requests_unserved_total", "composition", guest); v != 3 || n != 1 {
		t.Errorf("unserved: %v, %d", v, n)
	}
	for i := range r.Compositions {
		c := &r.Compositions[i]
		w := &c.Whole
		for name, want := range map[string]int64{
			"requests_offered": w.Offered, "requests_submitted": w.Submitted, "requests_admitted": w.Admitted, "requests_completed": w.Completed,
			"requests_errored": w.Errored, "requests_censored": w.Censored, "requests_good": *w.Good, "requests_served": w.Completed, "attempts": w.Attempts,
			"retries": w.Retries, "retries_denied": w.Denied, "attempts_wasted": w.Wasted, "attempts_cancelled": c.Cancelled,
		} {
			if got, n := sum(list, "brunt_"+name+"_total", "study", "page", "composition", c.Name); got != float64(want) || n == 0 {
				t.Errorf("%s of %s: %v in %d samples, not %d", name, c.Name, got, n, want)
			}
		}
		for name, want := range map[string]float64{
			"outcome_seconds": float64(*w.Latency.Submitted.P50) / 1e9, "latency_seconds": float64(*w.Latency.Completed.P50) / 1e9,
		} {
			if got, n := sum(list, "brunt_"+name, "composition", c.Name, "phase", "whole", "quantile", "0.5"); got != want || n != 1 {
				t.Errorf("%s of %s: %v in %d samples, not %v", name, c.Name, got, n, want)
			}
		}
	}
	if v, n := sum(list, "brunt_run_valid"); v != 1 || n != 1 {
		t.Errorf("valid: %v, %d", v, n)
	}
	if _, n := sum(list, "brunt_expectation_passed"); n != len(r.Expectations) {
		t.Errorf("%d expectations, not %d", n, len(r.Expectations))
	}
}

// What is refused is absent.
func TestOpenMetricsRefuses(t *testing.T) {
	r := pageStudy(t)
	list := samplesOf(t, r)
	reached, refused := 0, 0
	for i := range r.Compositions {
		c := &r.Compositions[i]
		for _, p := range append(slices.Clone(c.Phases), c.Whole) {
			for _, q := range p.Incidence.Quantiles {
				if _, n := sum(list, "brunt_done_seconds", "composition", c.Name, "phase", p.Name, "quantile", float(q.Q)); (n == 1) != (q.Millis != nil) {
					t.Errorf("%s, %s, p%v: %d samples", c.Name, p.Name, 100*q.Q, n)
				}
				if q.Millis != nil {
					reached++
				} else {
					refused++
				}
			}
		}
	}
	if reached == 0 || refused == 0 {
		t.Errorf("%d quantiles are reached and %d refused", reached, refused)
	}
}

// A run that is not valid has no numbers, and one that broke off no verdicts on its
// expectations.
func TestOpenMetricsOfNoResult(t *testing.T) {
	names := map[string]bool{}
	for _, s := range samplesOf(t, invalidResult(t)) {
		names[s.name] = true
	}
	want := []string{"brunt_gate_passed", "brunt_run", "brunt_run_complete", "brunt_run_valid"}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	r := outageResult(t)
	r.Aborted = true
	list := samplesOf(t, r)
	if _, n := sum(list, "brunt_expectation_passed"); n != 0 {
		t.Errorf("%d expectations of an aborted run", n)
	}
	if v, n := sum(list, "brunt_run_complete"); v != 0 || n != 1 {
		t.Errorf("complete: %v, %d", v, n)
	}
}

func TestOpenMetricsHoldsNastyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := outageResult(t)
		r.Compositions = r.Compositions[:1]
		nastyResult(rt, r)
		name := nasty.Draw(rt, "name")
		r.Compositions[0].Name = name
		var b bytes.Buffer
		if err := OpenMetrics(&b, r); err != nil {
			rt.Fatal(err)
		}
		list, err := readMetrics(b.String())
		if err != nil {
			rt.Fatalf("%v in\n%s", err, &b)
		}
		for _, s := range list {
			if of, there := s.labels["composition"]; s.name == "brunt_cost_total" && of != clean(name) || there && of == "" {
				rt.Fatalf("%q came back as %q", name, of)
			}
		}
	})
}

func TestOpenMetricsWriteError(t *testing.T) {
	if err := OpenMetrics(failing{}, outageResult(t)); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
