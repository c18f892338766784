package e2e

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"brunt/record"
	"brunt/record/parquet"
)

// box is where an element stands in the window.
type box struct{ X, Y, W, H float64 }

// boxOf brings an element into the window and says where it stands.
func boxOf(p *tab, element string) box {
	p.t.Helper()
	return js[box](p, fmt.Sprintf(`(() => { const e = %s; e.scrollIntoView({block: "center", behavior: "instant"}); const b = e.getBoundingClientRect(); return {X: b.x, Y: b.y, W: b.width, H: b.height} })()`, element))
}

func (p *tab) mouse(kind input.DispatchMouseEventType, x, y float64, buttons int64) {
	p.t.Helper()
	m := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Buttons: buttons}
	if kind != input.DispatchMouseEventTypeMouseMoved {
		m.Button, m.ClickCount = input.MouseButtonLeft, 1
	}
	call(p, input.DispatchMouseEvent, m)
}

// click clicks into the middle of an element.
func (p *tab) click(element string) {
	p.t.Helper()
	b := boxOf(p, element)
	x, y := b.X+b.W/2, b.Y+b.H/2
	p.mouse(input.DispatchMouseEventTypeMousePressed, x, y, 1)
	p.mouse(input.DispatchMouseEventTypeMouseReleased, x, y, 0)
}

func (p *tab) keys(keys string, o ...chromedp.KeyOption) {
	p.t.Helper()
	p.check(chromedp.Do(p.ctx, chromedp.KeyEvent(keys, o...)))
}

// button is the script for a button by its text, within something.
func button(within, text string) string {
	return fmt.Sprintf(`[...%s.querySelectorAll("button")].find((b) => b.textContent === %q)`, within, text)
}

