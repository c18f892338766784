package replica

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// The headers of an answer.
const (
	requestHeader = "X-Request-Id"
	replicaHeader = "X-Brunt-Replica"
)

const (
	chatPath   = "/v1/chat/completions"
	healthPath = "/health"
)

// handler serves callers.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(replicaHeader, s.config.Name)
		if id := r.Header.Get(requestHeader); id != "" {
			w.Header().Set(requestHeader, id)
		}
		switch r.URL.Path {
		case chatPath:
			if allow(w, r, http.MethodPost) {
				s.chat(w, r)
			}
		case healthPath:
			if allow(w, r, http.MethodGet, http.MethodHead) {
				s.health(w, r)
			}
		default:
			writeFault(w, &fault{http.StatusNotFound, "", fmt.Sprintf("no %s here: expected %s or %s", r.URL.Path, chatPath, healthPath)})
		}
	})
}

// allow reports whether a method is one of those, and tells the client if not.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	w.Header().Set("Allow", methods[0])
	writeFault(w, &fault{http.StatusMethodNotAllowed, "", fmt.Sprintf("%s %s: expected %s", r.Method, r.URL.Path, methods[0])})
	return false
}

// health says 200 when the replica is ready. One that hangs says nothing.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	var mode Mode
	var ready, stopping bool
	s.ask(func() { mode, ready, stopping = s.engine.mode, s.engine.ready(), s.engine.draining })
	status, text := http.StatusOK, "ok"
	switch {
	case mode == Hang:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case stopping:
		status, text = http.StatusServiceUnavailable, "draining"
	case !ready:
		status, text = http.StatusServiceUnavailable, "loading"
	}
	writeJSON(w, status, map[string]string{"status": text})
}

// chat answers a chat completion request.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		writeFault(w, &fault{http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d bytes", mostBody)})
		return
	case err != nil: // the client has left, or sends nothing
		panic(http.ErrAbortHandler)
	}
	asked, wrong := parseChat(body)
	if wrong != nil {
		writeFault(w, wrong)
		return
	}
	o := newOutlet()
	c := &call{most: asked.most(), nth: nth(r), out: o, sever: sever(r)}
	s.loop.Post(func() { s.engine.arrive(c) })
	defer s.loop.Post(c.leave)
	out := &writer{ResponseWriter: w, model: asked.Model, prompt: asked.prompt(), usage: asked.StreamOptions.IncludeUsage, most: c.most}
	if s.config.Now != nil {
		out.created = s.config.Now().Unix()
	}
	out.id = fmt.Sprintf("chatcmpl-%s-%d", s.config.Name, s.numbers.Add(1))
	answer(out, r, o, asked.Stream)
}

// answer writes what is due as it comes due. What ends without an answer, and
// without an error to tell, ends with the connection.
func answer(w *writer, r *http.Request, o *outlet, stream bool) {
	flush := http.NewResponseController(w.ResponseWriter)
	for {
		select {
		case <-o.wake:
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
		tokens, how := o.read()
		switch how.kind {
		case open, completed:
		case aborted:
			panic(http.ErrAbortHandler)
		default:
			writeEnding(w.ResponseWriter, how)
			return
		}
		if !stream {
			if how.kind == completed {
				w.whole(tokens)
				return
			}
			continue
		}
		err := w.tokens(tokens)
		if err == nil && how.kind == completed {
			if err = w.end(); err == nil {
				return // the server flushes
			}
		}
		if err == nil {
			err = flush.Flush()
		}
		if err != nil { // the client has left
			panic(http.ErrAbortHandler)
		}
	}
}
