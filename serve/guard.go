package serve

import (
	"crypto/subtle"
	"mime"
	"net/http"
	"slices"
)

// guard lets through who was given the address, and nobody else:
//
//   - The host must be this server's own, or another site could have its name
//     lead here and read the answers as its own (DNS rebinding).
//   - The cookie must be this server's. Only the address with the token sets it,
//     scripts cannot read it, and no other site's requests carry it.
//   - A browser must not say that another site is behind the request. Other
//     ports of this machine count as other sites here, although cookies do not
//     tell them apart.
//   - What changes something must name this server as its origin, and be JSON,
//     which no form of another site can send.
//
// No answer allows another site to read it: there is no CORS.
func (s *Server) guard(port string, next http.Handler) http.Handler {
	hosts := []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}
	cookie := "brunt-" + port // a host's cookies are those of all its ports
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header(), ourPolicy)
		if !slices.Contains(hosts, r.Host) {
			s.refuse(w, http.StatusMisdirectedRequest, "Not here", "brunt serves "+hosts[0]+" alone.")
			return
		}
		site := r.Header.Get("Sec-Fetch-Site") // browsers before 2023 do not say
		ownSite := site == "" || site == "none" || site == "same-origin"
		if r.Method == http.MethodGet && r.URL.Path == "/" && same(r.URL.Query().Get("token"), s.token) {
			s.admit(w, cookie, ownSite)
			return
		}
		held, err := r.Cookie(cookie)
		if err != nil || !same(held.Value, s.secret) {
			s.refuse(w, http.StatusForbidden, "Not without the token", "Open the address that brunt serve has printed, with its token.")
			return
		}
		if !ownSite {
			s.refuse(w, http.StatusForbidden, "Not from another site", "Another site has sent you here. Open the address that brunt serve has printed.")
			return
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodPost:
			if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
				s.refuse(w, http.StatusUnsupportedMediaType, "Not like that", "Expected application/json.")
				return
			}
			if r.Header.Get("Origin") != "http://"+r.Host {
				s.refuse(w, http.StatusForbidden, "Not from another site", "The origin of the request is not this page.")
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, s.limits.body)
		default:
			s.refuse(w, http.StatusMethodNotAllowed, "Not like that", "Expected GET, HEAD or POST.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// same compares in a time that tells nothing.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// admit hands out the cookie and leads to the page, so that the token leaves the
// address. A browser that another site has sent here (a terminal in a web page)
// would not send the cookie along with a redirect: a page of our own leads it on.
func (s *Server) admit(w http.ResponseWriter, cookie string, ownSite bool) {
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: s.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	if ownSite {
		w.Header().Set("Location", "/")
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	p := &page{}
	p.open("brunt", `<meta http-equiv="refresh" content="0;url=/">`)
	p.raw("<main><p><a href=\"/\">Go on</a></p></main>\n")
	p.close()
	p.send(w, http.StatusOK)
}

// protect sets what every answer says to the browser, and the policy of the page.
func protect(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Frame-Options", "DENY")
}

// protectReport is protect for a report: one file with a style and a script in it.
// It is somebody's file: it gets an origin of its own, from which it can load
// nothing, send nothing and leave the page for nowhere.
func protectReport(h http.Header) {
	protect(h, "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Del("Cross-Origin-Opener-Policy") // browsers show no sandboxed page that has one
	h.Set("Content-Type", "text/html; charset=utf-8")
}
