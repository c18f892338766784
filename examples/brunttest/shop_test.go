package shop

import (
	"context"
	"testing"
	"time"

	"brunt/brunttest"
)

func TestTwoTries(t *testing.T) {
	brunttest.Run(t, "testdata/outage.yaml", func(dep brunttest.Dependency) brunttest.Client {
		client := &Client{HTTP: dep.HTTPClient(), URL: dep.URL(), Tries: 2, Wait: 100 * time.Millisecond}
		return func(ctx context.Context) error { _, err := client.Price(ctx, "tea"); return err }
	})
}
