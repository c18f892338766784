package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
)

// A run of a million requests to each composition makes a page that is no larger than
// it may be; how long it takes to open is told, as it is the machine's too. With
// BRUNT_LONG=1.
func TestMillion(t *testing.T) {
	if os.Getenv("BRUNT_LONG") == "" {
		t.Skip("BRUNT_LONG is not set")
	}
	r := runOf(t, "outage", "--set", "load.rate=8334/s", "--set", "load.max_in_flight=40000")
	if n := r.result.Compositions[0].Whole.Offered; n < 1_000_000 {
		t.Fatalf("only %d requests", n)
	}
	file, err := os.Stat(filepath.Join(r.folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > 5_000_000 {
		t.Errorf("the page has %d bytes", file.Size())
	}
	p := open(t, r.folder, wide)
	painted := js[float64](p, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	loaded := js[float64](p, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("%d requests to each of %d compositions: %d bytes, painted after %.0f ms, loaded after %.0f ms",
		r.result.Compositions[0].Whole.Offered, len(r.result.Compositions), file.Size(), painted, loaded)
	for _, m := range call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		if strings.HasSuffix(m.Name, "Duration") {
			t.Logf("%s %.0f ms", m.Name, 1000*m.Value)
		}
	}
	p.quiet()
}
