package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"brunt/lab"
)

// live shows how a run on the real clock stands. One goroutine does all the
// showing but for notices: a terminal that takes nothing for a while, or for
// ever, holds up no request.
type live struct {
	out      io.Writer
	terminal bool
	width    func() int // of the terminal

	mu     sync.Mutex // guards what follows
	now    lab.Progress
	any    bool // whether there is anything in now
	news   []news
	closed bool

	wake chan struct{}
	done chan struct{}

	draw  sync.Mutex // held while something is written; guards what follows
	block []string   // lines that stand on the terminal, to be drawn over
}

// news is what is to be told of besides how the run stands now.
type news struct {
	what newsKind
	at   lab.Progress
}

type newsKind int

const (
	stageBegins newsKind = iota
	phaseBegins
	stageEnds
)

const (
	drawEvery = 200 * time.Millisecond
	tellEvery = 10 * time.Second // without a terminal
)

// watchLive begins to show. Whoever calls it calls stop.
func (c *command) watchLive() *live {
	l := &live{out: c.stderr, terminal: c.capable(c.stderr), width: func() int { return width(c.stderr) },
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	every := tellEvery
	if l.terminal {
		every = drawEvery
	}
	go l.run(every)
	return l
}

// see takes note of how the run stands.
func (l *live) see(u lab.Progress) {
	l.mu.Lock()
	n := len(l.news)
	switch {
	case !l.any:
		l.news = append(l.news, news{stageBegins, u})
	case stage(l.now) != stage(u):
		l.news = append(l.news, news{stageEnds, l.now}, news{stageBegins, u})
	case l.now.Phase != u.Phase:
		l.news = append(l.news, news{phaseBegins, u})
	}
	told := len(l.news) > n
	l.now, l.any = u, true
	l.mu.Unlock()
	if told {
		l.knock()
	}
}

func (l *live) knock() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// stop shows the end, and ends the showing.
func (l *live) stop() {
	l.mu.Lock()
	if l.any && !l.closed {
		l.news = append(l.news, news{stageEnds, l.now})
	}
	l.closed = true
	l.mu.Unlock()
	l.knock()
	<-l.done
}

func (l *live) run(every time.Duration) {
	defer close(l.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		ticked := false
		select {
		case <-l.wake:
		case <-ticker.C:
			ticked = true
		}
		l.mu.Lock()
		list, now, on, closed := l.news, l.now, l.any && !l.closed, l.closed
		l.news = nil
		l.mu.Unlock()
		l.draw.Lock()
		if l.terminal {
			l.redraw(list, now, on)
		} else {
			l.tell(list, now, on && ticked)
		}
		l.draw.Unlock()
		if closed {
			return
		}
	}
}

// tell writes plain lines.
func (l *live) tell(list []news, now lab.Progress, standing bool) {
	var b strings.Builder
	for _, n := range list {
		switch n.what {
		case stageBegins:
			fmt.Fprintf(&b, "running %s, %v\n", printable(stage(n.at)), n.at.Length)
		case phaseBegins:
			b.WriteString(line(n.at))
		}
	}
	if standing {
		b.WriteString(line(now))
	}
	l.put(b.String())
}

// line tells in one line how a run stands.
func line(u lab.Progress) string {
	items := append([]string{"phase " + u.Phase}, counts(u)...)
	if u.Warmup {
		items = []string{rate(u)}
	}
	return printable(fmt.Sprintf("%s %v of %v: %s; %s", stage(u), whole(u.At), whole(u.Length), strings.Join(items, ", "), upcoming(u))) + "\n"
}

// put writes, if there is anything. Who does not want to be told is not: a
// terminal that is gone costs nothing.
func (l *live) put(text string) {
	if text != "" {
		_, _ = io.WriteString(l.out, text)
	}
}

// Write writes a notice, above the block if there is one. Any goroutine may
// call it.
func (l *live) Write(notice []byte) (int, error) {
	l.draw.Lock()
	defer l.draw.Unlock()
	var b strings.Builder
	b.WriteString(l.rewind())
	b.Write(notice)
	b.WriteString(strings.Join(l.block, "\n"))
	if _, err := io.WriteString(l.out, b.String()); err != nil {
		return 0, err
	}
	return len(notice), nil
}

// The codes that move the cursor and clear (ECMA-48).
const (
	up        = "\x1b[%dA"
	clearLine = "\x1b[K" // from the cursor to the end of the line
	clearRest = "\x1b[J" // from the cursor to the end of the screen
)

// redraw draws the block anew, in one writing and over what stands there, so
// that nothing flickers. A stage that is over leaves one line above it.
func (l *live) redraw(list []news, now lab.Progress, on bool) {
	columns := l.columns()
	var b strings.Builder
	b.WriteString(l.home())
	for _, n := range list {
		if n.what == stageEnds {
			b.WriteString(bar(n.at, columns) + clearLine + "\n")
		}
	}
	l.block = nil
	if on {
		l.block = block(now, columns)
	}
	for i, text := range l.block {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text + clearLine)
	}
	b.WriteString(clearRest)
	l.put(b.String())
}

// leastColumns is the least width that a block is made for, and mostColumns the
// most: longer lines are harder to take in at a glance.
const (
	leastColumns = 20
	mostColumns  = 100
)

// columns is how long lines may be: one less than the terminal is wide, since a
// full line may or may not move the cursor to the next.
func (l *live) columns() int { return min(max(l.width()-1, leastColumns), mostColumns) }

// home returns what moves the cursor to the beginning of the block. A terminal
// that has become narrower has broken the lines that were longer.
func (l *live) home() string {
	rows := 0
	for _, text := range l.block {
		rows += max((columnsOf(text)-1)/max(l.width(), 1), 0) + 1
	}
	if rows > 1 {
		return "\r" + fmt.Sprintf(up, rows-1)
	}
	return "\r"
}

// rewind clears the block.
func (l *live) rewind() string {
	if !l.terminal {
		return ""
	}
	return l.home() + clearRest
}
