package command

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"brunt/lab"
	"brunt/study"
)

// worthProgress is how many requests a virtual run has at least, in all
// compositions, before its progress is shown: fewer are over in no time.
const worthProgress = 5_000_000

// progress shows on stderr how far a run is. On the real clock that is a block
// of lines on a terminal that always tells how the run stands, else a line at
// each change and every ten seconds. A long run on the virtual clock has bars on
// a terminal, else a line for each composition that begins.
type progress struct {
	stderr io.Writer
	silent bool
	live   *live // on the real clock

	bars  *mpb.Progress // nil without a terminal
	shown map[string]*mpb.Bar
	last  string // what began last
}

func (c *command) progress(s *study.Study) *progress {
	p := &progress{stderr: c.stderr, shown: map[string]*mpb.Bar{}}
	if s.Clock == study.Real {
		p.live = c.watchLive()
		return p
	}
	p.silent = s.Schedule().Expected()*int64(s.Compositions.Len()) < worthProgress
	if !p.silent && c.capable(c.stderr) {
		p.bars = mpb.New(mpb.WithOutput(c.stderr), mpb.WithWidth(40), mpb.WithAutoRefresh())
	}
	return p
}

// update is called from one goroutine at a time, and does not wait for the
// terminal of a run on the real clock.
func (p *progress) update(u lab.Progress) {
	if p.live != nil {
		p.live.see(u)
		return
	}
	if p.silent {
		return
	}
	bar, begun := p.shown[stage(u)]
	if !begun {
		bar = p.begin(stage(u), u.Length)
	}
	if bar != nil {
		bar.SetCurrent(int64(u.At))
	}
}

// stage names what is on: a composition, or the warm-up before it.
func stage(u lab.Progress) string {
	name := fmt.Sprintf("%d/%d %s", u.Position+1, u.Of, u.Composition)
	if u.Warmup {
		name += " (warm-up)"
	}
	return name
}

// begin shows that a stage begins.
func (p *progress) begin(stage string, length time.Duration) *mpb.Bar {
	p.last = stage
	if p.bars == nil {
		p.shown[stage] = nil
		fmt.Fprintf(p.stderr, "running %s, %v\n", stage, length)
		return nil
	}
	bar := p.bars.AddBar(int64(length),
		mpb.PrependDecorators(decor.Name(stage, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Percentage(), decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf("  %v of %v", time.Duration(s.Current).Round(time.Second), time.Duration(s.Total).Round(time.Second))
		})))
	p.shown[stage] = bar
	return bar
}

// complete ends a bar, also when the last arrival lies before the end of the
// schedule.
func complete(bar *mpb.Bar) {
	if bar != nil {
		bar.SetTotal(-1, true)
	}
}

// Write writes a notice, above what is shown if there is anything. Any goroutine
// may call it.
func (p *progress) Write(notice []byte) (int, error) {
	if p.live != nil {
		return p.live.Write(notice)
	}
	if p.bars != nil {
		// A terminal shows the ^C that was typed, which moves the cursor.
		if _, err := p.bars.Write(append([]byte{'\r'}, notice...)); err == nil {
			return len(notice), nil
		}
	}
	return p.stderr.Write(notice)
}

// stop leaves the terminal as it was found, below what is shown.
func (p *progress) stop() {
	if p.live != nil {
		p.live.stop()
	}
	for _, bar := range p.shown {
		complete(bar)
	}
	if p.bars != nil {
		p.bars.Wait()
	}
}
