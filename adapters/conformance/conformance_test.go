package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"brunt/adapters/studies"
)

// seen writes what was seen of each composition in one line.
func seen(o *Outcome) []string {
	var all []string
	for _, f := range o.Findings {
		line := f.Composition + ": " + string(f.Verdict)
		if f.Verdict == NotApplicable {
			line = f.Library + ": " + string(f.Verdict)
		}
		for _, s := range f.Seen {
			line += ", " + s.String()
		}
		all = append(all, line)
	}
	return all
}

// The findings, with their numbers: a version of a library that does something
// else turns this red.
func TestFindings(t *testing.T) {
	report, err := Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		// a breaker that closes on stale results lets 61 calls through to a dependency
		// that hangs, and five when it fails again
		"stale-results": {
			"brunt: as_expected, 1 of 80, 0 of 8",
			"failsafe-go: differs, 61 of 80, 5 of 8",
			"failsafe-go-defaults: differs, 61 of 80, 5 of 8",
			"gobreaker: as_expected, 1 of 80, 0 of 8",
			"go-resiliency: as_expected, 74 of 80, 1 of 8",
			"cenkalti/backoff 5.0.3: not_applicable",
			"hashicorp/go-retryablehttp 0.7.8: not_applicable",
		},
		"hedge-losers": {
			"brunt-ratio: as_expected, 0 of 20",
			"failsafe-go-ratio: as_expected, 0 of 20",
			"failsafe-go-ratio-defaults: differs, 15 of 20",
			"failsafe-go-row-defaults: as_expected, 0 of 20",
			"sony/gobreaker 2.4.0: not_applicable",
			"cenkalti/backoff 5.0.3: not_applicable",
			"hashicorp/go-retryablehttp 0.7.8: not_applicable",
			"eapache/go-resiliency 1.7.0: not_applicable",
		},
		"hung-probe": {
			"brunt: as_expected, 2 of 80, 74 of 80",
			"failsafe-go: differs, 35 of 80, 80 of 80",
			"failsafe-go-defaults: as_expected, 2 of 80, 54 of 80",
			"gobreaker: as_expected, 2 of 80, 74 of 80",
			"gobreaker-defaults: as_expected, 2 of 80, 52 of 80",
			"go-resiliency: differs, 40 of 80, 74 of 80",
			"cenkalti/backoff 5.0.3: not_applicable",
			"hashicorp/go-retryablehttp 0.7.8: not_applicable",
		},
		"open-breaker": {
			"brunt: as_expected, 0 ms",
			"failsafe-go: as_expected, 0 ms",
			"failsafe-go-defaults: differs, 200 ms",
			"backoff-gobreaker: as_expected, 0 ms",
			"backoff-gobreaker-defaults: differs, 200 ms",
			"retryablehttp-gobreaker: as_expected, 0 ms",
			"retryablehttp-gobreaker-defaults: differs, 200 ms",
			"go-resiliency: as_expected, 0 ms",
			"go-resiliency-defaults: differs, 200 ms",
		},
		"lost-permits": {
			"brunt-limit: as_expected, 19 of 20",
			"failsafe-go-limit: as_expected, 19 of 20",
			"go-resiliency-limit: as_expected, 19 of 20",
			"brunt-rate: as_expected, 18 of 20",
			"failsafe-go-rate: differs, 0 of 20",
			"sony/gobreaker 2.4.0: not_applicable",
			"cenkalti/backoff 5.0.3: not_applicable",
			"hashicorp/go-retryablehttp 0.7.8: not_applicable",
		},
		"budget": {
			"brunt-calls: as_expected, 26 of 100",
			"brunt-attempts: differs, 16 of 100",
			"failsafe-go: as_expected, 26 of 100",
			"sony/gobreaker 2.4.0: not_applicable",
			"cenkalti/backoff 5.0.3: not_applicable",
			"hashicorp/go-retryablehttp 0.7.8: not_applicable",
			"eapache/go-resiliency 1.7.0: not_applicable",
		},
		// six callers who leave open the breaker of a target that is well
		"cancellations": {
			"brunt: as_expected, 20 of 20, 0 of 20",
			"failsafe-go: as_expected, 20 of 20, 0 of 20",
			"failsafe-go-defaults: differs, 6 of 20, 14 of 20",
			"gobreaker: as_expected, 20 of 20, 0 of 20",
			"gobreaker-defaults: differs, 6 of 20, 14 of 20",
			"go-resiliency: differs, 6 of 20, 14 of 20",
			"cenkalti/backoff 5.0.3: not_applicable",
			"hashicorp/go-retryablehttp 0.7.8: not_applicable",
		},
	}
	for i := range report.Scenarios {
		o := &report.Scenarios[i]
		if o.Scenario == "jitter-cap" {
			jitter(t, o)
			continue
		}
		if got := seen(o); !slices.Equal(got, want[o.Scenario]) {
			t.Errorf("%s:\n%s\nexpected:\n%s", o.Scenario, strings.Join(got, "\n"), strings.Join(want[o.Scenario], "\n"))
		}
	}
	complete(t, report)
	written(t, report)
	published(t, report)
}

