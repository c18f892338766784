package target

import (
	"fmt"
	"strconv"
	"strings"
)

// Status is a status, or a range of them: 200, 200-299 or 2xx.
type Status string

// bounds returns the first and the last status of the range.
func (s Status) bounds() (from, to int, err error) {
	text := string(s)
	bad := fmt.Errorf("%q is not a status: expected 200, 200-299 or 2xx", text)
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok {
		n, err := strconv.Atoi(class)
		if err != nil || n < 2 || n > 5 || len(class) != 1 {
			return 0, 0, bad
		}
		return n * 100, n*100 + 99, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	if from, err = status(first); err == nil {
		to, err = status(last)
	}
	if err != nil || from > to {
		return 0, 0, bad
	}
	return from, to, nil
}

// status reads the status of a final answer. Those below 200 are interim, and
// end nothing.
func status(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (len(s) != 3 || n < 200 || n > 599) {
		err = strconv.ErrRange
	}
	return n, err
}

// statuses are those of a success.
type statuses [600]bool

func expected(c *Config) (set *statuses, err error) {
	list := c.ExpectStatus
	switch {
	case len(list) > 0:
	case c.Kind == OpenAI:
		list = []Status{"200"}
	default:
		list = []Status{"2xx"}
	}
	set = new(statuses)
	for _, s := range list {
		from, to, err := s.bounds()
		if err != nil {
			return nil, err
		}
		for n := from; n <= to; n++ {
			set[n] = true
		}
	}
	return set, nil
}

func (s *statuses) has(status int) bool { return status >= 0 && status < len(s) && s[status] }
