package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"brunt/lab"
	"brunt/study"
)

// SearchConfig says what a search looks for.
type SearchConfig struct {
	Source       string       // of the study, as it was given
	Study        *study.Study // as it was read from there
	Setting      string       // PATH=FROM..TO, PATH=FROM..TO log, or PATH: from a tenth to ten times its value
	Until        string       // NAME[@PHASE] OP VALUE, or NAME: above 0
	Seeds        int          // from the study's on
	Tolerance    float64      // of the edge, as a share of it; whole numbers are found exactly
	Compositions []string     // none for all
	Instrument   lab.Instrument
	Workers      int // runs at a time; 0 for one on each processor
}

// Search bisects one setting of a study to the edge where a statement becomes
// true, on each seed of its own.
type Search struct {
	config       SearchConfig
	source       source
	path         string
	stretch      Range
	statement    statement
	compositions []string
}

// NewSearch makes a search. An error is one of how it was asked for.
func NewSearch(c SearchConfig) (*Search, error) {
	s := &Search{config: c, source: source{c.Source, c.Study}}
	switch {
	case c.Study.Clock != study.Virtual:
		return nil, fmt.Errorf("the study runs on the %s clock: a search runs on the virtual one, see --clock", c.Study.Clock)
	case c.Seeds < 1 || c.Seeds > mostSeeds:
		return nil, fmt.Errorf("%d seeds: expected 1 to %d", c.Seeds, mostSeeds)
	case !(c.Tolerance >= leastTolerance && c.Tolerance < 1):
		return nil, fmt.Errorf("a tolerance of %v: expected at least %v and below 1", c.Tolerance, leastTolerance)
	}
	var err error
	if s.compositions, err = s.source.choose(c.Compositions); err != nil {
		return nil, err
	}
	if s.statement, err = parseStatement(c.Until, c.Study); err != nil {
		return nil, err
	}
	if err := s.parse(c.Setting); err != nil {
		return nil, err
	}
	for _, v := range s.coarse() {
		if _, err := s.at(v); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// leastTolerance is what six significant digits can carry.
const leastTolerance = 1e-4

// parse reads the setting and its range.
func (s *Search) parse(text string) (err error) {
	path, spec, given := strings.Cut(text, "=")
	s.path = strings.TrimSpace(path)
	if s.path == "" {
		return fmt.Errorf("find along %q: expected PATH=FROM..TO", text)
	}
	if !given {
		s.stretch, err = ownRange(s.source.base, s.path)
		return err
	}
	first, rest, isRange := strings.Cut(spec, "..")
	from := parseAmount(first)
	rest, log := strings.CutSuffix(strings.TrimSpace(rest), " log")
	if !isRange || from.kind == word || strings.ContainsAny(strings.TrimSpace(rest), " ,") {
		return fmt.Errorf("find along %q: expected PATH=FROM..TO, such as load.rate=50/s..500/s", text)
	}
	if s.stretch, _, _, err = parseRange(from, rest); err != nil {
		return fmt.Errorf("find along %q: %w", text, err)
	}
	if s.stretch.Log = log; log && s.stretch.From.Size <= 0 {
		return fmt.Errorf("find along %q: a logarithm needs values above 0", text)
	}
	return nil
}

// at reads the study with the setting at a value.
func (s *Search) at(v Amount) (*study.Study, error) {
	set := s.path + "=" + v.Text
	read, err := s.source.read([]string{set})
	if err == nil {
		q := s.statement.quantity
		err = q.check(read)
	}
	if err != nil {
		return nil, fmt.Errorf("at %s: %w", set, err)
	}
	return read, nil
}

// scanned is how many values are tried over the whole range before it is
// bisected.
const scanned = 8

// coarse returns the values of the first scan.
func (s *Search) coarse() []Amount {
	if n := s.stretch.To.Size - s.stretch.From.Size + 1; s.stretch.From.kind == whole && n <= scanned {
		values, _ := s.stretch.by(parseAmount("1")) // no more than 8
		return values
	}
	return s.stretch.even(scanned)
}

// Seeds returns how many seeds there are to search, those of all compositions.
func (s *Search) Seeds() int { return len(s.compositions) * s.config.Seeds }

// Requests returns about how many requests a search sends in all, going by the
// study as it is: the scan, and as many runs as the tolerance asks for.
func (s *Search) Requests() float64 {
	runs := scanned + max(1, math.Log2(1/s.config.Tolerance))
	return float64(s.source.base.Schedule().Expected()) * float64(s.Seeds()) * runs
}

// Run searches, and tells progress how many of the seeds are done, from one
// goroutine at a time. When the context ends its error is returned.
func (s *Search) Run(ctx context.Context, progress func(done int)) (*Edges, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := s.config.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	of := s.Seeds()
	edges, errs := make([]Edge, of), make([]error, of)
	jobs := make(chan int)
	var mu sync.Mutex // guards done, and has progress called one at a time
	done := 0
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for job := range jobs {
				edges[job], errs[job] = s.seek(ctx, s.compositions[job/s.config.Seeds], job%s.config.Seeds)
				if errs[job] != nil {
					cancel()
					continue
				}
				mu.Lock()
				done++
				progress(done)
				mu.Unlock()
			}
		})
	}
	for job := range of {
		jobs <- job
	}
	close(jobs)
	wg.Wait()
	for _, err := range errs { // a cause before what it has cancelled
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.conclude(edges), nil
}

