package target

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"brunt/check"
)

// Kind is what a target speaks.
type Kind string

// The kinds.
const (
	HTTP   Kind = "http"   // one request, one answer
	OpenAI Kind = "openai" // a chat completion, streamed as Server-Sent Events
)

// Version says which version of HTTP is spoken.
type Version string

// The versions.
const (
	Auto Version = "auto" // what the two sides agree on under TLS, HTTP/1.1 without it
	On   Version = "on"   // HTTP/2, without TLS too
	Off  Version = "off"  // HTTP/1.1
)

// Config is a real thing to call.
type Config struct {
	// What it speaks: http (one answer) or openai (a chat completion as a stream of tokens).
	Kind Kind `yaml:"kind"`
	// Where it is: http://127.0.0.1:8080/path. An openai target without a path is called at /v1/chat/completions.
	URL string `yaml:"url"`
	// The method of a request. Without it GET, or POST when there is a body.
	Method string `yaml:"method"`
	// Headers of each request.
	Headers []Header `yaml:"headers"`
	// The body of each request. {{.ID}} stands for the request's id, {{.Unique}} for 16 characters that no other request has, {{.Request}} and {{.Attempt}} for the two numbers of its id.
	Body string `yaml:"body"`
	// The statuses of a success: 200, 200-299 or 2xx. Without it 2xx, for an openai target 200.
	ExpectStatus []Status `yaml:"expect_status"`
	// The environment variable that holds the bearer token. The token itself stands in no report and no error.
	TokenEnv string `yaml:"token_env"`
	// For openai: the model that is asked for.
	Model string `yaml:"model"`
	// For openai: what is asked, with the same words in double braces as a body. It begins with {{.Unique}} by default, so that no cache of prompts can answer.
	Prompt string `yaml:"prompt"`
	// For openai: how many tokens an answer has at most.
	MaxTokens int `yaml:"max_tokens"`
	// For openai: a hosted service, which knows no ignore_eos. Without it answers go on to max_tokens.
	Hosted bool `yaml:"hosted"`
	// Whether HTTP/2 is spoken: auto (as agreed under TLS), on (without TLS too) or off.
	HTTP2 Version `yaml:"http2"`
	// How long it may take to connect, TLS included.
	ConnectTimeout time.Duration `yaml:"connect_timeout"`
	// The header of an answer that names the replica behind a front.
	ReplicaHeader string `yaml:"replica_header"`
	// What a call costs.
	Prices Prices `yaml:"prices"`
}

// Header is one header of each request.
type Header struct {
	// The name of the header.
	Name string `yaml:"name"`
	// Its value.
	Value string `yaml:"value"`
	// The environment variable that holds its value, where that is a secret.
	Env string `yaml:"env"`
}

// chatPath is where OpenAI's API and those made like it take chats.
const chatPath = "/v1/chat/completions"

// defaultPrompt asks for much, so that max_tokens decides on the length.
const defaultPrompt = "{{.Unique}} Write a long story about a lighthouse keeper."

// SetDefaults sets what a study may leave out.
func (c *Config) SetDefaults() {
	*c = Config{
		Kind: HTTP, HTTP2: Auto, ConnectTimeout: 5 * time.Second, ReplicaHeader: "X-Brunt-Replica",
		Prompt: defaultPrompt, MaxTokens: 64,
	}
}

// Check reports what is wrong with the settings.
func (c *Config) Check(p check.Problems) {
	check.OneOf(p, "kind", c.Kind, HTTP, OpenAI)
	check.OneOf(p, "http2", c.HTTP2, Auto, On, Off)
	p.Positive("connect_timeout", c.ConnectTimeout)
	c.checkURL(p)
	if c.Method != "" && !isToken(c.Method) {
		p.Add("method", fmt.Sprintf("%q", c.Method), "expected a method such as GET or POST")
	}
	switch method := strings.ToUpper(c.Method); method {
	case "CONNECT":
		p.Add("method", c.Method, "expected a method that has an answer of its own")
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		if c.Method != method {
			p.Add("method", c.Method, "expected capitals: %s", method)
		}
	}
	switch c.Method {
	case "GET", "HEAD":
		if c.Kind == OpenAI {
			p.Add("method", c.Method, "expected POST: a chat is asked for in a body")
		} else if c.Body != "" {
			p.Doubt("method", c.Method, "has a body: many servers ignore it, or refuse the request")
		}
	}
	for i, h := range c.Headers {
		h.check(p.In("headers", fmt.Sprint(i)))
	}
	for i, s := range c.ExpectStatus {
		if _, _, err := s.bounds(); err != nil {
			p.In("expect_status").Add(fmt.Sprint(i), fmt.Sprintf("%q", string(s)), "expected a status such as 200, 200-299 or 2xx")
		}
	}
	checkTemplate(p, "body", c.Body)
	if c.TokenEnv != "" && !isEnvironment(c.TokenEnv) {
		// Not shown: people put the token itself here.
		p.Add("token_env", nil, "expected the name of an environment variable, such as OPENAI_API_KEY, and not the token itself")
	}
	if c.ReplicaHeader != "" && !isToken(c.ReplicaHeader) {
		p.Add("replica_header", fmt.Sprintf("%q", c.ReplicaHeader), "expected the name of a header")
	}
	c.Prices.check(p.In("prices"))
	c.checkChat(p)
}

