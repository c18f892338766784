package serve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Who is let in, by one thing at a time that is not as it should be.
func TestGuard(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir())
	port := h.base[strings.LastIndexByte(h.base, ':')+1:]
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(name)
			if value != "" {
				r.Header.Set(name, value)
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	hosts := func(name string) func(*http.Request) { // and the page is from there
		return func(r *http.Request) { r.Host = name; r.Header.Set("Origin", "http://"+name) }
	}
	const order = `{"study": "none", "sets": []}`
	for _, c := range []struct {
		name, method, path, body string
		change                   func(*http.Request)
		status                   int
	}{
		{"as it should be", "GET", "/", "", func(*http.Request) {}, 200},
		{"the head alone", "HEAD", "/", "", func(*http.Request) {}, 200},
		{"an older browser does not say where from", "GET", "/", "", header("Sec-Fetch-Site", ""), 200},
		{"an address that was typed", "GET", "/", "", header("Sec-Fetch-Site", "none"), 200},
		{"its other names", "GET", "/", "", host("localhost:" + port), 200},
		{"and the third", "GET", "/", "", host("[::1]:" + port), 200},

		// a name of another site leads here
		{"another host", "GET", "/", "", host("evil.example:" + port), 421},
		{"another port", "GET", "/", "", host("127.0.0.1:1"), 421},
		{"no port", "GET", "/", "", host("127.0.0.1"), 421},
		{"another address of this machine", "GET", "/", "", host("127.0.0.2:" + port), 421},
		{"a host that begins well", "GET", "/", "", host("localhost:" + port + ".evil.example"), 421},
		{"another host, with the token", "GET", "/?token=" + h.token, "", host("evil.example:" + port), 421},
		{"another host posts", "POST", "/run", order, hosts("evil.example:" + port), 421},

		// no cookie
		{"no cookie", "GET", "/", "", header("Cookie", ""), 403},
		{"a cookie of another start", "GET", "/", "", header("Cookie", "brunt-"+port+"=AAAAAAAAAAAAAAAAAAAAAAAAAA"), 403},
		{"a cookie of another port", "GET", "/", "", header("Cookie", "brunt-1="+h.secret), 403},
		{"an empty cookie", "GET", "/", "", header("Cookie", "brunt-"+port+"="), 403},
		{"the token is no cookie", "GET", "/", "", header("Cookie", "brunt-"+port+"="+h.token), 403},
		{"no cookie posts", "POST", "/run", order, header("Cookie", ""), 403},
		{"the cookie is no token", "GET", "/?token=" + h.secret, "", header("Cookie", ""), 403},
		{"a wrong token", "GET", "/?token=x", "", header("Cookie", ""), 403},
		{"an empty token", "GET", "/?token=", "", header("Cookie", ""), 403},
		{"the token elsewhere", "GET", "/report?token=" + h.token, "", header("Cookie", ""), 403},
		{"the token in a post", "POST", "/run?token=" + h.token, order, header("Cookie", ""), 403},

		// another site
		{"another site", "GET", "/", "", header("Sec-Fetch-Site", "cross-site"), 403},
		{"another port of this machine", "GET", "/", "", header("Sec-Fetch-Site", "same-site"), 403},
		{"another site posts", "POST", "/run", order, header("Sec-Fetch-Site", "cross-site"), 403},
		{"another port posts", "POST", "/run", order, header("Sec-Fetch-Site", "same-site"), 403},

		// what changes something
		{"a post as it should be finds no such study", "POST", "/run", order, func(*http.Request) {}, 404},
		{"under its other name", "POST", "/run", order, hosts("localhost:" + port), 404},
		{"a charset", "POST", "/run", order, header("Content-Type", "application/json; charset=utf-8"), 404},
		{"no origin", "POST", "/run", order, header("Origin", ""), 403},
		{"an origin of its own: a sandbox, a file", "POST", "/run", order, header("Origin", "null"), 403},
		{"another origin", "POST", "/run", order, header("Origin", "http://evil.example"), 403},
		{"another scheme", "POST", "/run", order, header("Origin", "https://127.0.0.1:"+port), 403},
		{"its other name as origin", "POST", "/run", order, header("Origin", "http://localhost:"+port), 403},
		{"a form", "POST", "/run", order, header("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"plain text, which a form can send", "POST", "/run", order, header("Content-Type", "text/plain"), 415},
		{"no type", "POST", "/run", order, header("Content-Type", ""), 415},
		{"kept likewise", "POST", "/keep", `{"id": "x"}`, header("Content-Type", "text/plain"), 415},
		{"a form keeps nothing", "POST", "/keep", `{"id": "x"}`, header("Origin", "http://evil.example"), 403},

		// methods
		{"asked what is allowed, as CORS does", "OPTIONS", "/run", "", func(*http.Request) {}, 405},
		{"put", "PUT", "/", "", func(*http.Request) {}, 405},
		{"read what is to be posted", "GET", "/run", "", func(*http.Request) {}, 405},
		{"post what is to be read", "POST", "/", order, func(*http.Request) {}, 405},
	} {
		status, got, text := h.do(c.method, c.path, c.body, c.change)
		if status != c.status {
			t.Errorf("%s: %s %s: status %d, want %d: %s", c.name, c.method, c.path, status, c.status, text)
		}
		for name := range got {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s lets another site read the answer", c.name, name)
			}
		}
		if got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Cache-Control") != "no-store" || got.Get("Content-Security-Policy") == "" ||
			got.Get("Referrer-Policy") != "no-referrer" || got.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: an answer without its protection: %v", c.name, got)
		}
		if got.Get("Set-Cookie") != "" {
			t.Errorf("%s: hands out a cookie", c.name)
		}
	}
}

