package report

import (
	"bytes"
	"context"
	"testing"

	"brunt/lab"
	"brunt/study"
)

// TestGoldenOverload holds what is said of capacity, tiers, callers, breakers
// and stability, and the picture, to files.
func TestGoldenOverload(t *testing.T) {
	s, err := study.Read("testdata/overload.yaml", study.Options{Measure: lab.CheckName})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := lab.Run(context.Background(), s, lab.Options{Instrument: lab.Instrument{Version: "v1.2.3"}})
	if err != nil {
		t.Fatal(err)
	}
	var md, text bytes.Buffer
	if err := Markdown(&md, r, testEnvironment()); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, r, testEnvironment(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "overload.md", md.Bytes())
	golden(t, "overload.txt", text.Bytes())
	golden(t, "overload.svg", []byte(Picture(r)))
}
