package measure

import (
	"fmt"
	"strconv"
	"time"
)

// Detector decides when goodput has come back to a baseline, with hysteresis:
// it must come up to a higher share to enter than it must fall below to leave,
// and must stay up for a while, so that flapping is not recovery.
type Detector struct {
	// The share of the baseline that a window must reach.
	Entry PPM `yaml:"entry"`
	// The share of the baseline below which a window degrades again.
	Exit PPM `yaml:"exit"`
	// The length of the sliding window. It leads: it starts at its instant.
	Window time.Duration `yaml:"window"`
	// How long window starts must stay at or above entry.
	Hold time.Duration `yaml:"hold"`
	// The latest entry, from the fire. 0 is none: the end of observation is the latest.
	Timeout time.Duration `yaml:"timeout"`
}

// Pinned is the detector of the replica-loss protocol, without a timeout.
var Pinned = Detector{Entry: 900_000, Exit: 850_000, Window: 10 * time.Second, Hold: 30 * time.Second}

// SetDefaults sets the detector of the replica-loss protocol.
func (d *Detector) SetDefaults() { *d = Pinned }

// Detection is what a detector saw. Its times count from the fire anchor.
type Detection struct {
	Status         DetectionStatus `json:"status"`
	Time           *Millis         `json:"time_ms"` // to the first entry that survived its hold
	Reason         string          `json:"reason,omitempty"`
	Degraded       bool            `json:"degraded"`             // a window before that was below entry
	Candidate      *Millis         `json:"candidate_ms"`         // the entry whose hold was not over
	Cancelled      int64           `json:"cancelled_candidates"` // entries with a dip in their hold
	Redegradations []Redegradation `json:"redegradations"`
	// Deficit is the integral of (baseline - goodput)+ from the anchor to
	// recovery, in seconds: 3 is like nothing served for three seconds, where
	// the baseline is 1.
	Deficit       *float64 `json:"deficit_s"`
	DeficitReason string   `json:"deficit_reason,omitempty"`
	Windows       int64    `json:"windows"`
	Empty         int64    `json:"empty_windows"` // of those, without a scheduled request
}

// Redegradation is a stretch after recovery: from the start of the first window
// below exit to that of the next one at or above entry.
type Redegradation struct {
	From   Millis  `json:"from_ms"`
	To     *Millis `json:"to_ms"`
	Reason string  `json:"reason,omitempty"` // why it has no end
}

// DetectionStatus says whether goodput came back.
type DetectionStatus string

// The verdicts of a detector.
const (
	Recovered      DetectionStatus = "recovered"
	NotRecovered   DetectionStatus = "not recovered"
	HoldIncomplete DetectionStatus = "hold incomplete" // observation ended inside a hold
	NotObserved    DetectionStatus = "not observed"    // no window to judge by
	NotApplicable  DetectionStatus = "not applicable"  // no baseline to judge against
)

// check says what is wrong with the detector for buckets of a width.
func (d Detector) check(width time.Duration) error {
	switch {
	case width <= 0:
		return fmt.Errorf("recovery detector: buckets of %v: the width must be above 0", width)
	case d.Entry <= 0 || d.Entry > Million || d.Exit < 0 || d.Exit > d.Entry:
		return fmt.Errorf("recovery detector: entry at %v and exit at %v: expected 0 <= exit <= entry <= 100 %%, entry above 0", percent(d.Entry), percent(d.Exit))
	case d.Window <= 0 || d.Window%width != 0:
		return fmt.Errorf("recovery detector: a window of %v: expected a multiple of the bucket's %v", d.Window, width)
	case d.Hold <= 0 || d.Hold%width != 0:
		return fmt.Errorf("recovery detector: a hold of %v: expected a multiple of the bucket's %v", d.Hold, width)
	case d.Timeout < 0:
		return fmt.Errorf("recovery detector: a timeout of %v: expected none below 0", d.Timeout)
	}
	return nil
}

// percent writes a share in whole parts per million as a percentage.
func percent(q PPM) string { return strconv.FormatFloat(float64(q)/1e4, 'f', -1, 64) + " %" }

// Detect looks for the return of goodput to a baseline after an anchor.
//
// A window starts at each bucket from the first one wholly after the anchor,
// as long as it lies wholly inside the series. The first window at or above
// Entry is a candidate. It survives when the window starts in [candidate,
// candidate + Hold) are all at or above Entry, it and Hold/bucket-1 more; a dip
// cancels it. An empty window neither advances a hold nor resets it: that many
// windows with requests are needed. A hold may go on after the timeout, its
// entry may not come later. It never extrapolates. An error says what is wrong
// with the detector.
func (d Detector) Detect(g *Goodput, baseline Ratio, anchor time.Duration) (Detection, error) {
	if err := d.check(g.Width); err != nil {
		return Detection{}, err
	}
	if baseline.Good <= 0 {
		reason := "no goodput in the baseline to return to"
		return Detection{Status: NotApplicable, Reason: "not applicable: " + reason, DeficitReason: reason}, nil
	}
	w := watch{Detector: d, series: g, anchor: anchor, baseline: baseline, candidate: -1, recovered: -1}
	first, length := g.after(anchor), int(d.Window/g.Width)
	var sum Ratio
	for i := first; i < len(g.Buckets); i++ {
		sum = sum.plus(g.Buckets[i])
		if start := i - length + 1; start >= first {
			w.window(start, sum)
			sum = sum.minus(g.Buckets[start])
		}
	}
	w.conclude(first)
	return w.out, nil
}

// watch is a detector at work.
type watch struct {
	Detector
	series   *Goodput
	anchor   time.Duration
	baseline Ratio

	candidate int   // its bucket; -1 for none
	held      int64 // windows of its hold so far, itself included
	recovered int   // bucket of the surviving entry; -1 before
	out       Detection
}

