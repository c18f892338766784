package clock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The heap against a list that is sorted anew each time.
func TestHeapIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		type item struct {
			when  time.Duration
			key   uint64
			timer Timer
			id    int
		}
		var model []item
		var gone []Timer
		var popped int
		n := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n++
				id := n
				it := item{when: time.Duration(rapid.IntRange(0, 20).Draw(t, "when")), key: uint64(rapid.IntRange(0, 3).Draw(t, "class"))<<classShift | uint64(n), id: id}
				it.timer = q.push(it.when, it.key, Func(func() { popped = id }))
				model = append(model, it)
				slices.SortFunc(model, func(a, b item) int {
					if a.when != b.when {
						return int(a.when - b.when)
					}
					if a.key < b.key {
						return -1
					}
					return 1
				})
			},
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				q.pop().Happen()
				if popped != model[0].id {
					t.Fatalf("event %d came before event %d", popped, model[0].id)
				}
				gone = append(gone, model[0].timer)
				model = model[1:]
			},
			"cancel": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				if !q.remove(model[i].timer) {
					t.Fatalf("event %d could not be cancelled", model[i].id)
				}
				gone = append(gone, model[i].timer)
				model = slices.Delete(model, i, i+1)
			},
			"cancel again": func(t *rapid.T) {
				if len(gone) == 0 {
					t.Skip("nothing gone")
				}
				if q.remove(rapid.SampledFrom(gone).Draw(t, "which")) {
					t.Fatal("an event that is gone was cancelled")
				}
			},
			"": func(t *rapid.T) {
				when, ok := q.peek()
				if ok != (len(model) > 0) || ok && when != model[0].when {
					t.Fatalf("peek: %v %v with %d events", when, ok, len(model))
				}
				if len(q.heap) != len(model) || len(q.slots) != len(q.heap)+len(q.free) {
					t.Fatalf("%d events, %d in the heap, %d slots, %d free", len(model), len(q.heap), len(q.slots), len(q.free))
				}
			},
		})
	})
}

// Deep heaps, from which events leave anywhere: what takes the place of one that
// left may have to go up as well as down.
func TestDeepHeapIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var timers []Timer
		whens := rapid.SliceOfN(rapid.IntRange(0, 1000), 50, 200).Draw(t, "whens")
		for i, when := range whens {
			timers = append(timers, q.push(time.Duration(when), uint64(i), tick{}))
		}
		var left []time.Duration
		for i, when := range whens {
			if rapid.IntRange(0, 2).Draw(t, "leaves") == 0 {
				q.remove(timers[i])
			} else {
				left = append(left, time.Duration(when))
			}
		}
		slices.Sort(left)
		for _, want := range left {
			if when, ok := q.peek(); !ok || when != want {
				t.Fatalf("next event at %v, %v, want %v", when, ok, want)
			}
			q.pop()
		}
		if _, ok := q.peek(); ok {
			t.Fatal("more events than were left")
		}
	})
}

type tick struct{}

func (tick) Happen() {}

func TestWarmLoopAllocatesNothing(t *testing.T) {
	l := Virtual()
	run := func() {
		for i := range time.Duration(50) {
			timer := l.After(i%7, tick{})
			if i%3 == 0 {
				l.Cancel(timer)
			}
		}
		l.Run()
	}
	run()
	if got := testing.AllocsPerRun(100, run); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// One event in and one out, with so many others in the heap.
func BenchmarkPushPop(b *testing.B) {
	for _, size := range []int{4, 3000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var q queue
			delays := make([]time.Duration, 1024)
			for i := range delays {
				delays[i] = time.Duration(uint32(i*2654435761)) % 1e6
			}
			var now time.Duration
			var seq uint64
			for range size {
				seq++
				q.push(delays[seq%1024], seq, tick{})
			}
			b.ReportAllocs()
			for b.Loop() {
				now, _ = q.peek()
				q.pop()
				seq++
				q.push(now+delays[seq%1024], seq, tick{})
			}
		})
	}
}

// A timeout that does not come to pass: in and out again.
func BenchmarkPushCancel(b *testing.B) {
	for _, size := range []int{4, 3000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var q queue
			for i := range size {
				q.push(time.Duration(i), uint64(i), tick{})
			}
			b.ReportAllocs()
			for b.Loop() {
				q.remove(q.push(time.Duration(size/2), 1<<40, tick{}))
			}
		})
	}
}
