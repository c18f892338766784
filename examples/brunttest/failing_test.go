//go:build failing

package shop

import (
	"context"
	"testing"
	"time"

	"brunt/brunttest"
)

// Four tries hit a service that is down twice as hard as the study lets them.
func TestFourTries(t *testing.T) {
	brunttest.Run(t, "testdata/outage.yaml", func(dep brunttest.Dependency) brunttest.Client {
		client := &Client{HTTP: dep.HTTPClient(), URL: dep.URL(), Tries: 4, Wait: 100 * time.Millisecond}
		return func(ctx context.Context) error { _, err := client.Price(ctx, "tea"); return err }
	})
}