func (c *Config) checkURL(p check.Problems) {
	if c.URL == "" {
		p.Add("url", nil, "missing: expected where the target is, such as http://127.0.0.1:8080/")
		return
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		// Not shown: it may hold a password.
		p.Add("url", nil, "expected a URL such as http://127.0.0.1:8080/")
	case u.User != nil:
		p.Add("url", u.Redacted(), "has a user: expected token_env, or a header with env, so that no secret stands in the study")
	case u.Scheme != "http" && u.Scheme != "https":
		p.Add("url", c.URL, "expected one that begins with http:// or https://")
	case u.Hostname() == "":
		p.Add("url", c.URL, "has no host: expected one such as http://127.0.0.1:8080/")
	case u.Fragment != "":
		p.Add("url", c.URL, "has a fragment, which is never sent: expected none")
	default:
		if _, err := port(u); err != nil {
			p.Add("url", c.URL, "expected a port from 1 to 65535")
		}
	}
}

func (c *Config) checkChat(p check.Problems) {
	if c.Kind != OpenAI {
		if c.Model != "" {
			p.Add("model", c.Model, "is of an openai target: expected kind: openai")
		}
		if c.Hosted {
			p.Add("hosted", c.Hosted, "is of an openai target: expected kind: openai")
		}
		return
	}
	check.Between(p, "max_tokens", c.MaxTokens, 1, 1_000_000)
	checkTemplate(p, "prompt", c.Prompt)
	if c.Body != "" {
		if c.Model != "" {
			p.Add("model", c.Model, "stands beside a body: expected the one or the other")
		}
		return
	}
	if c.Model == "" {
		p.Add("model", nil, "missing: expected the name of the model, or a whole body")
	}
	if c.Prompt == "" {
		p.Add("prompt", nil, "missing: expected what is asked, or a whole body")
	} else if !varies(c.Prompt) {
		p.Doubt("prompt", nil, "is the same for every request: a cache of prompts may answer; begin it with {{.Unique}}")
	}
}

func (h *Header) check(p check.Problems) {
	switch {
	case !isToken(h.Name):
		p.Add("name", fmt.Sprintf("%q", h.Name), "expected the name of a header")
	case reserved[strings.ToLower(h.Name)] != "":
		p.Add("name", h.Name, "%s", reserved[strings.ToLower(h.Name)])
	}
	if h.Value != "" && h.Env != "" {
		p.Add("env", h.Env, "stands beside a value: expected the one or the other")
	}
	if !isFieldValue(h.Value) {
		p.Add("value", fmt.Sprintf("%q", h.Value), "expected text without control characters, and no space around it")
	}
	if h.Env != "" && !isEnvironment(h.Env) {
		p.Add("env", nil, "expected the name of an environment variable, and not the secret itself")
	}
}

// reserved are headers that belong to the connection, and what to do instead.
var reserved = map[string]string{
	"content-length":    "is set from the body: expected another header",
	"transfer-encoding": "belongs to the connection: expected another header",
	"connection":        "belongs to the connection: expected another header",
	"keep-alive":        "belongs to the connection: expected another header",
	"proxy-connection":  "belongs to the connection: expected another header",
	"upgrade":           "belongs to the connection: expected another header",
	"te":                "belongs to the connection: expected another header",
	"trailer":           "belongs to the connection: expected another header",
	"expect":            "would hold the body back: expected another header",
	"x-request-id":      "is set for each request: expected another header",
	"x-brunt-request":   "is set for each request: expected another header",
}

// isToken reports a token of RFC 9110, section 5.6.2: a method, or the name of
// a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}

// isFieldValue reports what may stand in a header: RFC 9110, section 5.5.
func isFieldValue(s string) bool {
	return strings.Trim(s, " \t") == s && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// isEnvironment reports the name of an environment variable.
func isEnvironment(s string) bool {
	return s != "" && len(s) <= 128 && (s[0] < '0' || s[0] > '9') && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_')
	})
}
