package lab

import (
	"context"
	"strings"
	"testing"

	"brunt/study"
)

// TestGuestNeedsItsTest: without the test that brings the client, nobody runs
// it: not a run, nor what runs studies many times.
func TestGuestNeedsItsTest(t *testing.T) {
	const text = `
study: x
load: {rate: 10/s}
dependencies: {service: {latency: 5ms}}
phases: [{name: a, for: 1s}]
compositions: {plain: [], client: [{guest: brunttest}]}
`
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	const wrong = "composition client is a client of a Go test"
	if _, _, err := Run(context.Background(), s, Options{}); err == nil || !strings.Contains(err.Error(), wrong) {
		t.Errorf("Run: %v", err)
	}
	if _, err := Measure(context.Background(), s, "client"); err == nil || !strings.Contains(err.Error(), wrong) {
		t.Errorf("Measure: %v", err)
	}
	if _, err := Measure(context.Background(), s, "plain"); err != nil {
		t.Errorf("Measure of brunt's own stack beside it: %v", err)
	}
}
