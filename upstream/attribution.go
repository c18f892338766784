package upstream

import "net/http"

// The headers of a request, as net/http spells them.
const (
	requestID   = "X-Request-Id"
	traceParent = "Traceparent"
)

// longest bounds what tells whose request an attempt belongs to.
const longest = 256

// attribute reads whose request an attempt belongs to.
func attribute(dependency int, h http.Header) Arrival {
	a := Arrival{Dependency: dependency, Request: name(h[RequestHeader])}
	if a.Request == "" {
		a.Request = name(h[requestID])
	}
	if values := h[traceParent]; len(values) == 1 { // of several none can be trusted
		a.Trace = traceID(values[0])
	}
	return a
}

// name returns the first value of a header; "" when it is no name.
func name(values []string) string {
	if len(values) == 0 || len(values[0]) > longest {
		return ""
	}
	for _, c := range []byte(values[0]) {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return values[0]
}

// traceID returns the trace id of a traceparent; "" when it is malformed. As W3C
// Trace Context, section 3.2, has it: version, trace id, parent id and flags in
// lower-case hexadecimal, with dashes between them; version ff is none, and neither
// is an id of zeros. A version that does not exist yet may have more behind the
// flags, after one more dash.
func traceID(s string) string {
	const version, trace, parent, flags = 2, 3 + 32, 3 + 32 + 1 + 16, 3 + 32 + 1 + 16 + 1 + 2
	if len(s) < flags || s[version] != '-' || s[trace] != '-' || s[parent] != '-' {
		return ""
	}
	switch v := s[:version]; {
	case !hex(v) || v == "ff":
		return ""
	case len(s) == flags:
	case v == "00" || s[flags] != '-':
		return ""
	}
	id, caller := s[version+1:trace], s[trace+1:parent]
	if !hex(id) || !hex(caller) || !hex(s[parent+1:flags]) || zero(id) || zero(caller) {
		return ""
	}
	return id
}

func hex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func zero(s string) bool {
	for _, c := range []byte(s) {
		if c != '0' {
			return false
		}
	}
	return true
}
