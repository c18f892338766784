package command

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/lab"
)

// screen is as much of a terminal as the block needs: it moves the cursor up,
// clears, and breaks lines that are too long. Rows do not scroll out.
type screen struct {
	t       failer
	columns int
	rows    [][]rune
	broken  []bool // whether a row goes on in the next one
	y, x    int
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

func (s *screen) Write(p []byte) (int, error) {
	s.t.Helper()
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		switch r := text[i]; {
		case r == '\r':
			s.x = 0
		case r == '\n': // a terminal in its usual mode returns as well
			s.y, s.x = s.y+1, 0
		case r == '\x1b':
			end := i + 2
			for end < len(text) && (text[end] >= '0' && text[end] <= '9') {
				end++
			}
			if end >= len(text) || text[i+1] != '[' {
				s.t.Fatalf("an escape of another kind: %q", string(text[i:]))
			}
			s.escape(string(text[i+2:end]), text[end])
			i = end
		case r < ' ':
			s.t.Fatalf("a control character: %q", string(p))
		default:
			if s.x == s.columns {
				s.row()
				s.broken[s.y] = true
				s.y, s.x = s.y+1, 0
			}
			row := s.row()
			for len(*row) <= s.x {
				*row = append(*row, ' ')
			}
			(*row)[s.x] = r
			s.x++
		}
	}
	return len(p), nil
}

func (s *screen) row() *[]rune {
	for len(s.rows) <= s.y {
		s.rows, s.broken = append(s.rows, nil), append(s.broken, false)
	}
	return &s.rows[s.y]
}

func (s *screen) escape(number string, code rune) {
	switch code {
	case 'A':
		n := 1
		fmt.Sscan(number, &n)
		if s.y -= n; s.y < 0 {
			s.t.Fatalf("the cursor leaves the screen")
		}
	case 'K':
		if row := s.row(); s.x < len(*row) {
			*row = (*row)[:s.x]
		}
		s.broken[s.y] = false
	case 'J':
		if row := s.row(); s.x < len(*row) {
			*row = (*row)[:s.x]
		}
		s.rows, s.broken = s.rows[:s.y+1], s.broken[:s.y+1]
		s.broken[s.y] = false
	default:
		s.t.Fatalf("code %q", code)
	}
}

// resize makes the screen narrower or wider, and breaks lines anew as most
// terminals do.
func (s *screen) resize(columns int) {
	s.row()
	var lines [][]rune
	on := false
	for i, row := range s.rows {
		if on {
			lines[len(lines)-1] = append(lines[len(lines)-1], row...)
		} else {
			lines = append(lines, append([]rune(nil), row...))
		}
		on = s.broken[i]
	}
	s.rows, s.broken, s.columns = nil, nil, columns
	for _, line := range lines {
		for len(line) > columns {
			s.rows, s.broken = append(s.rows, line[:columns]), append(s.broken, true)
			line = line[columns:]
		}
		s.rows, s.broken = append(s.rows, line), append(s.broken, false)
	}
	s.y = len(s.rows) - 1
	s.x = min(len(s.rows[s.y]), columns)
}

