package replica

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// completion is an answer, or one chunk of it.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      *words  `json:"message,omitempty"`
	Delta        *words  `json:"delta,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

type words struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// token is the text of the nth token, from 1.
func token(n int) string {
	if n == 1 {
		return "token1"
	}
	return " token" + strconv.Itoa(n)
}

// writer writes one answer.
type writer struct {
	http.ResponseWriter
	id, model string
	created   int64
	prompt    int
	usage     bool // a usage chunk ends the stream
	most      int  // the client's limit; 0 for none
	written   int  // tokens
}

const assistant = "assistant"

// reason says why an answer of so many tokens ends: at the client's limit
// nobody can tell that it would have ended anyway.
func (w *writer) reason(tokens int) *string {
	reason := "stop"
	if tokens == w.most {
		reason = "length"
	}
	return &reason
}

// whole writes an answer in one piece.
func (w *writer) whole(tokens int) {
	var text strings.Builder
	for n := range tokens {
		text.WriteString(token(n + 1))
	}
	writeJSON(w.ResponseWriter, http.StatusOK, completion{
		ID: w.id, Object: "chat.completion", Created: w.created, Model: w.model,
		Choices: []choice{{Message: &words{assistant, text.String()}, FinishReason: w.reason(tokens)}},
		Usage:   &usage{w.prompt, tokens, w.prompt + tokens},
	})
}

// tokens writes the tokens of a stream up to so many, each as an event.
func (w *writer) tokens(upTo int) error {
	for ; w.written < upTo; w.written++ {
		said := words{Content: token(w.written + 1)}
		if w.written == 0 {
			said.Role = assistant
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache")
		}
		if err := w.chunk([]choice{{Delta: &said}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// end writes what follows the last token.
func (w *writer) end() error {
	if err := w.chunk([]choice{{Delta: &words{}, FinishReason: w.reason(w.written)}}, nil); err != nil {
		return err
	}
	if w.usage {
		if err := w.chunk([]choice{}, &usage{w.prompt, w.written, w.prompt + w.written}); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte("data: [DONE]\n\n"))
	return err
}

func (w *writer) chunk(choices []choice, u *usage) error {
	text, err := json.Marshal(completion{
		ID: w.id, Object: "chat.completion.chunk", Created: w.created, Model: w.model, Choices: choices, Usage: u,
	})
	if err != nil {
		return fmt.Errorf("write a chunk: %w", err)
	}
	_, err = fmt.Fprintf(w.ResponseWriter, "data: %s\n\n", text)
	return err
}

// apology is an error as OpenAI's API writes one.
type apology struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	} `json:"error"`
}

// writeFault tells a client what is wrong with its request.
func writeFault(w http.ResponseWriter, f *fault) {
	var a apology
	a.Error.Message, a.Error.Type = f.text, "invalid_request_error"
	if f.param != "" {
		a.Error.Param = &f.param
	}
	writeJSON(w, f.status, a)
}

// writeEnding tells a client that it gets no answer.
func writeEnding(w http.ResponseWriter, how ending) {
	status, code, text := http.StatusServiceUnavailable, "", ""
	switch how.kind {
	case overloaded:
		code, text = "overloaded", "no slot is free and the queue is full"
	case loading:
		code, text = "loading", "the model is being loaded"
	case draining:
		code, text = "draining", "the replica is shutting down"
		w.Header().Set("Connection", "close")
	default:
		status, code, text = http.StatusInternalServerError, "failed", "the replica has failed"
	}
	if how.retryAfter > 0 {
		seconds := (how.retryAfter + time.Second - 1) / time.Second // RFC 9110, section 10.2.3: whole seconds
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(how.retryAfter.Milliseconds(), 10)) // as OpenAI's clients read it
	}
	var a apology
	a.Error.Message, a.Error.Type, a.Error.Code = text, "server_error", &code
	writeJSON(w, status, a)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil { // plain values only
		panic(fmt.Sprintf("replica: write %T: %v", v, err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have left: then nobody reads it
}