// Every address is behind the guard, whatever is added.
func TestNothingWithoutCookie(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir())
	for route := range h.routes {
		method, path, _ := strings.Cut(route, " ")
		status, _, _ := h.do(method, path, "{}", func(r *http.Request) { r.Header.Del("Cookie") })
		if status != http.StatusForbidden {
			t.Errorf("%s: status %d", route, status)
		}
	}
}

// The token becomes a cookie that scripts cannot read and other sites do not
// send, and leaves the address.
func TestToken(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir())
	bare := func(site string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Cookie")
			r.Header.Set("Sec-Fetch-Site", site)
		}
	}
	status, header, _ := h.do("GET", "/?token="+h.token, "", bare("none"))
	if status != http.StatusSeeOther || header.Get("Location") != "/" {
		t.Errorf("status %d to %q", status, header.Get("Location"))
	}
	set := header.Get("Set-Cookie")
	contains(t, set, "HttpOnly", "SameSite=Strict", "Path=/", h.secret)
	if strings.Contains(set, h.token) || strings.Contains(strings.ToLower(set), "domain=") {
		t.Errorf("the cookie is %q", set)
	}
	// A terminal in a web page: a redirect would arrive without the cookie.
	status, header, text := h.do("GET", "/?token="+h.token, "", bare("cross-site"))
	if status != http.StatusOK || header.Get("Set-Cookie") == "" {
		t.Errorf("from another site: status %d", status)
	}
	contains(t, text, `<meta http-equiv="refresh" content="0;url=/">`)
	if strings.Contains(text, h.token) {
		t.Error("the page has the token")
	}
	if other := New(Config{}); other.token == h.token || other.secret == h.secret || other.token == other.secret || len(other.token) < 26 || len(other.secret) < 26 {
		t.Errorf("tokens %q and %q, secrets %q and %q", other.token, h.token, other.secret, h.secret)
	}
}

// Only this machine can reach it.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		good    bool
	}{
		{"127.0.0.1:0", true}, {"localhost:0", true}, {"127.0.0.9:0", true},
		{"0.0.0.0:0", false}, {":0", false}, {"[::]:0", false}, {"192.0.2.1:0", false}, {"example.com:0", false},
		{"[::ffff:0.0.0.0]:0", false}, {"0:0", false}, {"LOCALHOST.evil.example:0", false},
	} {
		l, err := Listen(context.Background(), c.address)
		if c.good != (err == nil) || !c.good && !errors.Is(err, ErrNotLoopback) {
			t.Errorf("%s: %v", c.address, err)
		}
		if err == nil {
			if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
				t.Errorf("%s: listens at %v", c.address, ip)
			}
			l.Close()
		}
	}
	if _, err := Listen(context.Background(), "127.0.0.1"); err == nil || errors.Is(err, ErrNotLoopback) {
		t.Errorf("no port: %v", err)
	}
}
