package upstream

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// parseAnswer reads an answer. One that breaks off has a body, and an error.
func parseAnswer(text string) (*http.Response, string, error) {
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// chunks is what a stream said.
type chunks struct {
	Role   string
	Tokens int
	Reason string
	Usage  int
	Done   bool
}

// readChunks reads a stream as a client of OpenAI's API does.
func readChunks(t *testing.T, body string) (c chunks) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok || c.Done {
			t.Errorf("event %q", event)
			continue
		}
		if data == "[DONE]" {
			c.Done = true
			continue
		}
		var chunk struct {
			ID, Object, Model string
			Created           int64
			Choices           []struct {
				Delta  struct{ Role, Content string }
				Reason *string `json:"finish_reason"`
			}
			Usage *struct {
				Tokens int `json:"completion_tokens"`
				Total  int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Errorf("event %q: %v", event, err)
			continue
		}
		if chunk.ID == "" || chunk.Object != "chat.completion.chunk" || chunk.Model != "primary" || chunk.Created == 0 {
			t.Errorf("chunk %q", data)
		}
		if chunk.Usage != nil {
			c.Usage = chunk.Usage.Tokens
		}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != "" {
				c.Tokens++
			}
			if choice.Delta.Role != "" {
				c.Role += choice.Delta.Role
			}
			if choice.Reason != nil {
				c.Reason = *choice.Reason
			}
		}
	}
	return c
}
