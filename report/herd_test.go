package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

// Joining buckets loses no retry and no time: bars follow one another without
// overlap, gaps fill what is between, and there are never too many.
func TestBarsKeepEveryRetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		starts := rapid.MapOfN(rapid.IntRange(0, 4000), rapid.Int64Range(0, 50), rapid.SampledFrom([]int{0, 30, 200}).Draw(t, "least"), 300).Draw(t, "retries")
		retries, sum := map[int]int64{}, int64(0)
		for bucket, n := range starts {
			retries[20*bucket] = n
			sum += n
		}
		r := &lab.Result{Compositions: []measure.Composition{{Name: "x", Herd: herdOf(1, retries)}}}
		hs := herdHistograms(r)
		bars := hs.Herds[0].Bars
		if len(bars) > mostBars {
			t.Fatalf("%d bars", len(bars))
		}
		var got int64
		for i, b := range bars {
			got += b.Count
			width := measure.Millis(max(b.Empty, 1)) * hs.Bucket
			if (b.Count == 0) != (b.Empty > 0) || b.To-b.From != width {
				t.Fatalf("bar %+v in buckets of %d", b, hs.Bucket)
			}
			if i > 0 && bars[i-1].To != b.From {
				t.Fatalf("bar %+v after %+v", b, bars[i-1])
			}
		}
		if got != sum {
			t.Fatalf("%d retries in bars, want %d", got, sum)
		}
		each := hs.scale(40)
		for _, l := range hs.Herds[0].lines(each) {
			if n := strings.Count(l, "#"); n > 40 || !strings.Contains(l, "⋮") && n == 0 {
				t.Fatalf("%q has %d marks", l, n)
			}
		}
	})
}

// A hundred full buckets are joined by fives: 40 lines hold no more.
func TestJoinedBuckets(t *testing.T) {
	retries := map[int]int64{}
	for from := 0; from < 2000; from += 20 {
		retries[from] = 3
	}
	hs := herdHistograms(&lab.Result{Compositions: []measure.Composition{{Name: "x", Herd: herdOf(0, retries)}}})
	if hs.Joined != 5 || hs.Bucket != *ms(100) || len(hs.Herds[0].Bars) != 20 {
		t.Fatalf("%d joined to buckets of %d, %d bars; want 5, 100 ms, 20", hs.Joined, hs.Bucket, len(hs.Herds[0].Bars))
	}
	for _, b := range hs.Herds[0].Bars {
		if b.Count != 15 {
			t.Errorf("bar %+v, want 15 retries", b)
		}
	}
	if got, want := hs.caption(1), "in buckets of 100 ms, each 5 of the study's buckets joined. A # is one retry."; !strings.HasSuffix(got, want) {
		t.Errorf("caption %q, want %q at its end", got, want)
	}
}

func TestHistogramScale(t *testing.T) {
	for _, c := range []struct {
		most int64
		want int64
	}{
		{1, 1},
		{40, 1},
		{41, 2},     // one too many
		{2000, 50},  // 40 marks
		{2001, 100}, // 41 would not do
	} {
		hs := &histograms{Herds: []histogram{{Bars: []bar{{Count: 1}}}, {Bars: []bar{{Count: c.most}}}}}
		if got := hs.scale(40); got != c.want {
			t.Errorf("scale for %d: got %d, want %d", c.most, got, c.want)
		}
	}
}

func TestHerdWithoutBuckets(t *testing.T) {
	r := stampedeResult(t)
	r.Compositions[0].Herd = measure.Herd{Bucket: *ms(20), Reason: "more than 2000 buckets are not empty"}
	r.Compositions[1].Herd = measure.Herd{Bucket: *ms(20), Buckets: []measure.HerdBucket{{Attempts: 20}}}
	hs := herdHistograms(r)
	if diff := cmp.Diff([]string{"More than 2000 buckets are not empty.", "No retries.", ""},
		[]string{hs.Herds[0].Note, hs.Herds[1].Note, hs.Herds[2].Note}); diff != "" {
		t.Error(diff)
	}
}

func TestHerdSentence(t *testing.T) {
	for _, c := range []struct {
		name string
		drop []string // compositions that the result has not
		want string
	}{
		{"several with jitter", nil, "20 without jitter (jitter-none) → from 5 (jitter-full) to 8 (jitter-proportional) with it."},
		{"one with jitter", []string{"jitter-proportional", "jitter-decorrelated"}, "20 without jitter (jitter-none) → 5 with it (jitter-full)."},
		{"none without: nothing to compare", []string{"jitter-none"}, ""},
		{"none with", []string{"jitter-proportional", "jitter-decorrelated", "jitter-full"}, ""},
	} {
		r := stampedeResult(t)
		var kept []measure.Composition
		for _, comp := range r.Compositions {
			if !strings.Contains(strings.Join(c.drop, " "), comp.Name) {
				kept = append(kept, comp)
			}
		}
		r.Compositions = kept
		config, err := readConfig(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := herdSentence(r, config); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q at its end", c.name, got, c.want)
		}
	}
}
