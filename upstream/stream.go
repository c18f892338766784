package upstream

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"brunt/record"
)

// stream is an answer that comes as Server-Sent Events, each a chunk of a chat
// completion as OpenAI's API has them, with one token. The first comes at its own
// time, the last with the end, and the others evenly in between.
type stream struct {
	*exchange
	first, after time.Duration
	tokens       int64
	status       int
	prefix       string // of every chunk
	chunk        []byte // the present one
}

func (x *exchange) newStream(plan *Plan) *stream {
	return &stream{
		exchange: x, first: plan.FirstToken, after: plan.After, tokens: max(plan.Tokens, 1),
		status: allowing(statusOr(plan.Status, wireOr(plan.Wire).Status)),
		prefix: fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":%d,"model":%s,"choices":[`, x.number, now().Unix(), x.c.port.model),
	}
}

// due implements [gradual].
func (s *stream) due(n int64) time.Duration {
	at := s.first
	switch {
	case n >= s.tokens || s.first == record.Never:
		return record.Never
	case s.after == record.Never: // it stops after its first token
		if n > 0 {
			return record.Never
		}
		return at
	case n > 0:
		at += share(s.after-s.first, n, s.tokens-1)
	}
	if at >= s.after {
		return record.Never
	}
	return at
}

// write implements [gradual].
func (s *stream) write(n int64) error {
	s.chunk = append(s.chunk[:0], s.prefix...)
	s.chunk = append(s.chunk, `{"index":0,"delta":{`...)
	if n == 0 {
		h := s.w.Header()
		h["Content-Type"], h["Cache-Control"] = isEvents, isFresh
		s.w.WriteHeader(s.status)
		s.chunk = append(s.chunk, `"role":"assistant","content":"token`...)
	} else {
		s.chunk = append(s.chunk, `"content":" token`...)
	}
	s.chunk = strconv.AppendInt(s.chunk, n+1, 10)
	s.chunk = append(s.chunk, "\"},\"finish_reason\":null}]}\n\n"...)
	return s.send()
}

func (s *stream) send() error {
	if _, err := s.w.Write(s.chunk); err != nil {
		return fmt.Errorf("write a chunk: %w", err)
	}
	return nil
}

// end implements [gradual].
func (s *stream) end(n int64, reply *Reply) {
	switch how, _ := reply.ending(); {
	case how == whole:
		s.rest(n, max(s.tokens, reply.Tokens))
		return
	case how == breaks:
		for ; n < s.tokens && s.write(n) == nil; n++ { // the client may have left
		}
		_ = s.flush()
	case how == resets:
		s.reset()
	case n == 0:
		s.answer(reply)
		return
	}
	s.drop()
}

// rest writes the tokens from the nth on, and what follows the last. Errors have
// no meaning: the client may have left.
func (s *stream) rest(n, tokens int64) {
	s.limit(true)
	for ; n < tokens; n++ {
		if s.write(n) != nil {
			return
		}
	}
	s.chunk = append(s.chunk[:0], s.prefix...)
	s.chunk = append(s.chunk, "{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"...)
	if s.usage {
		s.chunk = append(s.chunk, s.prefix...)
		s.chunk = fmt.Appendf(s.chunk, "],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n", tokens, tokens)
	}
	s.chunk = append(s.chunk, "data: [DONE]\n\n"...)
	_ = s.send()
}

// asksUsage looks for a client that asks for a usage chunk: for the member
// "include_usage": true of a JSON text. Inside of a JSON string its quotes would be
// escaped, so nothing else can look like it.
type asksUsage struct {
	found bool
	at    int // bytes of the member that were seen
}

const includeUsage = `"include_usage":true`

// scan reads the next part of the text.
func (a *asksUsage) scan(p []byte) {
	const name = len(`"include_usage"`)
	if a.at == 0 {
		quote := bytes.IndexByte(p, '"')
		if quote < 0 {
			return
		}
		p = p[quote:]
	}
	for _, c := range p {
		switch {
		case a.found:
			return
		case c == includeUsage[a.at]:
			a.at++
			a.found = a.at == len(includeUsage)
			if a.found {
				return
			}
		case (a.at == name || a.at == name+1) && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
		default:
			a.at = 0
		}
	}
}
