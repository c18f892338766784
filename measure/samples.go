package measure

import "time"

// samples keeps durations in chunks: adding one never copies those before, so
// millions of them need no more memory than they fill.
type samples struct {
	chunks [][]int64
	last   []int64 // the chunk that is being filled
}

// chunk is how many durations are in a chunk: 32 KiB.
const chunk = 4096

func (s *samples) add(d time.Duration) {
	if len(s.last) == cap(s.last) {
		s.grow()
	}
	s.last = append(s.last, int64(d))
}

func (s *samples) grow() {
	if s.last != nil {
		s.chunks = append(s.chunks, s.last)
	}
	s.last = make([]int64, 0, chunk)
}

// appendTo appends all samples to xs.
func (s *samples) appendTo(xs []int64) []int64 {
	for _, c := range s.chunks {
		xs = append(xs, c...)
	}
	return append(xs, s.last...)
}

// percentiles are the ranks that Percentiles and Tail report.
var percentiles = []PPM{500_000, 950_000, 990_000, Million}

// ranked returns the durations at the nearest ranks of qs, which must ascend,
// among kept and zeros durations of 0 besides. It rearranges kept, in which
// none may be negative. Without any sample it returns nil.
func ranked(kept []int64, zeros int64, qs []PPM) []*Millis {
	n := zeros + int64(len(kept))
	if n == 0 {
		return nil
	}
	var ranks []int64
	for _, q := range qs {
		if r := Rank(q, n) - zeros; r > 0 {
			ranks = append(ranks, r)
		}
	}
	selectRanks(kept, ranks)
	values := make([]*Millis, len(qs))
	for i, q := range qs {
		values[i] = new(Millis)
		if r := Rank(q, n) - zeros; r > 0 {
			*values[i] = Millis(kept[r-1])
		}
	}
	return values
}

// tailOf returns the tail of samples, most of which may be 0 and not kept.
func tailOf(kept []int64, total int64, reason string) Tail {
	v := ranked(kept, total-int64(len(kept)), percentiles[2:])
	if v == nil {
		return Tail{Reason: reason}
	}
	return Tail{P99: v[0], Max: v[1]}
}