// A column is sorted by a click and by the keyboard, numbers as numbers, and says so;
// what is refused comes last either way.
func TestSorting(t *testing.T) {
	p := open(t, runOf(t, "outage").folder, wide)
	const table = `[...document.querySelectorAll("table.sortable")].find((t) => t.getAttribute("aria-label") === "What callers see")`
	js[any](p, "window.it = "+table+"; null")
	column := func() []string {
		return js[[]string](p, `[...it.tBodies[0].rows].map((r) => r.cells[6].textContent)`)
	}
	head := `it.tHead.rows[0].cells[6]`
	if got := js[string](p, head+`.textContent`); got != "Success p99 ms" {
		t.Fatalf("the column is %q", got)
	}
	check := func(down bool) {
		t.Helper()
		var numbers []float64
		words := false
		for _, c := range column() {
			v, ok := number(strings.TrimRight(c, "¹²³"))
			if words && ok {
				t.Errorf("%s stands after words in %q", c, column())
			}
			if words = words || !ok; ok {
				numbers = append(numbers, v)
			}
		}
		if down {
			slices.Reverse(numbers)
		}
		if !slices.IsSorted(numbers) || numbers[0] == numbers[len(numbers)-1] || !words {
			t.Errorf("sorted, down is %v: %q", down, column())
		}
	}
	p.click(head + `.querySelector("button")`)
	check(false)
	if got := js[string](p, head+`.getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("aria-sort is %q", got)
	}
	js[any](p, head+`.querySelector("button").focus(); null`)
	p.keys(" ")
	check(true)
	if got := js[string](p, head+`.getAttribute("aria-sort")`); got != "descending" {
		t.Errorf("aria-sort is %q", got)
	}
	p.quiet()
}

// tips are the lines of the tip, as name and value; none when it is hidden.
func tips(p *tab) map[string]string {
	p.t.Helper()
	return js[map[string]string](p, `(() => { const tip = document.querySelector(".tip"), all = {}; if (tip.hidden) return all;
		const dt = tip.querySelectorAll("dt"), dd = tip.querySelectorAll("dd"); dt.forEach((d, i) => all[d.textContent] = dd[i].textContent); return all })()`)
}

// Under the pointer, and of the column that arrow keys choose, stand the numbers of
// the result.
func TestHovering(t *testing.T) {
	r := runOf(t, "outage")
	p := open(t, r.folder, wide)
	c := &r.result.Compositions[0]
	k := columnsOf(c)
	js[any](p, `window.it = document.querySelector("figure[data-step] svg"); null`)
	d := charts(t, r, "timelines")[0]
	across := d.across(t)
	check := func(column int) {
		t.Helper()
		got := tips(p)
		want := map[string]float64{"Offered": k.sum(c.Timeline.Offered, column), "Attempts": k.sum(c.Timeline.Attempts, column), "Errored: failure": k.sum(c.Timeline.Errored["failure"], column)}
		var from float64
		if _, err := fmt.Sscanf(got["From"], "%f s", &from); err != nil || math.Abs(1000*from-(k.middle(column)-k.width/2)) > k.width/10 {
			t.Errorf("column %d: the tip is of %q", column, got["From"])
		}
		for name, v := range want {
			if n, _ := number(got[name]); n != v {
				t.Errorf("column %d: the tip says %s %q, the result has %v", column, name, got[name], v)
			}
		}
	}
	for _, column := range []int{3, 70, 115} {
		b := boxOf(p, "it")
		p.mouse(input.DispatchMouseEventTypeMouseMoved, b.X+across.pixel(k.middle(column))/720*b.W, b.Y+b.H/2, 0)
		check(column)
	}
	p.mouse(input.DispatchMouseEventTypeMouseMoved, 1, 1, 0)
	if got := tips(p); len(got) != 0 {
		t.Errorf("away from charts the tip says %v", got)
	}
	js[any](p, `it.focus(); null`)
	for range 2 {
		p.keys(kb.ArrowRight)
	}
	before := tips(p)
	p.keys(kb.ArrowLeft)
	p.keys(kb.ArrowRight)
	if after := tips(p); len(before) == 0 || after["From"] != before["From"] {
		t.Errorf("arrows go from %v to %v", before, after)
	}
	p.keys(kb.Escape)
	if got := tips(p); len(got) != 0 {
		t.Errorf("after Escape the tip says %v", got)
	}
	p.quiet()
}

// shownStretch is what the axis of a zoomed chart says of it: where its ticks stand.
func shownStretch(t *testing.T, d *drawing) ruler {
	t.Helper()
	var ticks []tick
	for _, s := range d.Shapes {
		if v, ok := number(s.Text); ok && s.has("mid") {
			ticks = append(ticks, tick{s.at().x, v * 1000})
		}
	}
	// Labels at the ends are moved inside.
	return newRuler(t, false, ticks[1:len(ticks)-1])
}

// One can zoom in by buttons, keys and by dragging: all timelines show the same
// stretch, marks stand at their numbers on the new axis, and back again nothing is
// other than before.
func TestZoom(t *testing.T) {
	r := runOf(t, "outage")
	p := open(t, r.folder, wide)
	js[any](p, `window.it = document.querySelector("figure[data-step] svg"); window.bar = document.querySelector(".zoom"); null`)
	first := js[string](p, "it.outerHTML")
	told := func() string { return js[string](p, `bar.querySelector("[role=status]").textContent`) }
	if got := told(); got != "0 s to 120 s" {
		t.Errorf("the page opens with %q", got)
	}
	marks := func() {
		t.Helper()
		all := js[[]drawing](p, "reader.charts()")
		n := 0
		for i := range all {
			d := &all[i]
			if d.Section != "timelines" {
				continue
			}
			c := composition(t, r.result, d.Label)
			k, x := columnsOf(c), shownStretch(t, d)
			j := &judge{t: t, what: d.Label}
			requests := d.panel(t, "Requests")
			area, up := requests.named(t, "completed"), newRuler(t, false, requests.up)
			left, right := d.across(t).p0, d.across(t).p1
			for i := range k.n {
				at := x.pixel(k.middle(i))
				if at < left || at > right {
					continue
				}
				top, bottom, ok := area.upright(at)
				if !ok {
					top, bottom = 0, 0
				}
				j.same(up, up.pixel(0)-(bottom-top), k.rate(c.Timeline.Completed, i), fmt.Sprintf("completed in column %d", i))
			}
			j.enough(10)
			n++
		}
		if n != len(r.result.Compositions) {
			t.Errorf("%d timelines", n)
		}
	}
	p.click(button("bar", "Zoom in"))
	if got := told(); got != "30 s to 90 s" {
		t.Errorf("zoomed in it says %q", got)
	}
	marks()
	p.click(button("bar", "Earlier"))
	if got := told(); got != "0 s to 60 s" {
		t.Errorf("earlier it says %q", got)
	}
	p.click(button("bar", "Whole run"))
	if got := js[string](p, "it.outerHTML"); got != first {
		t.Errorf("back at the whole run the chart is not what it was")
	}
	// Dragging from 60 s to 90 s shows that.
	x := charts(t, r, "timelines")[0].across(t)
	b := boxOf(p, "it")
	at := func(ms float64) float64 { return b.X + x.pixel(ms)/720*b.W }
	p.mouse(input.DispatchMouseEventTypeMouseMoved, at(60_000), b.Y+b.H/2, 0)
	p.mouse(input.DispatchMouseEventTypeMousePressed, at(60_000), b.Y+b.H/2, 1)
	p.mouse(input.DispatchMouseEventTypeMouseMoved, at(75_000), b.Y+b.H/2, 1)
	if n := js[int](p, `document.querySelectorAll("rect.part").length`); n != 1 {
		t.Errorf("%d stretches are marked while dragging", n)
	}
	p.mouse(input.DispatchMouseEventTypeMouseMoved, at(90_000), b.Y+b.H/2, 1)
	p.mouse(input.DispatchMouseEventTypeMouseReleased, at(90_000), b.Y+b.H/2, 0)
	var from, to float64
	if _, err := fmt.Sscanf(told(), "%f s to %f s", &from, &to); err != nil || math.Abs(from-60) > 0.2 || math.Abs(to-90) > 0.2 {
		t.Errorf("after dragging from 60 to 90 s it says %q", told())
	}
	marks()
	// A phase of which a part is seen has its name there.
	if got := js[[]string](p, `[...it.querySelectorAll("text[data-at]:not(.spare)")].map((e) => e.textContent)`); !slices.Contains(got, "outage") || slices.Contains(got, "slowdown") {
		t.Errorf("names that are seen: %q", got)
	}
	js[any](p, "it.focus(); null")
	p.keys("+")
	var in, out float64
	if _, err := fmt.Sscanf(told(), "%f s to %f s", &in, &out); err != nil || math.Abs((out-in)-(to-from)/2) > 0.1 {
		t.Errorf("after + it says %q", told())
	}
	for range 5 { // no further than two columns, and never empty
		p.keys("+")
	}
	if _, err := fmt.Sscanf(told(), "%f s to %f s", &in, &out); err != nil || math.Abs(out-in-2*columnsOf(&r.result.Compositions[0]).width/1000) > 0.01 {
		t.Errorf("after many + it says %q", told())
	}
	p.keys("0")
	if got := js[string](p, `document.querySelectorAll(".zoomed").length + " " + bar.querySelector("[role=status]").textContent`); got != "0 0 s to 120 s" {
		t.Errorf("after 0: %q", got)
	}
	p.quiet()
}

// rows are a composition's requests and attempts by their numbers.
type rows struct {
	requests map[int64]record.Request
	attempts map[int64][]record.Attempt
}

func (r *rows) Request(q *record.Request) { r.requests[q.Index] = *q }
func (r *rows) Attempt(a *record.Attempt) { r.attempts[a.Request] = append(r.attempts[a.Request], *a) }
func (r *rows) Event(*record.Event)       {}

// rowsOf reads the rows of a run from its files.
func rowsOf(t *testing.T, r *run, dependencies ...string) map[string]*rows {
	t.Helper()
	files, err := parquet.Read(r.folder, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	all := map[string]*rows{}
	for _, name := range files.Compositions() {
		all[name] = &rows{map[int64]record.Request{}, map[int64][]record.Attempt{}}
		if err := files.Feed(name, all[name]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// trace is one request of the drill-down.
type trace struct {
	Of      string
	Request int64
	Chart   *drawing
}

// Every request that the page takes apart has its attempts where the rows have them.
func TestDrillDown(t *testing.T) {
	r := runOf(t, "outage")
	p := open(t, r.folder, wide)
	all := rowsOf(t, r, "service")
	p.click(`document.querySelector(".traced summary")`)
	if !js[bool](p, `document.querySelector(".traced").open`) {
		t.Error("a click does not open the first fold")
	}
	js[any](p, `for (const d of document.querySelectorAll(".traced")) d.open = true; null`)
	list := js[[]trace](p, `[...document.querySelectorAll(".trace")].map((t) => ({Of: t.dataset.of, Request: Number(t.dataset.request),
		Chart: t.querySelector("svg") ? reader.chart(t.querySelector("svg")) : null}))`)
	j := &judge{t: t, what: "drill-down"}
	drawn := 0
	for _, tr := range list {
		q, ok := all[tr.Of].requests[tr.Request]
		attempts := all[tr.Of].attempts[tr.Request]
		if !ok {
			t.Errorf("request %d of %s is in no row", tr.Request, tr.Of)
			continue
		}
		if tr.Chart == nil {
			if len(attempts) > 0 {
				t.Errorf("request %d of %s has %d attempts and no picture", tr.Request, tr.Of, len(attempts))
			}
			continue
		}
		if len(attempts) == 0 || drawn >= 25 {
			continue
		}
		drawn++
		x := tr.Chart.below(t)
		bars := 0
		var after float64
		for i := range tr.Chart.Shapes {
			s := &tr.Chart.Shapes[i]
			if !s.has("area") {
				continue
			}
			corners := slices.Concat(s.lines()...)
			from, to := corners[0].x, corners[0].x
			for _, c := range corners {
				from, to = min(from, c.x), max(to, c.x)
			}
			high := corners[0].y
			for _, c := range corners {
				high = max(high, c.y)
			}
			// What a cancelled attempt still cost is lower than the attempt.
			if low := slices.MinFunc(corners, func(a, b point) int { return int(math.Copysign(1, a.y-b.y)) }).y; high-low < 10 {
				j.same(x, to, after, "the clean-up")
				continue
			}
			a := attempts[bars]
			bars++
			ms := func(d int64) float64 { return float64(d) / 1e6 }
			j.same(x, from, ms(int64(a.Start-q.Intended)), fmt.Sprintf("%d of %s: attempt %d begins", tr.Request, tr.Of, a.Index))
			if to-from > 1.6 {
				j.same(x, to, ms(int64(a.End-q.Intended)), fmt.Sprintf("%d of %s: attempt %d ends", tr.Request, tr.Of, a.Index))
			}
			after = ms(int64(a.CleanupEnd - q.Intended))
		}
		if bars != len(attempts) {
			t.Errorf("request %d of %s has %d attempts, %d are drawn", tr.Request, tr.Of, len(attempts), bars)
		}
	}
	j.enough(30)
	p.quiet()
}

// A request of the sample is found by its number; of one that is not, the page says
// where it is.
func TestRequestByNumber(t *testing.T) {
	p := open(t, runOf(t, "outage").folder, wide)
	js[any](p, `window.find = document.querySelector(".find"); null`)
	ask := func(n string) string {
		js[any](p, `find.querySelector("input").value = ""; find.querySelector("input").focus(); null`)
		p.keys(n + "\r")
		return js[string](p, `find.querySelector("[role=status]").textContent`)
	}
	shown := js[[]int](p, `[...document.querySelectorAll(".trace")].map((t) => Number(t.dataset.request))`)
	count := map[int]int{}
	for _, n := range shown {
		count[n]++
	}
	for _, n := range shown {
		if count[n] == 1 {
			ask(fmt.Sprint(n))
			if got := js[string](p, `(document.activeElement.dataset.request || "none") + " " + document.activeElement.closest("details").open`); got != fmt.Sprint(n, " true") {
				t.Errorf("asked for %d, the focus is on %s", n, got)
			}
			break
		}
	}
	for n, k := range count {
		if k > 1 {
			ask(fmt.Sprint(n))
			if got := js[int](p, `find.querySelectorAll("li button").length`); got != k {
				t.Errorf("request %d is shown of %d compositions, %d are offered", n, k, got)
			}
			break
		}
	}
	absent := 0
	for count[absent] > 0 {
		absent++
	}
	if got := ask(fmt.Sprint(absent)); !strings.Contains(got, "is not in the sample") || !strings.Contains(got, "requests.parquet") {
		t.Errorf("of request %d the page says %q", absent, got)
	}
	for _, n := range []string{"12000", "-1", "x", "1.5"} {
		if got := ask(n); got != "Requests are numbered from 0 to 11,999." {
			t.Errorf("of request %s the page says %q", n, got)
		}
	}
	p.quiet()
}

// Any two compositions can be held against one another, with the differences of the
// result, A first as in the study.
func TestCompare(t *testing.T) {
	r := runOf(t, "outage")
	p := open(t, r.folder, wide)
	choose := func(a, b string) {
		js[any](p, fmt.Sprintf(`(() => { const s = document.querySelectorAll(".choose select"); s[0].value = %q; s[1].value = %q; s[1].dispatchEvent(new Event("change")); })(); null`, a, b))
	}
	shown := func() []string {
		return js[[]string](p, `[...document.querySelectorAll(".pair")].filter((p) => !p.hidden && p.open).map((p) => p.dataset.a + " " + p.dataset.b)`)
	}
	if got := shown(); !slices.Equal(got, []string{"retry retry-breaker"}) {
		t.Errorf("at first it shows %q", got)
	}
	choose("limit-hedge-breaker", "retry-breaker")
	if got := shown(); !slices.Equal(got, []string{"retry-breaker limit-hedge-breaker"}) {
		t.Errorf("the other way round it shows %q", got)
	}
	if got := js[string](p, `[...document.querySelectorAll(".choose select")].map((s) => s.value).join(" ")`); got != "retry-breaker limit-hedge-breaker" {
		t.Errorf("the choice says %q", got)
	}
	rows := js[map[string][]string](p, `Object.fromEntries([...[...document.querySelectorAll(".pair")].find((p) => !p.hidden).querySelectorAll("tbody tr")].map((r) => [r.cells[0].textContent, [...r.cells].slice(1).map((c) => c.textContent)]))`)
	a, b := composition(t, r.result, "retry-breaker"), composition(t, r.result, "limit-hedge-breaker")
	want := map[string][2]float64{
		"slowdown.attempts/offered": {*a.Phases[1].AttemptsPerOffered, *b.Phases[1].AttemptsPerOffered},
		"attempts/offered":          {*a.Whole.AttemptsPerOffered, *b.Whole.AttemptsPerOffered},
		"peak.attempts":             {float64(a.Peak.Attempts), float64(b.Peak.Attempts)},
	}
	for name, v := range want {
		row := rows[name]
		if len(row) < 3 {
			t.Errorf("no row %s in %v", name, rows)
			continue
		}
		x, _ := number(row[0])
		y, _ := number(row[1])
		d, _ := number(strings.NewReplacer("−", "-", "+", "").Replace(row[2]))
		if math.Abs(x-v[0]) > 0.005 || math.Abs(y-v[1]) > 0.005 || math.Abs(d-(v[1]-v[0])) > 0.01 {
			t.Errorf("%s is %q, the result has %v", name, row, v)
		}
	}
	choose("retry", "retry")
	if got := shown(); len(got) != 0 {
		t.Errorf("of one composition it shows %q", got)
	}
	p.quiet()
}
