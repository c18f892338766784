package target

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// chatRequest is what is asked of an OpenAI-style target: the fields of
// POST /v1/chat/completions that every server made like it knows, and
// ignore_eos of vLLM and SGLang.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	MaxTokens     int           `json:"max_tokens"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	IgnoreEOS     bool          `json:"ignore_eos,omitempty"` // OpenAI's own service refuses what it does not know
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatBody is the template of a request's body.
func chatBody(c *Config) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(chatRequest{
		Model: c.Model, Messages: []chatMessage{{"user", c.Prompt}}, MaxTokens: c.MaxTokens,
		Stream: true, StreamOptions: streamOptions{true}, IgnoreEOS: !c.Hosted,
	})
	if err != nil {
		return "", fmt.Errorf("write the body of a chat: %w", err)
	}
	return string(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// chunk is one event of a stream of chat tokens, as far as it is looked at.
// What providers write in different ways stays raw.
type chunk struct {
	Object  string `json:"object"`
	Message string `json:"message"`
	Choices []struct {
		Delta struct {
			Content          json.RawMessage `json:"content"`
			Refusal          json.RawMessage `json:"refusal"`
			ToolCalls        json.RawMessage `json:"tool_calls"`
			FunctionCall     json.RawMessage `json:"function_call"`
			Reasoning        json.RawMessage `json:"reasoning"`         // OpenRouter, vLLM
			ReasoningContent json.RawMessage `json:"reasoning_content"` // DeepSeek, vLLM
		} `json:"delta"`
		Text         json.RawMessage `json:"text"` // of plain completions
		FinishReason *string         `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     *int64 `json:"prompt_tokens"`
		Completion *int64 `json:"completion_tokens"`
		Details    *struct {
			Cached *int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// read is what one chunk says.
type read struct {
	content, reasoning bool
	finish             string
	done               bool // [DONE]
}

// readChunk reads an event of the stream, and notes in the answer what it says
// about tokens.
func readChunk(ev sseEvent, a *Answer) (read, error) {
	data := bytes.TrimSpace(ev.data)
	if bytes.Equal(data, []byte("[DONE]")) {
		return read{done: true}, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if ev.name == "error" {
			return read{}, broken("the stream holds an error: %s", data)
		}
		return read{}, broken("an event of the stream is no chunk of a chat: %v: %s", err, data)
	}
	switch {
	case !empty(c.Error):
		return read{}, broken("the stream holds an error: %s", errorMessage(c.Error))
	case c.Object == "error": // older vLLM
		return read{}, broken("the stream holds an error: %s", c.Message)
	case ev.name == "error":
		return read{}, broken("the stream holds an error: %s", data)
	}
	var r read
	for i := range c.Choices {
		choice := &c.Choices[i]
		d := &choice.Delta
		r.content = r.content || !empty(d.Content) || !empty(d.Refusal) || !empty(d.ToolCalls) || !empty(d.FunctionCall) || !empty(choice.Text)
		r.reasoning = r.reasoning || !empty(d.Reasoning) || !empty(d.ReasoningContent)
		if choice.FinishReason != nil && *choice.FinishReason != "" {
			r.finish = *choice.FinishReason
		}
	}
	if u := c.Usage; u != nil {
		count(&a.PromptTokens, u.Prompt)
		count(&a.CompletionTokens, u.Completion)
		if u.Details != nil {
			count(&a.CachedTokens, u.Details.Cached)
		}
	}
	return r, nil
}

func count(to *int64, n *int64) {
	if n != nil && *n >= 0 {
		*to = *n
	}
}

// empty reports JSON with nothing in it.
func empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}", "false":
		return true
	}
	return false
}

// errorMessage is the message of an error object, or all of it.
func errorMessage(raw json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Message != "" {
		return e.Message
	}
	return string(raw)
}
