// Package shop is a client as many write it: plain net/http, with retries. It
// knows nothing of brunt.
package shop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client asks a service for prices.
type Client struct {
	HTTP *http.Client
	URL  string
	// Tries is how often a request is made at most.
	Tries int
	// Wait is how long to wait before the second try. It doubles with each further one.
	Wait time.Duration
}

// Price returns the price of an article.
func (c *Client) Price(ctx context.Context, article string) (price string, err error) {
	wait := c.Wait
	for try := 1; ; try++ {
		if price, err = c.ask(ctx, article); err == nil || try == c.Tries {
			return price, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		wait *= 2
	}
}

func (c *Client) ask(ctx context.Context, article string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"prices/"+article, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("price of %s: %s", article, resp.Status)
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
