package replica

import (
	"fmt"
	"io"
	"net/http"
)

const (
	modePath  = "/mode"
	statePath = "/state"
)

// mostSwitch bounds the body of a change of mode.
const mostSwitch = 4 << 10

// controls serves whoever breaks the replica. It answers in every mode.
func (s *Server) controls() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(replicaHeader, s.config.Name)
		if r.Header.Get("Origin") != "" { // a page in a browser of this machine
			writeFault(w, &fault{http.StatusForbidden, "", "no page of the web switches modes"})
			return
		}
		switch r.URL.Path {
		case modePath:
			if allow(w, r, http.MethodPost) {
				s.switchMode(w, r)
			}
		case statePath:
			if allow(w, r, http.MethodGet) {
				s.writeState(w, func() {})
			}
		default:
			writeFault(w, &fault{http.StatusNotFound, "", fmt.Sprintf("no %s here: expected %s or %s", r.URL.Path, modePath, statePath)})
		}
	})
}

func (s *Server) switchMode(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostSwitch))
	if err != nil {
		writeFault(w, &fault{http.StatusRequestEntityTooLarge, "", fmt.Sprintf("read the mode: %v", err)})
		return
	}
	to, err := ParseSwitch(body, s.config.LoadFor)
	if err != nil {
		writeFault(w, &fault{http.StatusBadRequest, "", err.Error()})
		return
	}
	s.writeState(w, func() { s.engine.become(to) })
}

// writeState answers with the state after f.
func (s *Server) writeState(w http.ResponseWriter, f func()) {
	var state State
	s.ask(func() {
		f()
		state = s.engine.state(s.config.Name)
	})
	writeJSON(w, http.StatusOK, state)
}
