package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"brunt/record"
)

// Env is what a Caller needs from around it.
type Env struct {
	Now    func() time.Duration // the clock of the rows; called from any goroutine
	Getenv func(string) string  // where tokens come from
	Prefix string               // begins each id: the run and its composition, so that logs of the target can tell
	Traced bool                 // whether each request carries its id for others to hand on: X-Brunt-Request and traceparent
	Roots  *x509.CertPool       // who is trusted under TLS; nil for the system's
}

// Caller makes requests to one target. It keeps connections until Close.
type Caller struct {
	env     Env
	secrets []string // never shown
	method  string
	url     *url.URL
	header  http.Header
	body    template
	success *statuses
	stream  bool // the answer is a stream of tokens
	replica string
	http2   bool
	wire    wire
	calls   sync.WaitGroup
}

// wire carries requests.
type wire interface {
	// start writes the call's request without blocking, if that is possible, and has
	// the call go on from there. It reports false when it has done nothing.
	start(c *Call) bool
	// send writes the call's request, once, and returns when the head of the final
	// answer is here. The answer must be released.
	send(c *Call) (answer, error)
	// close ends idle connections.
	close()
}

// answer is an answer whose head has come.
type answer struct {
	*http.Response
	// release gives back what the answer came on. It may be used again when the
	// answer was read to its end; else it is torn down.
	release func(again bool)
}

// New prepares to call a target. Where the version of HTTP is to be agreed on
// it connects once, so that every request goes the same way; it sends nothing.
//
// The configuration must have passed its Check. An error names no secret.
func New(ctx context.Context, config *Config, at Address, env Env) (*Caller, error) {
	u, err := url.Parse(config.URL)
	if err != nil {
		return nil, errors.New("prepare the target: its url is none")
	}
	c := &Caller{env: env, url: u, stream: config.Kind == OpenAI, replica: config.ReplicaHeader}
	if c.stream && strings.Trim(u.Path, "/") == "" {
		u.Path = chatPath
	}
	if c.success, err = expected(config); err != nil {
		return nil, fmt.Errorf("prepare the target %s: %w", u.Redacted(), err)
	}
	if err := c.setBody(config); err != nil {
		return nil, fmt.Errorf("prepare the target %s: %w", u.Redacted(), err)
	}
	if err := c.setHeader(config); err != nil {
		return nil, fmt.Errorf("prepare the target %s: %w", u.Redacted(), err)
	}
	d := &dialer{at: at, timeout: config.ConnectTimeout}
	if u.Scheme == "https" {
		d.tls = &tls.Config{ServerName: at.Host, RootCAs: env.Roots, ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	}
	if c.http2, err = d.agree(ctx, config.HTTP2); err != nil {
		return nil, fmt.Errorf("prepare the target %s: %w", u.Redacted(), err)
	}
	if c.http2 {
		c.wire = newHTTP2(d)
	} else {
		c.wire = newHTTP1(c, d)
	}
	return c, nil
}

// Streams reports whether answers are streams of tokens.
func (c *Caller) Streams() bool { return c.stream }

// HTTP2 reports whether HTTP/2 is spoken.
func (c *Caller) HTTP2() bool { return c.http2 }

func (c *Caller) setBody(config *Config) error {
	text := config.Body
	if c.stream && text == "" {
		var err error
		if text, err = chatBody(config); err != nil {
			return err
		}
	}
	var err error
	if c.body, err = parseTemplate(text); err != nil {
		return fmt.Errorf("its body: %w", err)
	}
	switch c.method = config.Method; {
	case c.method != "":
	case text != "":
		c.method = http.MethodPost
	default:
		c.method = http.MethodGet
	}
	return nil
}

func (c *Caller) setHeader(config *Config) error {
	c.header = http.Header{"User-Agent": {"brunt"}}
	if c.stream {
		c.header.Set("Content-Type", "application/json")
		c.header.Set("Accept", "text/event-stream")
	}
	given := map[string]bool{} // a name may stand there more than once, but replaces the default
	for _, h := range config.Headers {
		value := h.Value
		if h.Env != "" {
			var err error
			if value, err = c.secret(h.Env); err != nil {
				return fmt.Errorf("its header %s: %w", h.Name, err)
			}
		}
		if name := http.CanonicalHeaderKey(h.Name); given[name] {
			c.header.Add(name, value)
		} else {
			given[name] = true
			c.header.Set(name, value)
		}
	}
	if config.TokenEnv != "" {
		token, err := c.secret(config.TokenEnv)
		if err != nil {
			return fmt.Errorf("its token: %w", err)
		}
		c.header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// secret reads a secret from the environment.
func (c *Caller) secret(name string) (string, error) {
	value := ""
	if c.env.Getenv != nil {
		value = strings.TrimSpace(c.env.Getenv(name))
	}
	switch {
	case value == "":
		return "", fmt.Errorf("the environment variable %s is not set", name)
	case !isFieldValue(value):
		return "", fmt.Errorf("the environment variable %s holds control characters", name)
	}
	c.secrets = append(c.secrets, value)
	return value, nil
}

// host is what the Host header says.
func (c *Caller) host() string {
	if h := c.header.Get("Host"); h != "" {
		return h
	}
	return c.url.Host
}

// Start makes a request. The deadline is an instant of [Env.Now] at which the
// call is given up with the cause timeout; [record.Never] for none. Events are
// reported one at a time, from goroutines of the call or from Start; the last one is Ended,
// or Gone when Cancel was first.
//
// Start does not block. Events may come before it returns, on the same goroutine.
// The function that they are reported to must not call the Call's methods, or
// wait. The caller must not be closed.
func (c *Caller) Start(id ID, deadline time.Duration, report func(Event)) *Call {
	call := &Call{caller: c, id: id, report: report, answer: newAnswer(), deadline: deadline}
	if deadline != record.Never && deadline <= c.env.Now() {
		call.stop(expired)
	}
	if !c.wire.start(call) {
		call.setDeadline(deadline)
		c.calls.Go(call.run)
	}
	return call
}

// Close waits for all calls and closes every connection. Calls that should not
// be waited for must be cancelled first. With a loop attached it is to be called
// when that has ended; what it still carried is cancelled.
func (c *Caller) Close() {
	c.calls.Wait()
	c.wire.close()
}

// retryAfter reads how long an answer asks to wait: seconds, or a date, which
// is taken against the answer's own.
func retryAfter(value, date string) time.Duration {
	const most = 24 * time.Hour
	if value == "" {
		return 0
	}
	if d, err := time.ParseDuration(value + "s"); err == nil {
		return min(max(d, 0), most)
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(date)
	if err != nil {
		return 0
	}
	return min(max(until.Sub(from), 0), most)
}

// wanted reports whether the answer's status is that of a success.
func (c *Call) wanted() bool { return c.caller.success.has(c.answer.Status) }

// complete reports whether a stream has said that it is complete.
func (c *Call) complete() bool { return c.answer.Terminal != record.Never }
