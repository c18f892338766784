package e2e

import (
	"testing"
)

// A page opens from the disk under its strict policy: nothing on the console, and no
// request but the one for itself, also while it is used.
func TestOpensQuietly(t *testing.T) {
	for _, study := range []string{"outage", "stampede", "provider-failure"} {
		t.Run(study, func(t *testing.T) {
			p := open(t, runOf(t, study).folder, wide)
			if n := js[int](p, `document.querySelectorAll("svg.brunt-chart").length`); n < 5 {
				t.Errorf("%d charts", n)
			}
			js[any](p, `for (const d of document.querySelectorAll("details")) d.open = true; for (const b of document.querySelectorAll("button")) b.click(); null`)
			p.quiet()
		})
	}
}
