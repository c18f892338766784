package target

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/check"
)

func TestCheck(t *testing.T) {
	chat := func(c *Config) { c.Kind, c.Model = OpenAI, "m" }
	tests := []struct {
		name string
		set  func(c *Config)
		want string // field and part of the text; "" for none
	}{
		{"defaults", func(c *Config) {}, ""},
		{"a chat", chat, ""},
		{"a body in place of a model", func(c *Config) { c.Kind, c.Body = OpenAI, `{"stream": true}` }, ""},
		{"kind", func(c *Config) { c.Kind = "grpc" }, "kind: http, openai"},
		{"http2", func(c *Config) { c.HTTP2 = "yes" }, "http2: auto, on, off"},
		{"no url", func(c *Config) { c.URL = "" }, "url: missing"},
		{"no scheme", func(c *Config) { c.URL = "localhost:80" }, "url: http://"},
		{"no host", func(c *Config) { c.URL = "http:///x" }, "url: no host"},
		{"port", func(c *Config) { c.URL = "http://h:99999/" }, "url: 1 to 65535"},
		{"no port behind a colon", func(c *Config) { c.URL = "http://h:/" }, "url: 1 to 65535"},
		{"fragment", func(c *Config) { c.URL = "http://h/#x" }, "url: fragment"},
		{"method", func(c *Config) { c.Method = "GET /" }, "method: such as"},
		{"small letters", func(c *Config) { c.Method = "get" }, "method: capitals: GET"},
		{"connect", func(c *Config) { c.Method = "CONNECT" }, "method: answer of its own"},
		{"GET with a body", func(c *Config) { c.Method, c.Body = "GET", "x" }, "method: doubt"},
		{"GET of a chat", func(c *Config) { chat(c); c.Method = "GET" }, "method: POST"},
		{"header name", func(c *Config) { c.Headers = []Header{{Name: "a b"}} }, "headers.0.name: the name"},
		{"header injection", func(c *Config) { c.Headers = []Header{{Name: "a", Value: "b\r\nc: d"}} }, "headers.0.value: control"},
		{"header of the connection", func(c *Config) { c.Headers = []Header{{Name: "Transfer-Encoding", Value: "x"}} }, "headers.0.name: connection"},
		{"two values", func(c *Config) { c.Headers = []Header{{Name: "a", Value: "b", Env: "C"}} }, "headers.0.env: one or the other"},
		{"status", func(c *Config) { c.ExpectStatus = []Status{"200", "2x"} }, "expect_status.1: 2xx"},
		{"word", func(c *Config) { c.Body = "{{.Name}}" }, "body: {{.Name"},
		{"a token for a name", func(c *Config) { c.TokenEnv = "sk-1234" }, "token_env: not the token"},
		{"replica header", func(c *Config) { c.ReplicaHeader = "a b" }, "replica_header: name"},
		{"timeout", func(c *Config) { c.ConnectTimeout = 0 }, "connect_timeout: above 0"},
		{"model of none", func(c *Config) { c.Model = "m" }, "model: kind: openai"},
		{"hosted of none", func(c *Config) { c.Hosted = true }, "hosted: kind: openai"},
		{"no model", func(c *Config) { c.Kind = OpenAI }, "model: missing"},
		{"model and body", func(c *Config) { chat(c); c.Body = "{}" }, "model: beside a body"},
		{"no prompt", func(c *Config) { chat(c); c.Prompt = "" }, "prompt: missing"},
		{"a prompt for a cache", func(c *Config) { chat(c); c.Prompt = "hi" }, "prompt: doubt"},
		{"word in a prompt", func(c *Config) { chat(c); c.Prompt = "{{.Unique}} {{.x}}" }, "prompt: {{.x"},
		{"tokens", func(c *Config) { chat(c); c.MaxTokens = 0 }, "max_tokens: 1 to"},
	}
	for _, test := range tests {
		var c Config
		c.SetDefaults()
		c.URL = "http://127.0.0.1:8080/"
		test.set(&c)
		p := check.New()
		c.Check(p)
		if test.want == "" {
			if len(p.All()) > 0 {
				t.Errorf("%s: %v", test.name, p.All())
			}
			continue
		}
		field, text, _ := strings.Cut(test.want, ": ")
		found := len(p.All()) == 1 && p.All()[0].Path == field
		if found && text == "doubt" {
			found = p.All()[0].Doubt
		} else if found {
			found = !p.All()[0].Doubt && strings.Contains(p.All()[0].Error(), text)
		}
		if !found {
			t.Errorf("%s: %v, not %s", test.name, p.All(), test.want)
		}
	}
}