// since returns the time from the anchor to the start of a bucket.
func (w *watch) since(bucket int) Millis { return Millis(w.series.at(bucket) - w.anchor) }

// window takes the next window, that which starts at a bucket.
func (w *watch) window(start int, sum Ratio) {
	w.out.Windows++
	if sum.Scheduled == 0 {
		w.out.Empty++
		return
	}
	up := sum.atLeast(w.Entry, w.baseline)
	switch {
	case w.recovered >= 0:
		w.after(start, up, sum)
	case !up:
		w.out.Degraded = true
		if w.candidate >= 0 {
			w.out.Cancelled++
			w.candidate = -1
		}
	case w.candidate >= 0:
		w.hold()
	case w.Timeout == 0 || time.Duration(w.since(start)) <= w.Timeout:
		w.candidate, w.held = start, 0
		w.hold()
	}
}

// hold counts a window of the candidate's hold, and ends it when it is long
// enough.
func (w *watch) hold() {
	if w.held++; w.held == int64(w.Hold/w.series.Width) {
		w.recovered = w.candidate
	}
}

// after follows goodput once it has recovered.
func (w *watch) after(start int, up bool, sum Ratio) {
	list := w.out.Redegradations
	open := len(list) > 0 && list[len(list)-1].To == nil
	switch {
	case open && up:
		to := w.since(start)
		list[len(list)-1].To, list[len(list)-1].Reason = &to, ""
	case !open && !sum.atLeast(w.Exit, w.baseline):
		w.out.Redegradations = append(list, Redegradation{From: w.since(start), Reason: "not ended by the end of observation"})
	}
}

// conclude gives the verdict, and the deficit up to it.
func (w *watch) conclude(first int) {
	end := len(w.series.Buckets)
	observed := max(w.series.at(end)-w.anchor, 0)
	switch {
	case w.recovered >= 0:
		ms := w.since(w.recovered)
		w.out.Status, w.out.Time = Recovered, &ms
		end = w.recovered
	case w.candidate >= 0:
		ms := w.since(w.candidate)
		w.out.Status, w.out.Candidate = HoldIncomplete, &ms
		w.out.Reason = fmt.Sprintf("candidate at %v, hold incomplete: %v of %v", time.Duration(ms), time.Duration(w.held)*w.series.Width, w.Hold)
	case w.out.Windows == 0:
		w.out.Status = NotObserved
		w.out.Reason = fmt.Sprintf("not observed: no window of %v lies between the fire and the end of observation", w.Window)
	case w.out.Windows == w.out.Empty:
		w.out.Status = NotObserved
		w.out.Reason = "not observed: no request was scheduled after the fire"
	case w.Timeout > 0 && observed >= w.Timeout:
		w.out.Status = NotRecovered
		w.out.Reason = fmt.Sprintf("not recovered by the timeout, %v after the fire", w.Timeout)
	default:
		w.out.Status = NotRecovered
		w.out.Reason = fmt.Sprintf("not recovered by the end of observation, %v after the fire", observed)
	}
	w.deficit(first, end)
}

// deficit integrates over buckets; those without requests have no goodput and
// add nothing.
func (w *watch) deficit(first, end int) {
	if w.out.Status == NotObserved {
		w.out.DeficitReason = w.out.Reason
		return
	}
	base, total := *w.baseline.Share(), 0.0
	for _, b := range w.series.Buckets[first:max(first, end)] {
		if share := b.Share(); share != nil {
			total += max(base-*share, 0)
		}
	}
	total *= w.series.Width.Seconds()
	w.out.Deficit = &total
	if w.out.Status != Recovered {
		w.out.DeficitReason = "up to the end of observation: goodput had not recovered"
	}
}

// Sensitive is what a detector with other parameters says.
type Sensitive struct {
	Entry  float64         `json:"entry"`
	Window Millis          `json:"window_ms"`
	Hold   Millis          `json:"hold_ms"`
	Status DetectionStatus `json:"status"`
	Time   *Millis         `json:"time_ms"`
	Reason string          `json:"reason,omitempty"`
	Chosen bool            `json:"chosen"` // these are the detector's own parameters
}

// Sensitivity repeats a detection with entry at 85, 90 and 95 %, windows of 5,
// 10 and 20 s and holds of 15, 30 and 60 s: a time that hangs on them is not a
// finding. The exit stays as far below the entry as it is. Cells whose window
// or hold is no multiple of the bucket are refused in words.
func (d Detector) Sensitivity(g *Goodput, baseline Ratio, anchor time.Duration) ([]Sensitive, error) {
	var table []Sensitive
	for _, entry := range []PPM{850_000, 900_000, 950_000} {
		for _, window := range []time.Duration{5, 10, 20} {
			for _, hold := range []time.Duration{15, 30, 60} {
				other := Detector{Entry: entry, Exit: max(entry-(d.Entry-d.Exit), 0), Window: window * time.Second, Hold: hold * time.Second, Timeout: d.Timeout}
				cell := Sensitive{Entry: entry.Float(), Window: Millis(other.Window), Hold: Millis(other.Hold), Chosen: other == d}
				if g.Width <= 0 || other.Window%g.Width != 0 || other.Hold%g.Width != 0 {
					cell.Status, cell.Reason = NotApplicable, fmt.Sprintf("not applicable: no multiple of the bucket's %v", g.Width)
					table = append(table, cell)
					continue
				}
				found, err := other.Detect(g, baseline, anchor)
				if err != nil {
					return nil, fmt.Errorf("sensitivity table: %w", err)
				}
				cell.Status, cell.Time, cell.Reason = found.Status, found.Time, found.Reason
				table = append(table, cell)
			}
		}
	}
	return table, nil
}
