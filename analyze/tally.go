package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"brunt/record"
)

// entry counts the rows of one time, cell and outcome.
type entry struct {
	time  time.Duration
	key   uint32 // cell and outcome, as keyOf makes it
	count uint32
}

func keyOf(cell uint32, outcome record.Outcome) uint32 { return cell<<2 | uint32(outcome) }

func (e entry) cell() uint32            { return e.key >> 2 }
func (e entry) outcome() record.Outcome { return record.Outcome(e.key & 3) }

func order(a, b entry) int {
	if a.time != b.time {
		return cmp.Compare(a.time, b.time)
	}
	return cmp.Compare(a.key, b.key)
}

// tally counts rows by time, cell and outcome. It holds at most so many entries
// in memory: when they are full it sorts them and adds up what is equal, and
// when that does not free half of them it writes them out as a run.
type tally struct {
	most    int // entries in memory
	dir     string
	entries []entry
	sorted  bool
	spill   *spill // nil while everything fits
}

// usualMost takes 64 MB.
const usualMost = 4 << 20

func (t *tally) add(d time.Duration, cell uint32, outcome record.Outcome) error {
	if len(t.entries) == t.most {
		t.compact()
		if len(t.entries) > t.most/2 {
			if err := t.write(); err != nil {
				return err
			}
		}
	}
	if len(t.entries) == cap(t.entries) { // append would grow it by a quarter, over and over
		larger := make([]entry, len(t.entries), min(max(1<<10, 2*cap(t.entries)), max(t.most, 1)))
		copy(larger, t.entries)
		t.entries = larger
	}
	t.entries = append(t.entries, entry{d, keyOf(cell, outcome), 1})
	t.sorted = false
	return nil
}

// compact sorts the entries and adds up those that are equal.
func (t *tally) compact() {
	if t.sorted || len(t.entries) == 0 {
		return
	}
	slices.SortFunc(t.entries, order)
	last := 0
	for _, e := range t.entries[1:] {
		if l := &t.entries[last]; l.time == e.time && l.key == e.key && l.count <= math.MaxUint32-e.count {
			l.count += e.count
			continue
		}
		last++
		t.entries[last] = e
	}
	t.entries = t.entries[:last+1]
	t.sorted = true
}

func (t *tally) write() error {
	if t.spill == nil {
		s, err := newSpill(t.dir)
		if err != nil {
			return err
		}
		t.spill = s
	}
	err := t.spill.run(t.entries)
	t.entries, t.sorted = t.entries[:0], false
	return err
}

// each calls see for the entries in order of time, and then of key. The same
// time and key may come several times. It stops when see returns false.
func (t *tally) each(see func(entry) bool) error {
	t.compact()
	if t.spill == nil {
		for _, e := range t.entries {
			if !see(e) {
				return nil
			}
		}
		return nil
	}
	return t.spill.merge(t.entries, see)
}

func (t *tally) close() error {
	t.entries = nil
	if t.spill == nil {
		return nil
	}
	return t.spill.close()
}
