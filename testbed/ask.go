package testbed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"brunt/front"
	"brunt/replica"
)

// FrontState asks the front how it sees the replicas.
func (t *Testbed) FrontState(ctx context.Context) (s front.State, err error) {
	return s, t.ask(ctx, t.front.Control+"/state", &s)
}

// ReplicaState asks a replica how it is. It answers on its control port, also
// while callers cannot reach it.
func (t *Testbed) ReplicaState(ctx context.Context, name string) (s replica.State, err error) {
	p, ok := t.Replica(name)
	if !ok {
		return s, fmt.Errorf("there is no replica %s", name)
	}
	return s, t.ask(ctx, p.Control+"/state", &s)
}

func (t *Testbed) ask(ctx context.Context, url string, into any) error {
	answer, err := t.get(ctx, url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", url, answer.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(into)
}

func (t *Testbed) get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return t.client.Do(request)
}

// Through probes the front, and says which replica answered.
func (t *Testbed) Through(ctx context.Context) (replica string, ok bool) {
	return t.probe(ctx, t.URL()+t.healthPath())
}

func (t *Testbed) healthPath() string {
	if t.config.Health.Path != "" {
		return t.config.Health.Path
	}
	return "/health"
}

func (t *Testbed) probe(ctx context.Context, url string) (replica string, ok bool) {
	answer, err := t.get(ctx, url)
	if err != nil {
		return "", false
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	return answer.Header.Get("X-Brunt-Replica"), err == nil && answer.StatusCode == http.StatusOK
}
