package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// mostBody bounds the body of a request.
const mostBody = 4 << 20

// chat is what a chat completion request asks for, as far as a replica cares.
// The names are those of OpenAI's API reference, Create chat completion.
type chat struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           *int `json:"max_tokens"`
	MaxCompletionTokens *int `json:"max_completion_tokens"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or a list of parts
}

// fault is what is wrong with a request.
type fault struct {
	status int
	param  string // the setting to blame; empty for none
	text   string
}

func (f *fault) Error() string { return f.text }

// parseChat reads the body of a request.
func parseChat(body []byte) (*chat, *fault) {
	var c chat
	if err := json.Unmarshal(body, &c); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return nil, &fault{http.StatusBadRequest, kind.Field, fmt.Sprintf("%s: a %s is not expected here", kind.Field, kind.Value)}
		}
		return nil, &fault{http.StatusBadRequest, "", "the body is not a JSON object: " + err.Error()}
	}
	if len(c.Messages) == 0 {
		return nil, &fault{http.StatusBadRequest, "messages", "messages: missing: expected at least one"}
	}
	for name, n := range map[string]*int{"max_tokens": c.MaxTokens, "max_completion_tokens": c.MaxCompletionTokens} {
		if n != nil && *n < 1 {
			return nil, &fault{http.StatusBadRequest, name, fmt.Sprintf("%s: %d: expected 1 or more", name, *n)}
		}
	}
	return &c, nil
}

// most returns how many tokens the client wants at most; 0 for any number.
func (c *chat) most() int {
	switch {
	case c.MaxCompletionTokens != nil:
		return *c.MaxCompletionTokens
	case c.MaxTokens != nil:
		return *c.MaxTokens
	}
	return 0
}

// prompt is a guess at the tokens of the prompt: four bytes make one.
func (c *chat) prompt() int {
	n := 0
	for _, m := range c.Messages {
		n += len(m.Content)
	}
	return (n + 3) / 4
}

// attemptHeader says which attempt of its request this is, from 0, for
// behaviours that tell the first from later ones.
const attemptHeader = "X-Brunt-Attempt"

// mostAttempts bounds the number of an attempt.
const mostAttempts = 255

func nth(r *http.Request) int32 {
	n, err := strconv.Atoi(r.Header.Get(attemptHeader))
	if err != nil || n < 0 {
		return 0
	}
	return int32(min(n, mostAttempts))
}
