package target

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"brunt/record"
)

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"
	role       = `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}` + "\n\n"
	token      = `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n"
	thought    = `data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}` + "\n\n"
	tool       = `data: {"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"function":{"name":"f"}}]}}]}` + "\n\n"
	stop       = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usage      = `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
	done       = "data: [DONE]\n\n"
)

func TestStreams(t *testing.T) {
	tests := []struct {
		name, say string
		rst       bool
		cause     record.Cause
		contents  int
		finish    string
		detail    string
	}{
		{name: "whole", say: streamHead + role + token + token + stop + usage + done, contents: 2, finish: "stop"},
		{name: "done alone", say: streamHead + token + done, contents: 1},
		{name: "finish alone", say: streamHead + token + stop, contents: 1, finish: "stop"},
		{name: "no blank line at the end", say: streamHead + token + "data: [DONE]", contents: 1},
		{name: "CRLF and comments", say: streamHead + ": hi\r\n\r\n" + strings.ReplaceAll(token+stop+done, "\n", "\r\n"), contents: 1, finish: "stop"},
		{name: "a tool", say: streamHead + role + tool + stop + done, contents: 1, finish: "stop"},
		{name: "thoughts alone", say: streamHead + thought + stop + done, finish: "stop"},
		{name: "no content type", say: "HTTP/1.1 200 OK\r\n\r\n" + token + done, contents: 1},
		{name: "a huge event", say: streamHead + `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 300_000) + "\"}}]}\n\n" + done, contents: 1},
		// it had said that it was complete
		{name: "reset behind the end", say: streamHead + token + stop, rst: true, contents: 1, finish: "stop"},
		{name: "garbage behind the end", say: streamHead + token + stop + "data: garbage\n\n" + done, contents: 1, finish: "stop"},
		{name: "no end", say: streamHead + role + token + token, cause: record.Stream, contents: 2, detail: "without a terminal event"},
		{name: "half an event", say: streamHead + token + token[:30], cause: record.Stream, contents: 1, detail: "no chunk"},
		{name: "reset", say: streamHead + token, rst: true, cause: record.Reset, contents: 1},
		{name: "nothing", say: streamHead, cause: record.Stream, detail: "empty"},
		{name: "nothing with a length", say: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", cause: record.Stream, detail: "empty"},
		{name: "nothing but pings", say: streamHead + ": ping\n\n: ping\n\n", cause: record.Stream, detail: "without content"},
		{name: "nothing but an end", say: streamHead + role + stop + done, cause: record.Stream, finish: "stop", detail: "without content"},
		{name: "garbage", say: streamHead + "data: garbage\n\n", cause: record.Stream, detail: "no chunk of a chat"},
		{name: "a number", say: streamHead + "data: 1\n\n", cause: record.Stream, detail: "no chunk of a chat"},
		{name: "an error", say: streamHead + token + `data: {"error":{"message":"out of\nmemory","type":"x"}}` + "\n\n" + done, cause: record.Stream, contents: 1, detail: "out of memory"},
		{name: "an error in words", say: streamHead + `data: {"error":"boom"}` + "\n\n", cause: record.Stream, detail: "boom"},
		{name: "an error of vLLM", say: streamHead + `data: {"object":"error","message":"boom","code":400}` + "\n\n", cause: record.Stream, detail: "boom"},
		{name: "an error by name", say: streamHead + "event: error\ndata: boom\n\n", cause: record.Stream, detail: "boom"},
		{name: "an error by name in JSON", say: streamHead + "event: error\ndata: {\"x\":\"boom\"}\n\n", cause: record.Stream, detail: "boom"},
		{name: "no stream, cut short", say: "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 200\r\n\r\n<html>", cause: record.Stream, detail: `"text/html" instead of a stream: <html>`},
		{name: "no stream", say: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", cause: record.Stream, detail: `"application/json" instead of a stream: {}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(p *peer) {
				if p.read() {
					p.say(test.say)
					if test.rst {
						p.rst()
					}
				}
			})
			caller := newCaller(t, s.url, openAI)
			r := start(t, caller, 1, record.Never)
			a := r.end()
			if a.Cause != test.cause || a.Contents != test.contents || a.Finish != test.finish || !strings.Contains(a.Detail, test.detail) {
				t.Errorf("cause %v, %d contents, finish %q, detail %q", a.Cause, a.Contents, a.Finish, a.Detail)
			}
			if (a.Terminal != record.Never) != (a.Cause == record.None) || (a.FirstContent != record.Never) != (a.Contents > 0) {
				t.Errorf("%+v", a)
			}
			told := 0
			for _, e := range r.all() {
				if e.What == FirstContent || e.What == Content {
					told++
				}
			}
			if told != test.contents {
				t.Errorf("told of %d pieces of content", told)
			}
			if strings.Contains(test.say, usage) && (a.PromptTokens != 9 || a.CompletionTokens != 2 || a.CachedTokens != 4) {
				t.Errorf("tokens %d, %d, %d", a.PromptTokens, a.CachedTokens, a.CompletionTokens)
			}
		})
	}
}

// A stream's caller has its answer at the terminal event; that the target does
// not end the stream then changes nothing, and holds nobody up for long.
func TestStreamThatStaysOpen(t *testing.T) {
	t.Parallel() // it waits for the tail
	s := serve(t, func(p *peer) {
		if p.read() {
			p.say(streamHead + token + stop)
			_ = p.gone()
		}
	})
	a := one(t, newCaller(t, s.url, openAI))
	if a.Cause != record.None || a.End-a.Terminal < tail || a.End-a.Terminal > 3*tail {
		t.Errorf("%+v", a)
	}
}

// Connections of streams are used again.
func TestStreamConnection(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, role+token+stop+usage+done)
	}))
	defer s.Close()
	caller := newCaller(t, s.URL, openAI)
	for i := range int64(3) {
		if a := start(t, caller, i, record.Never).end(); a.Cause != record.None || a.Reused != (i > 0) {
			t.Errorf("%+v", a)
		}
	}
}

// What an OpenAI-style target is asked.
func TestChatRequest(t *testing.T) {
	for _, hosted := range []bool{false, true} {
		var path string
		var got map[string]any
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type")
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
		}))
		defer s.Close()
		one(t, newCaller(t, s.URL, openAI, func(c *Config, _ *Env) { c.Hosted, c.Prompt = hosted, "{{.Unique}} say \"<hi>\"" }))
		messages, _ := json.Marshal(got["messages"])
		ignore, _ := got["ignore_eos"].(bool)
		if path != "POST /v1/chat/completions application/json" || got["stream"] != true || got["max_tokens"] != 64. || got["model"] != "mock" || ignore == hosted {
			t.Errorf("%s: %v", path, got)
		}
		if want := ` say \"\u003chi\u003e\""`; !strings.Contains(string(messages), want) || strings.Contains(string(messages), "{{") {
			t.Errorf("messages %s", messages)
		}
		if _, there := got["ignore_eos"]; there == hosted {
			t.Errorf("ignore_eos is sent to a hosted service")
		}
	}
}