// jitter judges the one scenario that takes chance: of 200 draws from [0.5 s,
// 1.5 s] the largest lies above 1.4 s, but for one in a billion.
func jitter(t *testing.T, o *Outcome) {
	t.Helper()
	for _, f := range o.Findings {
		if f.Verdict == NotApplicable {
			continue
		}
		over := slices.Contains([]string{"failsafe-go", "backoff", "go-resiliency"}, f.Composition)
		low, high, verdict := 1002.0, 1002.001, AsExpected
		if over {
			low, high, verdict = 1400, 1502.001, Differs
		}
		if v := f.Seen[0].Value; v < low || v > high || f.Verdict != verdict {
			t.Errorf("%s: %v ms, %s: expected %v to %v, %s", f.Composition, v, f.Verdict, low, high, verdict)
		}
	}
}

// Each scenario has a study, each composition of a study is judged, each study
// belongs to a scenario, and each library is spoken of where breakers are.
func complete(t *testing.T, report *Report) {
	t.Helper()
	files, err := fs.Glob(studies.Files, "conformance-*.yaml")
	if err != nil || len(files) != len(report.Scenarios) {
		t.Errorf("%d studies, %d scenarios (%v)", len(files), len(report.Scenarios), err)
	}
	for _, o := range report.Scenarios {
		text, err := studies.Files.ReadFile(o.Study)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\ncompositions:\n")
		stacks := strings.Count(after, "\n  ") + 1
		judged := 0
		for _, f := range o.Findings {
			if f.Verdict == NotApplicable {
				continue
			}
			judged++
			if f.Library != "brunt" && (f.Own == "" || f.Says == "" || !strings.HasPrefix(f.Source, "https://")) {
				t.Errorf("%s, %s: nothing is said of its documentation", o.Scenario, f.Composition)
			}
		}
		if judged != stacks {
			t.Errorf("%s: %d compositions, %d are judged", o.Scenario, stacks, judged)
		}
	}
}

// docs/libraries.md shows these findings.
func published(t *testing.T, report *Report) {
	t.Helper()
	page, err := os.ReadFile("../../docs/libraries.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range report.Scenarios {
		for _, f := range o.Findings {
			if f.Verdict == NotApplicable || o.Scenario == "jitter-cap" { // which takes chance
				continue
			}
			cells := []string{"`" + f.Composition + "`", f.Library}
			for _, s := range f.Seen {
				cells = append(cells, s.String())
			}
			cells = append(cells, words[f.Verdict], string(f.Own))
			if row := "| " + strings.Join(cells, " | ") + " |"; !strings.Contains(string(page), strings.ReplaceAll(row, "|  |", "| |")) {
				t.Errorf("%s: the page lacks\n%s", o.Scenario, row)
			}
		}
	}
}

// What is printed holds what was found.
func written(t *testing.T, report *Report) {
	t.Helper()
	var text, code bytes.Buffer
	if err := report.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"stale-results: Do results", "failsafe-go/failsafe-go 0.9.8", "61 of 80", "failsafe-go-defaults  failsafe-go/failsafe-go 0.9.8", "differs",
		"not applicable: sony/gobreaker 2.4.0 (has no hedge)", "study:    studies/conformance-budget.yaml",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
	if err := report.JSON(&code); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(code.Bytes(), &back); err != nil || back.Schema != 1 || fmt.Sprint(back) != fmt.Sprint(*report) {
		t.Errorf("the JSON does not hold the report (%v)", err)
	}
}

// The command says how it is called, and what there is.
func TestCommand(t *testing.T) {
	for _, c := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"--help", 0, "", "usage: conformance [--json] [SCENARIO...]"},
		{"--unknown", 2, "", "flag provided but not defined"},
		{"nothing", 2, "", `there is no scenario "nothing": expected one of stale-results, hedge-losers`},
		{"budget --json", 2, "", "flags come first"},
		{"budget", 0, "26 of 100", ""},
		{"--json budget", 0, `"verdict": "as_expected"`, ""},
	} {
		var stdout, stderr bytes.Buffer
		status := Command(t.Context(), strings.Fields(c.args), &stdout, &stderr)
		if status != c.status || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) ||
			c.status != 0 && stdout.Len() > 0 {
			t.Errorf("%s: status %d, stdout %q, stderr %q", c.args, status, &stdout, &stderr)
		}
	}
}
