package report

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

func comparisonPage(t testing.TB, c *lab.RunComparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := ComparisonHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page says what the Markdown says, in its order, and has a picture.
func TestComparisonPage(t *testing.T) {
	c := comparisonFixture()
	page := comparisonPage(t, c)
	m, err := readPage(page)
	if err != nil {
		t.Fatal(err)
	}
	if m.elements["svg"] != 1 || m.elements["figure"] != 1 {
		t.Errorf("%d pictures", m.elements["svg"])
	}
	text := m.text
	for _, want := range []string{
		"2 of 4 rules fail", "paired by seed", "Verdict on the rules", "✓ within the limit", "✗ over the limit", "✓ noise can explain it", "✗ unclear",
		"What differs", "95 % t-interval", "retry", "outage.attempts/offered: 1.000 → 1.297 (+0.297)", "Hollow", "The numbers of this chart", "No difference shown in 2 numbers.", "The two runs", "seeds 1 to 3",
	} {
		before, after, ok := strings.Cut(text, want)
		if !ok {
			t.Fatalf("no %q where it should stand, after %q", want, before)
		}
		text = after
	}
	if !strings.Contains(page, policy(pageStyleOf(page), pageScript)) {
		t.Error("the policy does not name the style and the script of the page")
	}
	if again := comparisonPage(t, c); again != page {
		t.Error("not the same twice")
	}
	if strings.Contains(m.text+strings.Join(m.values, " "), "NaN") {
		t.Error("a number went wrong")
	}
}

func pageStyleOf(page string) string {
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	return style
}

// Dots and whiskers lie at the numbers of the comparison, in percent of A.
func TestComparisonPictureIsTrue(t *testing.T) {
	c := comparisonFixture()
	svg, data := differencePicture(c, &c.Compositions[0])
	drawn := pictured(c, &c.Compositions[0])
	if len(data.rows) != len(drawn) || len(drawn) != 3 {
		t.Fatalf("%d rows of %d", len(data.rows), len(drawn))
	}
	// The axis, from its ticks.
	var places, values []float64
	for _, m := range regexp.MustCompile(`<text x="([0-9.]+)" y="[0-9.]+" class="small soft mid"[^>]*>([-0-9]+)</text>`).FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		v, _ := strconv.ParseFloat(m[2], 64)
		places, values = append(places, x), append(values, v)
	}
	last := len(values) - 1
	if last < 2 {
		t.Fatalf("ticks: %v", values)
	}
	at := func(percent float64) float64 {
		return places[1] + (percent-values[1])/(values[last-1]-values[1])*(places[last-1]-places[1])
	}
	var dots, whiskers [][2]float64
	for _, m := range regexp.MustCompile(`<circle class="(?:mark|open) c0" cx="([0-9.]+)"`).FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		dots = append(dots, [2]float64{x})
	}
	for _, m := range regexp.MustCompile(`<path class="whisker" d="M([0-9.]+) [0-9.]+L([0-9.]+) `).FindAllStringSubmatch(svg, -1) {
		from, _ := strconv.ParseFloat(m[1], 64)
		to, _ := strconv.ParseFloat(m[2], 64)
		whiskers = append(whiskers, [2]float64{from, to})
	}
	if len(dots) != 2 || len(whiskers) != 2 { // the third was refused
		t.Fatalf("%d dots and %d whiskers", len(dots), len(whiskers))
	}
	for i, d := range drawn[:2] {
		for k, pair := range [][2]float64{{dots[i][0], *d.Mean}, {whiskers[i][0], *d.Low}, {whiskers[i][1], *d.High}} {
			if want := at(100 * pair[1] / *d.A); math.Abs(pair[0]-want) > 1 {
				t.Errorf("%s, mark %d: at %v, not at %v", d.Name, k, pair[0], want)
			}
		}
	}
	if n := strings.Count(svg, `class="limit"`); n != 4 {
		t.Errorf("%d limits, not 4", n)
	}
}

// A number that was 0 has no percentage, and says what it was and is.
func TestComparisonPictureOfNothing(t *testing.T) {
	c := comparisonFixture()
	c.Rules = nil
	c.Compositions[0].Numbers = []measure.Difference{measure.Compare("whole censored", known(0), known(3))}
	svg, _ := differencePicture(c, &c.Compositions[0])
	if strings.Contains(svg, "<circle") || !strings.Contains(svg, "0 → 3 (+3)") || !strings.Contains(svg, "A is 0") {
		t.Errorf("got %s", svg)
	}
	c.Compositions[0].Numbers = []measure.Difference{measure.Compare("whole censored", known(2), known(2))}
	if svg, _ := differencePicture(c, &c.Compositions[0]); svg != "" {
		t.Error("a picture of what is the same")
	}
}

// Text that comes from runs and rules is never markup.
func TestComparisonPageHoldsNastyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := comparisonFixture()
		// This test reads pages as XML, which has no word for U+FFFE and U+FFFF.
		draw := func() string { return strings.NewReplacer("\ufffe", "", "\uffff", "").Replace(nasty.Draw(rt, "text")) }
		c.Reason, c.Paired = draw(), rapid.Bool().Draw(rt, "paired")
		c.A.Study, c.B.Study, c.A.StudySHA256, c.A.Instrument.Version = draw(), draw(), draw(), draw()
		c.Compositions[0].Name = draw()
		c.Compositions[0].Numbers[0].Name = draw()
		for i := range c.Rules {
			c.Rules[i].Composition, c.Rules[i].Difference.Reason = c.Compositions[0].Name, draw()
			c.Rules[i].Rule += draw()
		}
		var b bytes.Buffer
		if err := ComparisonHTML(&b, c); err != nil {
			rt.Fatal(err)
		}
		m, err := readPage(b.String())
		if err != nil {
			rt.Fatal(err)
		}
		if m.elements["script"] != 0 || m.elements["svg"] != 1 {
			rt.Fatalf("%v", m.elements)
		}
	})
}

func TestComparisonPageWriteError(t *testing.T) {
	if err := ComparisonHTML(failing{}, comparisonFixture()); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
