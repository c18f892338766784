package front

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// health is what is known about one upstream. It goes up and down by results in
// a row, as HAProxy's checks with fall and rise do (HAProxy 2.6, configuration
// manual, section 5.2), except that the first result alone decides.
type health struct {
	rise, fall, passive int

	known, up bool
	streak    int // results in a row that speak against the present state
	failures  int // failed requests in a row
}

// checked takes the result of a check and reports whether the state changed.
func (h *health) checked(ok bool) (changed bool) {
	if !h.known {
		h.known, h.up = true, ok
		return true
	}
	if ok == h.up {
		h.streak = 0
		return false
	}
	h.streak++
	if h.up && h.streak < h.fall || !h.up && h.streak < h.rise {
		return false
	}
	h.up, h.streak, h.failures = ok, 0, 0
	return true
}

// served takes the result of a request and reports whether it took the upstream
// down.
func (h *health) served(ok bool) (down bool) {
	if ok {
		h.failures = 0
		return false
	}
	h.failures++
	if h.passive == 0 || !h.up || h.failures < h.passive {
		return false
	}
	h.up, h.streak, h.failures = false, 0, 0
	return true
}

// checkHealth has every upstream checked until ctx is done.
func (f *Front) checkHealth(ctx context.Context, work *sync.WaitGroup) {
	if f.config.Health.Path == "" {
		return
	}
	// Each check has a connection of its own: one that is kept would not notice
	// that nothing listens any more.
	client := &http.Client{
		Transport:     &http.Transport{DialContext: dialer(0), DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, u := range f.upstreams {
		ask := func(ctx context.Context) error { return ask(ctx, client, "http://"+u.address()+f.config.Health.Path) }
		work.Go(func() { f.watch(ctx, u, ask) })
	}
}

// watch checks one upstream until ctx is done.
func (f *Front) watch(ctx context.Context, u *upstream, ask func(context.Context) error) {
	for ctx.Err() == nil {
		next := f.clock.After(f.config.Health.Interval)
		err := f.within(ctx, ask)
		if ctx.Err() != nil {
			return
		}
		at, reason := f.clock.Now(), "check passed"
		if err != nil {
			reason = err.Error()
		}
		if f.balancer.checked(u, err == nil, reason, at) {
			what := Up
			if err != nil {
				what = Down
			}
			f.log.add(Entry{What: what, At: at, Replica: u.Name, Detail: reason})
		}
		select {
		case <-next:
		case <-ctx.Done():
		}
	}
}

// within makes one check, which fails when its time is over.
func (f *Front) within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := f.clock.After(f.config.Health.Timeout)
	result := make(chan error, 1)
	go func() { result <- ask(ctx) }()
	select {
	case err := <-result:
		return err
	case <-late:
		cancel()
		<-result
		return fmt.Errorf("no answer within %v", f.config.Health.Timeout)
	}
}

// ask makes the request of a check.
func ask(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	res, err := client.Do(r)
	if err != nil {
		return err // it names the URL
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}
