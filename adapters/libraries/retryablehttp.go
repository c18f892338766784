package libraries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"brunt/brunttest"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

var retryableHTTP = library{
	name: "go-retryablehttp", module: "hashicorp/go-retryablehttp", version: "0.7.8",
	kinds: []string{"retry"},
	judge: judgeRetryableHTTP, wrap: wrapRetryableHTTP,
}

func judgeRetryableHTTP(stage *study.Stage, r *remarks) {
	c := stage.Retry
	r.judgeRetry(c)
	b := &c.Backoff
	r.judgeBackoff(b, b.Kind == policy.Linear, policy.NoBackoff, policy.Constant, policy.Linear, policy.Exponential)
	switch {
	case b.Kind == policy.Exponential && b.Factor != 2:
		r.refuse("go-retryablehttp doubles its delays: expected factor: 2")
	case b.Kind == policy.Linear && b.Cap > 0:
		r.refuse("go-retryablehttp has no cap on a linear backoff: expected none")
	case b.Kind == policy.Linear && share(b) > 0:
		r.note("seeds the jitter of each wait from the nanoseconds of the clock: calls that fail at one instant draw the same")
	}
	if c.Budget != nil {
		r.refuse("go-retryablehttp has no budget: expected none")
	}
	if !r.told {
		r.note("waits as long as Retry-After of a 429 or 503 says, without a cap, and repeats no status below 500 but 429")
	}
}

func wrapRetryableHTTP(stages []study.Stage, told bool, in call, dep *brunttest.Dependency) call {
	for i := len(stages) - 1; i >= 0; i-- {
		var transport http.RoundTripper = inner(in)
		url := "http://stage/"
		if dep != nil {
			transport, url, dep = dep.RoundTripper(), dep.URL(), nil
		}
		in = retrying(retryableClient(stages[i].Retry, told, transport), url)
	}
	return in
}

func retryableClient(c *policy.Retry, told bool, transport http.RoundTripper) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: transport}
	client.Logger = nil
	client.RetryMax = c.Attempts - 1
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	b := &c.Backoff
	client.RetryWaitMin, client.RetryWaitMax = b.Base, b.Cap
	switch b.Kind {
	case policy.NoBackoff:
		client.RetryWaitMin, client.RetryWaitMax = 0, 0
	case policy.Constant:
		client.RetryWaitMax = b.Base
	case policy.Linear:
		spread := time.Duration(share(b) * float64(b.Base))
		client.Backoff = retryablehttp.LinearJitterBackoff
		client.RetryWaitMin, client.RetryWaitMax = b.Base-spread, b.Base+spread
	default:
		if b.Cap == 0 {
			client.RetryWaitMax = forever
		}
		client.RetryWaitMin = min(client.RetryWaitMin, client.RetryWaitMax)
	}
	if told {
		wait := client.Backoff
		client.Backoff = func(least, most time.Duration, n int, _ *http.Response) time.Duration {
			return wait(least, most, n, nil)
		}
		client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			if err == nil && resp.StatusCode >= 400 {
				err = statusError(resp.StatusCode)
			}
			return err != nil && ctx.Err() == nil && repeats(c, err), ctx.Err()
		}
	}
	return client
}

// retrying is a call through a client.
func retrying(client *retryablehttp.Client, url string) call {
	return func(ctx context.Context) error {
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("make a request to %s: %w", url, err)
		}
		resp, err := client.Do(req)
		if resp != nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if err != nil {
			return err
		}
		if resp == nil || resp.StatusCode < 400 {
			return nil
		}
		return statusError(resp.StatusCode)
	}
}

// statusError is an answer that says that the dependency has failed.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("status %d (%s)", int(e), http.StatusText(int(e)))
}

// cause is what brunttest has the status for.
func (e statusError) cause() record.Cause {
	switch int(e) {
	case http.StatusServiceUnavailable:
		return record.Overload
	case http.StatusGatewayTimeout:
		return record.Timeout
	}
	return record.Failure
}

// inner makes a transport of the stages inside: their errors are errors of the
// transport.
type inner call

// RoundTrip implements [http.RoundTripper].
func (in inner) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := in(req.Context()); err != nil {
		var status statusError
		if !errors.As(err, &status) {
			return nil, err
		}
		return answer(req, int(status)), nil
	}
	return answer(req, http.StatusOK), nil
}

func answer(req *http.Request, status int) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}
