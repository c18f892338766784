package sweep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"brunt/lab"
	"brunt/study"
)

// ahead is how many runs may be finished or begun while an earlier one is not:
// the journal is written in the order of the plan, and what waits for its turn
// is held in memory.
const ahead = 1024

// pass runs the points of a plan from one on, and hands them on in their order.
type pass struct {
	plan       *Plan
	source     *source
	quantities []quantity
	workers    int // 0 for as many as there are processors
}

// run is one seed of one point.
type run struct {
	job   int
	found [][]lab.Number // by composition and measure
	err   error
}

// from runs points until the last one, an error or the end of the context. What
// is finished meanwhile goes to write, some points at a time.
func (p *pass) from(ctx context.Context, point int, write func([]*Finished) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := p.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	jobs := make(chan int)
	room := make(chan struct{}, max(ahead, workers))
	results := make(chan run, workers)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(jobs)
		for job := point * p.plan.Seeds; job < p.plan.Points*p.plan.Seeds; job++ {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- job:
			case <-ctx.Done():
				return
			}
		}
	})
	for range workers {
		wg.Go(func() { p.work(ctx, jobs, results) })
	}
	go func() { // ends with the workers, before the last result is taken
		wg.Wait()
		close(results)
	}()
	err := p.collect(point, results, room, write)
	cancel()
	for range results { // until all are done
	}
	return err
}

// work takes runs until there are no more. The seeds of a point share its
// study.
func (p *pass) work(ctx context.Context, jobs <-chan int, results chan<- run) {
	var at *study.Study
	last := -1
	for job := range jobs {
		r := run{job: job}
		point := job / p.plan.Seeds
		if point != last {
			at, r.err = p.source.read(p.plan.sets(p.plan.Point(point)))
			last = point
		}
		if r.err == nil {
			s := seeded(at, at.Seed+int64(job%p.plan.Seeds))
			r.found, r.err = measureAll(ctx, s, p.plan.Compositions, p.quantities)
		}
		if r.err != nil {
			last = -1
			r.err = fmt.Errorf("point %d (%s): %w", point+1, p.plan.label(p.plan.Point(point)), r.err)
		}
		results <- r
	}
}

// collect puts runs into the order of the plan and their points together.
func (p *pass) collect(point int, results <-chan run, room <-chan struct{}, write func([]*Finished) error) error {
	waiting := map[int]run{}
	next := point * p.plan.Seeds
	var current *Finished
	var batch []*Finished
	for r := range results {
		if r.err != nil {
			if len(batch) > 0 { // what is finished is kept, whatever came after it
				return errors.Join(r.err, write(batch))
			}
			return r.err
		}
		waiting[r.job] = r
		for {
			r, here := waiting[next]
			if !here {
				break
			}
			delete(waiting, next)
			<-room
			if next%p.plan.Seeds == 0 {
				current = p.begin(next / p.plan.Seeds)
			}
			for i, numbers := range r.found {
				for k, n := range numbers {
					current.Compositions[i].Numbers[k].add(n)
				}
			}
			if next++; next%p.plan.Seeds == 0 {
				batch = append(batch, current)
			}
		}
		// One write for all that came in while the last one was under way.
		if len(batch) > 0 && len(results) == 0 {
			if err := write(batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	if len(batch) > 0 {
		return write(batch)
	}
	return nil
}

func (p *pass) begin(point int) *Finished {
	f := &Finished{Point: point}
	for _, name := range p.plan.Compositions {
		f.Compositions = append(f.Compositions, Cell{name, make([]Found, len(p.quantities))})
	}
	return f
}

// check reads the study at every point, so that a fault in one shows before
// hours are spent on the others. It returns the first fault.
func (p *pass) check(ctx context.Context) error {
	workers := p.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	const stretch = 64 // points that one worker takes at a time
	var mu sync.Mutex  // guards first, err and next
	next, first := 0, p.plan.Points
	var err error
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= first || ctx.Err() != nil {
			return 0, false
		}
		next += stretch
		return next - stretch, true
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for from, more := take(); more; from, more = take() {
				for i := from; i < min(from+stretch, p.plan.Points); i++ {
					if fault := p.checkPoint(i); fault != nil {
						mu.Lock()
						if i < first {
							first, err = i, fault
						}
						mu.Unlock()
						break
					}
				}
			}
		})
	}
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

func (p *pass) checkPoint(i int) error {
	at := p.plan.Point(i)
	s, err := p.source.read(p.plan.sets(at))
	if err == nil {
		err = p.fits(s)
	}
	if err != nil {
		return fmt.Errorf("point %d of %d (%s): %w", i+1, p.plan.Points, p.plan.label(at), err)
	}
	return nil
}

// fits reports what a point lacks that the plan asks for.
func (p *pass) fits(s *study.Study) error {
	for _, name := range p.plan.Compositions {
		if _, ok := s.Compositions.Get(name); !ok {
			return fmt.Errorf("there is no composition %s at this point", name)
		}
	}
	for i := range p.quantities {
		q := p.quantities[i]
		if err := q.check(s); err != nil {
			return err
		}
	}
	return nil
}
