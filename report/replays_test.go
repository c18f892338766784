package report

import (
	"bytes"
	"strings"
	"testing"

	"brunt/lab"
)

// replays is a result with a real recording, one of an outage, and a simulated
// one.
func replays() *lab.Result {
	started, all, some := "2026-01-02T03:04:05Z", 1.0, 0.0125
	return &lab.Result{Study: "recorded", Clock: "virtual", Seed: 1, Valid: true, Config: []byte(`{
		"dependencies": {"primary": {"replay": {"folder": "recordings/a.txt"}}, "backup": {"replay": {"folder": "recordings/b.txt"}}},
		"phases": [{"name": "well", "for": "30s"}, {"name": "down", "for": "30s"}, {"name": "back", "for": "30s"}]}`),
		Replays: []lab.Replay{
			{Dependency: "primary", Phases: []string{"well", "back"}, Drawn: 48210, DrawnCost: 96.42, Recording: lab.Recorded{
				Study: "upstream", Started: &started, Target: "target", Phase: "before", Composition: "plain",
				Calls: 1204, Completed: 1180, Cut: 20, LeftOut: 4, Kept: 1200, Cost: 2.408, Longest: 30000, Endless: &some}},
			{Dependency: "primary", Phases: []string{"down"}, Drawn: 20000, Recording: lab.Recorded{
				Study: "upstream", Target: "target", Phase: "outage", Invalid: true, Calls: 1, Cut: 1, Kept: 1, Longest: 2000, Endless: &all}},
			{Dependency: "backup", Phases: []string{"well", "down", "back"}, Drawn: 1, DrawnCost: 0.003, Recording: lab.Recorded{
				Study: "model", Started: &started, Target: "backup", Simulated: true, Phase: "whole",
				Calls: 2_000_000, Completed: 2_000_000, Kept: 100_000, Longest: 12.5}},
		}}
}

func TestReplays(t *testing.T) {
	r := replays()
	var text, markdown bytes.Buffer
	if err := Text(&text, r, nil, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "replays.txt", text.Bytes())
	if err := Markdown(&markdown, r, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "replays.md", markdown.Bytes())
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	// a phase in which no recorded call completed is an outage
	if o := c.outages(); len(o) != 1 || o[0].Dependency != "primary" || strings.Join(o[0].Phases, " ") != "down" {
		t.Errorf("outages: %+v", o)
	}
	// a run that is not valid shows no count of its own
	r.Valid = false
	text.Reset()
	if err := Text(&text, r, nil, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "replayed") {
		t.Errorf("an invalid run shows:\n%s", text.String())
	}
}
