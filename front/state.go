package front

import (
	"encoding/json"
	"net/http"
	"time"
)

// State is what GET /state tells at the control listener.
type State struct {
	Draining  bool            `json:"draining"`
	Requests  int64           `json:"requests"` // since the start
	Upstreams []UpstreamState `json:"upstreams"`
	Log       string          `json:"log_error,omitempty"` // why the access log has gaps
}

// UpstreamState is how the front sees one upstream.
type UpstreamState struct {
	Name     string     `json:"name"`
	URL      string     `json:"url"`
	State    string     `json:"state"` // up, down, or unknown before the end of the first check
	Since    *time.Time `json:"since"` // null while unknown
	Reason   string     `json:"reason,omitempty"`
	InFlight int        `json:"in_flight"`
	Routed   int64      `json:"routed"` // since the start
}

// State returns how things stand. Any goroutine may call it.
func (f *Front) State() State {
	s := State{Draining: f.draining.Load(), Requests: f.requests.Load()}
	if err := f.log.fine(); err != nil {
		s.Log = err.Error()
	}
	f.balancer.mu.Lock()
	defer f.balancer.mu.Unlock()
	for _, u := range f.upstreams {
		one := UpstreamState{Name: u.Name, URL: u.URL, State: "unknown", Reason: u.reason, InFlight: u.inFlight, Routed: u.routed}
		if u.known {
			since := u.since
			one.Since, one.State = &since, "down"
			if u.up {
				one.State = "up"
			}
		}
		s.Upstreams = append(s.Upstreams, one)
	}
	return s
}

// fine returns the first error of writing.
func (l *Log) fine() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// control answers at the control listener.
func (f *Front) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(f.State())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n')) // a caller that left is not told
	})
	return mux
}
