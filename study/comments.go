package study

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

//go:generate go run ./internal/comments

//go:embed comments.json
var commentsJSON []byte

// comments returns what the Go sources say about settings: see
// internal/comments.
var comments = sync.OnceValue(func() (c struct {
	Docs  map[string]string
	Words map[string][]string
}) {
	if err := json.Unmarshal(commentsJSON, &c); err != nil {
		panic(fmt.Sprintf("study: comments.json: %v", err))
	}
	return c
})

// nameOf is a type's key in the comments.
func nameOf(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// docOf is the comment of a setting.
func docOf(f field) string { return comments().Docs[nameOf(f.owner)+"."+f.goes] }

// wordsOf lists what a named string type may be.
func wordsOf(t reflect.Type) []string {
	return comments().Words[nameOf(t)]
}
