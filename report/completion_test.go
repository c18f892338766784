package report

import (
	"testing"

	"brunt/measure"
)

// TestCompletionTable: a quantile stands with its interval, a verdict in words,
// and a refused interval has its reason below the table. A deterministic run
// has no such table.
func TestCompletionTable(t *testing.T) {
	r := outageResult(t)
	r.Deterministic = false
	at := func(ms float64) *measure.Millis { m := measure.Millis(ms * 1e6); return &m }
	r.Compositions = r.Compositions[:1]
	r.Compositions[0].Phases = r.Compositions[0].Phases[:1]
	r.Compositions[0].Phases[0].Incidence = measure.Incidence{Quantiles: []measure.Quantile{
		{Q: 0.5, Status: measure.Reached, Millis: at(5), Lower: at(4.5), LowerStatus: measure.Reached, UpperStatus: measure.Beyond},
		{Q: 0.95, Status: measure.Unattainable, LowerStatus: measure.Unattainable, UpperStatus: measure.Unattainable},
		{Q: 0.99, Status: measure.Beyond, Refused: "p99-CI omitted (sample budget insufficient: 368 needed, 120 scheduled)"},
	}}
	table := completion(r)
	want := []string{"5 [4.5, beyond]", "never", "beyond¹"}
	for i, cell := range table.Rows[0][2:] {
		if cell.String() != want[i] {
			t.Errorf("%s: %q, want %q", table.Head[2+i], cell.String(), want[i])
		}
	}
	if len(table.Notes) != 1 || table.Notes[0] != "¹ p99-CI omitted (sample budget insufficient: 368 needed, 120 scheduled)." {
		t.Errorf("notes: %q", table.Notes)
	}
	for _, deterministic := range []bool{true, false} {
		r.Deterministic = deterministic
		found := false
		for _, s := range tableSections(r, &config{Tables: []string{"outcomes"}}) {
			found = found || s.Title == table.Title
		}
		if found == deterministic {
			t.Errorf("deterministic %v: the table is there: %v", deterministic, found)
		}
	}
}
