package clock

import "time"

// queue is a 4-ary heap of events. The heap holds the keys, so that comparing
// touches nothing else; the events stand in slots that are used again. A
// removed event leaves the heap at once: most timeouts never come to pass, and
// a heap that kept them would be thousands deep instead of a handful.
type queue struct {
	heap  []entry
	slots []slot
	free  []int32
}

type entry struct {
	when time.Duration
	key  uint64 // class, then rank
	slot int32
}

func (a *entry) before(b *entry) bool {
	return a.when < b.when || a.when == b.when && a.key < b.key
}

type slot struct {
	ev  Event
	pos int32
	gen uint32 // odd while the slot is in use
}

func (q *queue) peek() (time.Duration, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].when, true
}

func (q *queue) push(when time.Duration, key uint64, ev Event) Timer {
	var s int32
	if n := len(q.free); n > 0 {
		s = q.free[n-1]
		q.free = q.free[:n-1]
	} else {
		s = int32(len(q.slots))
		q.slots = append(q.slots, slot{})
	}
	sl := &q.slots[s]
	sl.ev = ev
	sl.gen++
	q.heap = append(q.heap, entry{})
	q.up(len(q.heap)-1, entry{when, key, s})
	return Timer{s, sl.gen}
}

func (q *queue) pop() Event { return q.take(0) }

func (q *queue) remove(t Timer) bool {
	if t.gen == 0 || q.slots[t.slot].gen != t.gen {
		return false
	}
	q.take(int(q.slots[t.slot].pos))
	return true
}

// take removes the entry at heap position i.
func (q *queue) take(i int) Event {
	s := q.heap[i].slot
	last := len(q.heap) - 1
	moved := q.heap[last]
	q.heap = q.heap[:last]
	if i < last {
		if i > 0 && moved.before(&q.heap[(i-1)/4]) {
			q.up(i, moved)
		} else {
			q.down(i, moved)
		}
	}
	sl := &q.slots[s]
	ev := sl.ev
	sl.ev = nil
	sl.gen++
	q.free = append(q.free, s)
	return ev
}

// up places e at position i or above.
func (q *queue) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		q.slots[q.heap[i].slot].pos = int32(i)
		i = parent
	}
	q.heap[i] = e
	q.slots[e.slot].pos = int32(i)
}

// down places e at position i or below.
func (q *queue) down(i int, e entry) {
	n := len(q.heap)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(&e) {
			break
		}
		q.heap[i] = q.heap[least]
		q.slots[q.heap[i].slot].pos = int32(i)
		i = least
	}
	q.heap[i] = e
	q.slots[e.slot].pos = int32(i)
}