// seek finds the edge of one composition on one seed: the first place, from
// below, where what the statement says changes. Where its number is refused the
// statement is neither true nor false; an edge may still lie short of there.
func (s *Search) seek(ctx context.Context, composition string, seed int) (Edge, error) {
	edge := Edge{Seed: s.source.base.Seed + int64(seed), Scan: []Tried{}}
	// try runs the composition at a value.
	try := func(v Amount) (Tried, error) {
		at, err := s.at(v)
		if err != nil {
			return Tried{}, err
		}
		found, err := measureAll(ctx, seeded(at, at.Seed+int64(seed)), []string{composition}, []quantity{s.statement.quantity})
		if err != nil {
			return Tried{}, fmt.Errorf("at %s=%s: %w", s.path, v.Text, err)
		}
		edge.Runs++
		holds, refusal := s.statement.holds(found[0][0])
		return Tried{v.Text, holds, refusal, v}, nil
	}
	for _, v := range s.coarse() {
		t, err := try(v)
		if err != nil {
			return edge, err
		}
		edge.Scan = append(edge.Scan, t)
	}
	sides, ok := edge.change()
	if !ok {
		return edge, nil
	}
	// near is known; far is not what near is.
	near, far := sides[0], sides[1]
	for {
		mid, more := s.between(near.at, far.at)
		if !more {
			break
		}
		t, err := try(mid)
		if err != nil {
			return edge, err
		}
		if t.Refused == "" && t.Holds == near.Holds {
			near = t
		} else {
			far = t
		}
	}
	edge.settle(near, far)
	return edge, nil
}

// between returns the middle of two values, unless they are near enough.
func (s *Search) between(low, high Amount) (Amount, bool) {
	if low.Size > high.Size {
		low, high = high, low
	}
	width := high.Size - low.Size
	if s.stretch.From.kind == whole {
		if width <= 1 {
			return Amount{}, false
		}
	} else if width <= s.config.Tolerance*max(math.Abs(low.Size), math.Abs(high.Size)) {
		return Amount{}, false
	}
	middle := low.Size + width/2
	if s.stretch.Log {
		middle = math.Sqrt(low.Size * high.Size)
	}
	if s.stretch.From.kind == whole { // it must not round to an end
		middle = min(max(math.Round(middle), low.Size+1), high.Size-1)
	}
	mid := s.stretch.From.like(middle, 6)
	return mid, low.Size < mid.Size && mid.Size < high.Size
}
