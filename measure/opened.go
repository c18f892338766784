package measure

import "brunt/record"

// openRows is how many requests are expected to be open at once.
const openRows = 1 << 10

// opened keeps the attempts of requests that have not ended yet. Those that are
// open together mostly have neighbouring indices, so nearly all find a place of
// their own by the end of their index.
type opened struct {
	table []openRow
	rest  map[int64][]record.Attempt // of requests whose place was taken
}

type openRow struct {
	request  int64 // index + 1; 0 for none
	attempts []record.Attempt
}

func (o *opened) add(a *record.Attempt) {
	if o.table == nil {
		o.table = make([]openRow, openRows)
		o.rest = make(map[int64][]record.Attempt)
	}
	row := &o.table[uint64(a.Request)%openRows]
	_, elsewhere := o.rest[a.Request]
	if row.request != a.Request+1 && (row.request != 0 || elsewhere) {
		o.rest[a.Request] = append(o.rest[a.Request], *a)
		return
	}
	row.request = a.Request + 1
	row.attempts = append(row.attempts, *a)
}

// take gives the attempts of a request up. They are good until the next add.
func (o *opened) take(request int64) []record.Attempt {
	if o.table == nil {
		return nil
	}
	row := &o.table[uint64(request)%openRows]
	if row.request == request+1 {
		all := row.attempts
		row.request, row.attempts = 0, row.attempts[:0]
		return all
	}
	all := o.rest[request]
	delete(o.rest, request)
	return all
}

// scattered gives each index a number of its own, so that the least of them are
// a sample of all that is the same in every run: the last mixing step of
// MurmurHash3 (A. Appleby, 2011).
func scattered(index int64) uint64 {
	h := uint64(index) + 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