// text returns the lines on the screen, broken ones joined.
func (s *screen) text() string {
	var b strings.Builder
	for i, row := range s.rows {
		b.WriteString(string(row))
		if !s.broken[i] {
			b.WriteString("\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func someProgress(at time.Duration) lab.Progress {
	return lab.Progress{
		Composition: "retry", Of: 2, At: at, Length: 30 * time.Second,
		Standing: lab.Standing{
			Rate: 499.8, Arrived: 14321, InFlight: 27, Active: 31, Completed: 12345, Errored: 12, Shed: 3, Attempts: 14001,
			Phase: "baseline", Next: "kill of replica-2", NextIn: 4 * time.Second,
		},
	}
}

// The block is the same at each width, only laid out in another way.
func TestBlock(t *testing.T) {
	drains := someProgress(31 * time.Second)
	drains.Rate, drains.Drains, drains.Next = 0, true, ""
	warm := someProgress(400 * time.Millisecond)
	warm.Warmup, warm.Length, warm.Next, warm.NextIn, warm.Phase = true, 2*time.Second, "the run", 2*time.Second, ""
	long := someProgress(0)
	long.Composition, long.Rate = strings.Repeat("name", 20)+"\x1b[31m", 2.5
	for _, c := range []struct {
		name    string
		u       lab.Progress
		columns int
		want    string
	}{
		{"wide", someProgress(12 * time.Second), 99, `
1/2 retry [=========---------------] 40 % 12s of 30s
  500/s arrive · 27 in flight · 12,345 completed · 12 errored · 0 censored · 3 shed
  14,001 attempts, 31 open · phase baseline · next: kill of replica-2 in 4s`},
		{"narrow", someProgress(12 * time.Second), 59, `
1/2 retry [=========---------------] 40 % 12s of 30s
  500/s arrive · 27 in flight · 12,345 completed
  12 errored · 0 censored · 3 shed
  14,001 attempts, 31 open · phase baseline
  next: kill of replica-2 in 4s`},
		// No room for the bar, and an item that is longer than a line.
		{"very narrow", someProgress(12 * time.Second), 24, `
1/2 ret… 40 % 12s of 30s
  500/s arrive
  27 in flight
  12,345 completed
  12 errored
  0 censored · 3 shed
  14,001 attempts, 31 o…
  phase baseline
  next: kill of replica…`},
		{"draining", drains, 99, `
1/2 retry [========================] 100 % 31s of 30s
  0/s arrive · 27 in flight · 12,345 completed · 12 errored · 0 censored · 3 shed
  14,001 attempts, 31 open · phase baseline · draining`},
		{"warm-up", warm, 99, `
1/2 retry (warm-up) [====--------------------] 20 % 400ms of 2s
  500/s arrive · next: the run in 2s`},
		// What would move the cursor is left out of a name.
		{"long name", long, 59, `
1/2 namenamenamenamenamenamenamenamenamename… 0 % 0s of 30s
  2.5/s arrive · 27 in flight · 12,345 completed
  12 errored · 0 censored · 3 shed
  14,001 attempts, 31 open · phase baseline
  next: kill of replica-2 in 4s`},
	} {
		if diff := cmp.Diff(c.want[1:], strings.Join(block(c.u, c.columns), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Law: whatever happens, the screen shows the lines that stay and the block, and
// nothing else: no line of a block before, also when it was longer, and also when
// the terminal has become narrower or wider meanwhile.
func TestBlockLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &screen{t: t, columns: rapid.IntRange(21, 120).Draw(t, "columns")}
		l := &live{out: s, terminal: true, width: func() int { return s.columns }}
		var stay []string
		var now lab.Progress
		on := false
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				s.resize(rapid.IntRange(21, 120).Draw(t, "columns"))
				continue // a terminal that was resized shows what it did; the next drawing puts it right
			case 1:
				notice := rapid.StringMatching("[a-z ]{1,30}[a-z]").Draw(t, "notice")
				if _, err := l.Write([]byte(notice + "\n")); err != nil {
					t.Fatal(err)
				}
				stay = append(stay, notice)
			case 2:
				if on {
					l.redraw([]news{{stageEnds, now}}, now, false)
					stay = append(stay, bar(now, l.columns()))
					on = false
				}
			default:
				now, on = someProgress(time.Duration(rapid.IntRange(0, 40).Draw(t, "at"))*time.Second), true
				now.Completed = rapid.Int64Range(0, 1e12).Draw(t, "completed")
				now.Drains = rapid.Bool().Draw(t, "drains")
				l.redraw(nil, now, true)
			}
			want := append([]string{}, stay...)
			if on {
				want = append(want, l.block...)
			}
			if diff := cmp.Diff(strings.Join(want, "\n"), s.text()); diff != "" {
				t.Fatalf("at %d columns (-want +got):\n%s", s.columns, diff)
			}
		}
	})
}

// Without a terminal there is a line when a stage begins, when a phase does, and
// every ten seconds.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		l := &live{out: &b, width: func() int { return 100 }, wake: make(chan struct{}, 1), done: make(chan struct{})}
		go l.run(tellEvery)
		for at := time.Duration(0); at <= 25*time.Second; at += 500 * time.Millisecond {
			u := someProgress(at)
			if at >= 15*time.Second {
				u.Phase, u.Next = "fault", ""
			}
			l.see(u)
			time.Sleep(500 * time.Millisecond)
		}
		u := someProgress(0)
		u.Composition, u.Position = "hedge", 1
		l.see(u)
		synctest.Wait()
		l.stop()
		const counts = ", 500/s arrive, 27 in flight, 12,345 completed, 12 errored, 0 censored, 3 shed, 14,001 attempts, 31 open; next: "
		want := "running 1/2 retry, 30s\n" +
			"1/2 retry 10s of 30s: phase baseline" + counts + "kill of replica-2 in 4s\n" +
			"1/2 retry 15s of 30s: phase fault" + counts + "draining\n" +
			"1/2 retry 20s of 30s: phase fault" + counts + "draining\n" +
			"running 2/2 hedge, 30s\n"
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// stuck takes nothing, as a terminal that was stopped with ^S does.
type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

// A terminal that takes nothing does not hold up who tells how the run stands.
func TestStuckTerminal(t *testing.T) {
	s := stuck{make(chan struct{})}
	l := &live{out: s, terminal: true, width: func() int { return 80 }, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run(drawEvery)
	var told sync.WaitGroup
	told.Go(func() {
		for i := range 100 {
			u := someProgress(time.Duration(i) * time.Second)
			u.Phase = fmt.Sprint(i)
			l.see(u)
		}
	})
	told.Wait() // it would wait for ever
	close(s.free)
	l.stop()
}
