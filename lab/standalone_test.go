package lab

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestServeDependencies: what whoever calls gets is what the study says of the
// phase, which begins with the first attempt, and all of it is counted.
func TestServeDependencies(t *testing.T) {
	s := readText(t, `study: alone
load: {rate: 1/s}
dependencies:
  good: {latency: 1ms}
  bad: {fail_after: 1ms}
  dead: {hang: true}
phases: [{name: all, for: 1h}, {name: never, for: 1s}]
compositions: {plain: [{call: good}]}
`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan []int, 1)
	done := make(chan struct{})
	served, err := ServeDependencies(ctx, s, StandaloneOptions{
		OnFirst: true,
		Ready: func(urls map[string]string) error {
			go func() {
				defer close(done)
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				get := func(ctx context.Context, name string) int {
					q, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[name], nil)
					if err != nil {
						return -1
					}
					answer, err := client.Do(q)
					if err != nil {
						return 0
					}
					_ = answer.Body.Close()
					return answer.StatusCode
				}
				statuses := []int{get(ctx, "good"), get(ctx, "bad"), get(ctx, "good")}
				short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
				defer stop()
				asked <- append(statuses, get(short, "dead"))
				cancel()
			}()
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if diff := cmp.Diff([]int{200, 503, 200, 0}, <-asked); diff != "" {
		t.Errorf("the statuses (-want +got):\n%s", diff)
	}
	if served.Cut > 1 {
		t.Errorf("%d attempts were cut off, expected one at most", served.Cut)
	}
	served.Cut = 0 // whether it was noticed first that the client had left is chance
	hits := func(name string, attempts, completed, cancelled int64, causes map[string]int64) StandaloneHits {
		return StandaloneHits{name, attempts, completed, cancelled, causes}
	}
	none := map[string]int64{}
	want := &Standalone{Phases: []StandalonePhase{
		{"all", []StandaloneHits{hits("good", 2, 2, 0, none), hits("bad", 1, 0, 0, map[string]int64{"failure": 1}), hits("dead", 1, 0, 1, none)}},
		{"never", []StandaloneHits{hits("good", 0, 0, 0, none), hits("bad", 0, 0, 0, none), hits("dead", 0, 0, 0, none)}},
	}}
	if diff := cmp.Diff(want, served); diff != "" {
		t.Errorf("what was asked (-want +got):\n%s", diff)
	}
}
