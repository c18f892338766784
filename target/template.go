package target

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/check"
)

// ID names a request among all that one run makes.
type ID struct {
	Request int64 // index of the request in the schedule
	Attempt int32 // position among the request's attempts
}

// append writes the id as it is sent: PREFIX-17-0.
func (id ID) append(b []byte, prefix string) []byte {
	if prefix != "" {
		b = append(append(b, prefix...), '-')
	}
	b = strconv.AppendInt(b, id.Request, 10)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(id.Attempt), 10)
}

// uniqueLength is the length of what {{.Unique}} stands for.
const uniqueLength = 16

// words are what may stand in double braces.
var words = []string{"ID", "Unique", "Request", "Attempt"}

// template is a text with words in double braces. It is no text/template: one
// of those takes microseconds, and here it is filled for every request.
type template struct {
	parts []string // literal text, around the words
	words []string // one less
}

// parseTemplate reads a template. Two braces with no dot behind them are
// literal: JSON has them too.
func parseTemplate(text string) (template, error) {
	var t template
	literal := ""
	for {
		before, rest, ok := strings.Cut(text, "{{")
		literal += before
		if !ok {
			t.parts = append(t.parts, literal)
			return t, nil
		}
		inside := strings.TrimLeft(rest, " ")
		if !strings.HasPrefix(inside, ".") {
			literal += "{{"
			text = rest
			continue
		}
		word, after, closed := strings.Cut(inside[1:], "}}")
		word = strings.TrimRight(word, " ")
		if !closed || !slices.Contains(words, word) {
			return template{}, fmt.Errorf("{{.%.20s: expected one of {{.%s}}", word, strings.Join(words, "}}, {{."))
		}
		t.parts, t.words = append(t.parts, literal), append(t.words, word)
		literal, text = "", after
	}
}

// append fills the template in for a request.
func (t *template) append(b []byte, prefix string, id ID) []byte {
	for i, part := range t.parts {
		b = append(b, part...)
		if i == len(t.words) {
			break
		}
		switch t.words[i] {
		case "ID":
			b = id.append(b, prefix)
		case "Unique":
			b = id.unique(b, prefix)
		case "Request":
			b = strconv.AppendInt(b, id.Request, 10)
		case "Attempt":
			b = strconv.AppendInt(b, int64(id.Attempt), 10)
		}
	}
	return b
}

// unique writes a text whose very first characters differ between requests: a
// cache of prompts compares from the start, and ids that count up begin alike.
func (id ID) unique(b []byte, prefix string) []byte {
	var name [96]byte
	sum := sha256.Sum256(id.append(name[:0], prefix))
	return hex.AppendEncode(b, sum[:uniqueLength/2])
}

// varies reports whether a template gives every request another text; one that
// is wrong is reported elsewhere.
func varies(text string) bool {
	t, err := parseTemplate(text)
	return err != nil || slices.ContainsFunc(t.words, func(word string) bool { return word != "Attempt" })
}

func checkTemplate(p check.Problems, field, text string) {
	if _, err := parseTemplate(text); err != nil {
		p.Add(field, nil, "%s", err.Error())
	}
}