// What may be a secret in the wrong place is not shown.
func TestCheckShowsNoSecret(t *testing.T) {
	const secret = "sk-4242"
	c := Config{TokenEnv: secret, URL: "http://me:" + secret + "@h/", Headers: []Header{{Name: "a", Env: secret}}}
	p := check.New()
	c.Check(p)
	bad := Config{TokenEnv: secret, URL: "http://me:" + secret + "@h:x y/"}
	bad.Check(p)
	if len(p.All()) < 5 {
		t.Fatalf("only %v", p.All())
	}
	for _, problem := range p.All() {
		if strings.Contains(problem.Error(), secret) {
			t.Error(problem)
		}
	}
	if _, err := Resolve(context.Background(), &bad); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

func TestStatus(t *testing.T) {
	for in, want := range map[Status][2]int{
		"200": {200, 200}, "200-299": {200, 299}, "2xx": {200, 299}, "5XX": {500, 599}, "204-204": {204, 204},
		"": {}, "xx": {}, "1xx": {}, "6xx": {}, "22xx": {}, "20": {}, "299-200": {}, "200-": {}, "-200": {}, "+200": {}, "199": {}, "600": {}, "200-600": {}, "0200": {},
	} {
		from, to, err := in.bounds()
		if from != want[0] && err == nil || to != want[1] && err == nil || (err == nil) != (want[0] > 0) {
			t.Errorf("%q: %d to %d, %v", in, from, to, err)
		}
	}
	set, err := expected(&Config{Kind: HTTP, ExpectStatus: []Status{"200", "404-406"}})
	if err != nil || !set.has(200) || set.has(201) || !set.has(405) || set.has(-1) || set.has(999) {
		t.Errorf("%v", err)
	}
}

func TestTemplate(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"{{.ID}}", "run-7-2"},
		{"a{{ .Request }}b{{.Attempt}}c", "a7b2c"},
		// braces of JSON stay
		{`{"a":{"b":{}}}{{ {{x}}`, `{"a":{"b":{}}}{{ {{x}}`},
		{"{{{{.ID}}}}", "{{run-7-2}}"},
	}
	for _, test := range tests {
		tpl, err := parseTemplate(test.in)
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if got := string(tpl.append(nil, "run", ID{7, 2})); got != test.want {
			t.Errorf("%s: %s, not %s", test.in, got, test.want)
		}
	}
	for _, bad := range []string{"{{.}}", "{{.ID", "{{.Id}}", "{{.ID | x}}", "{{.ID.x}}"} {
		if _, err := parseTemplate(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// No two requests have the same unique text, nor one that begins alike for
// long, and it does not upset JSON.
func TestUnique(t *testing.T) {
	var c Config
	c.SetDefaults()
	c.Model = "m"
	text, err := chatBody(&c)
	if err != nil {
		t.Fatal(err)
	}
	tpl, err := parseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]ID{}
	for i := range int64(20_000) {
		for attempt := range int32(2) {
			id := ID{i, attempt}
			u := string(id.unique(nil, "run"))
			if other, twice := seen[u[:12]]; twice {
				t.Fatalf("%v and %v both begin with %s", id, other, u[:12])
			}
			seen[u[:12]] = id
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		id := ID{rapid.Int64Min(0).Draw(r, "request"), rapid.Int32Min(0).Draw(r, "attempt")}
		body := tpl.append(nil, rapid.StringMatching("[a-z0-9-]{0,40}").Draw(r, "prefix"), id)
		if !json.Valid(body) {
			r.Fatalf("%s", body)
		}
	})
}

type fakeResolver map[string][]netip.Addr

func (f fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "fails" {
		return nil, errors.New("no such host")
	}
	return f[host], nil
}

func TestResolve(t *testing.T) {
	r := fakeResolver{
		"here":  {netip.MustParseAddr("::1"), netip.MustParseAddr("127.0.0.2")},
		"mixed": {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.1")},
		"4in6":  {netip.MustParseAddr("::ffff:127.0.0.1")},
		"empty": nil,
	}
	tests := []struct {
		url      string
		want     string
		loopback bool
	}{
		{"http://127.0.0.1:8080/x", "127.0.0.1 (127.0.0.1:8080)", true},
		{"http://[::1]/x", "::1 ([::1]:80)", true},
		{"https://127.1.2.3/x", "127.1.2.3 (127.1.2.3:443)", true},
		{"http://here/", "here ([::1]:80, 127.0.0.2:80)", true},
		{"http://4in6/", "4in6 (127.0.0.1:80)", true},
		// one address elsewhere is enough to hit somebody
		{"http://mixed/", "mixed (127.0.0.1:80, 192.0.2.1:80)", false},
		{"http://0.0.0.0/", "0.0.0.0 (0.0.0.0:80)", false},
		{"http://10.0.0.1/", "10.0.0.1 (10.0.0.1:80)", false},
		{"http://empty/", "", false},
		{"http://fails/", "", false},
		{"http://here:0/", "", false},
	}
	for _, test := range tests {
		at, err := ResolveWith(context.Background(), &Config{URL: test.url}, r)
		if test.want == "" {
			if err == nil || at.Loopback() {
				t.Errorf("%s: %v, no error", test.url, at)
			}
			continue
		}
		if diff := cmp.Diff(test.want, at.String()); err != nil || diff != "" || at.Loopback() != test.loopback {
			t.Errorf("%s: %v, loopback %v, %v", test.url, at, at.Loopback(), err)
		}
	}
}

// When the first address does not answer, the next one is taken, and remembered.
func TestAddressInTurn(t *testing.T) {
	s := serve(t, func(p *peer) {
		for p.read() {
			p.say(hello)
		}
	})
	dead := netip.MustParseAddrPort(strings.TrimSuffix(strings.TrimPrefix(listenNobody(t), "http://"), "/"))
	d := &dialer{at: Address{Host: "x", Addrs: []netip.AddrPort{dead, netip.MustParseAddrPort(s.host)}}}
	for range 2 {
		c, err := d.dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	if d.first.Load() != 1 {
		t.Error("the address that answers is not remembered")
	}
}
