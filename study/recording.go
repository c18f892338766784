package study

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/check"
	"brunt/dependency"
	"brunt/record"
)

// recordingHead is the first line of a recording that is no comment. Its number
// goes up when an older brunt would misread the file.
const recordingHead = "brunt-recording 1"

// columnHead is the line before the attempts.
const columnHead = "times after_ns first_token_ns end status tokens cost"

// The words for an attempt that did not fail.
const (
	endCompleted = "completed"
	endCut       = "cut"
)

// nothing stands for what is not known, or was not.
const nothing = "-"

// replayable are the causes that are a target's doing.
var replayable = []record.Cause{record.Failure, record.Timeout, record.Connect, record.Reset, record.Status, record.Stream, record.Overload}

// writeRecording writes a recording as text: the same bytes for the same
// recording.
func writeRecording(rec *dependency.Recording) []byte {
	var b bytes.Buffer
	b.WriteString(`# What a target did in a run of brunt, one attempt a line, or several that do not
# differ: how long it took, and how it ended. cut: its caller gave it up then. It
# can stand in for a dependency: {replay: THIS FILE}.
`)
	b.WriteString(recordingHead + "\n")
	o := rec.Origin
	for _, f := range originFields(&o) {
		fmt.Fprintf(&b, "%s %s\n", f.name, cmp.Or(f.get(), nothing))
	}
	b.WriteString("\n" + columnHead + "\n")
	for _, a := range rec.Attempts() {
		first, end := nothing, endCompleted
		if a.FirstToken != record.Never {
			first = strconv.FormatInt(int64(a.FirstToken), 10)
		}
		switch {
		case a.Cut:
			end = endCut
		case a.Cause != record.None:
			end = a.Cause.String()
		}
		tokens := nothing
		if a.Tokens >= 0 {
			tokens = strconv.FormatInt(a.Tokens, 10)
		}
		fmt.Fprintf(&b, "%d %d %s %s %d %s %s\n", a.Times, int64(a.After), first, end, a.Status, tokens, strconv.FormatFloat(a.Cost, 'g', -1, 64))
	}
	return b.Bytes()
}

// originField is a line about where a recording is from.
type originField struct {
	name string
	get  func() string
	set  func(string) (want string)
}

func originFields(o *dependency.Origin) []originField {
	text := func(name string, to *string, good func(string) bool, want string) originField {
		return originField{name, func() string { return *to }, func(s string) string {
			if s == nothing {
				s = ""
			} else if !good(s) {
				return want
			}
			*to = s
			return ""
		}}
	}
	count := func(name string, to *int64) originField {
		return originField{name, func() string { return strconv.FormatInt(*to, 10) }, func(s string) string {
			n, ok := wholeNumber(s, mostRecorded)
			if !ok {
				return "expected a count"
			}
			*to = n
			return ""
		}}
	}
	few := func(name string, to *int) originField {
		return originField{name, func() string { return strconv.Itoa(*to) }, func(s string) string {
			n, ok := wholeNumber(s, mostRecorded)
			if !ok {
				return "expected a count"
			}
			*to = int(n)
			return ""
		}}
	}
	flag := func(name string, to *bool) originField {
		return originField{name, func() string { return strconv.FormatBool(*to) }, func(s string) string {
			if s != "true" && s != "false" {
				return "expected true or false"
			}
			*to = s == "true"
			return ""
		}}
	}
	isSum := func(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
	isInstant := func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }
	return []originField{
		text("sha256", &o.SHA256, isSum, "expected the SHA-256 of the rows: 64 hexadecimal digits"),
		text("study", &o.Study, isName, "expected a name"),
		text("started", &o.Started, isInstant, "expected an instant as in RFC 3339"),
		text("target", &o.Target, isName, "expected a name"),
		flag("simulated", &o.Simulated),
		flag("invalid", &o.Invalid),
		text("phase", &o.Phase, isName, "expected a name"),
		text("composition", &o.Composition, isName, "expected a name"),
		few("phases", &o.Phases),
		few("compositions", &o.Compositions),
		count("calls", &o.Calls),
		count("completed", &o.Completed),
		count("cut", &o.Cut),
		count("left_out", &o.LeftOut),
		{"cost", func() string { return strconv.FormatFloat(o.Cost, 'g', -1, 64) }, func(s string) string {
			v, ok := recordedCost(s, math.MaxFloat64)
			if !ok {
				return "expected a cost"
			}
			o.Cost = v
			return ""
		}},
	}
}

// mostRecorded bounds the attempts of a recording, so that sums cannot overflow.
const mostRecorded = 1 << 40

// mostCost is the most that one attempt may cost, as in a study.
const mostCost = 1e6

func wholeNumber(s string, most int64) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n <= most
}

func recordedCost(s string, most float64) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && v <= most
}

// recordingParser reads a recording, line by line.
type recordingParser struct {
	refused  bool // the first line is not that of a recording
	begun    bool
	columns  bool // the lines of attempts have begun
	seen     []string
	origin   dependency.Origin
	attempts []dependency.Recorded
	total    int64
}

// line takes a line that is neither empty nor a comment, and returns what was
// expected in its place.
func (p *recordingParser) line(text string) (want string) {
	switch {
	case p.refused:
		return ""
	case !p.begun:
		p.begun, p.refused = true, text != recordingHead
		return ""
	case p.columns:
		return p.attempt(text)
	case text == columnHead:
		p.columns = true
		return ""
	}
	name, value, _ := strings.Cut(text, " ")
	for _, f := range originFields(&p.origin) {
		if f.name == name && !slices.Contains(p.seen, name) {
			p.seen = append(p.seen, name)
			return f.set(strings.TrimSpace(value))
		}
	}
	return "expected where the recording is from, each thing once, or: " + columnHead
}

func (p *recordingParser) attempt(text string) (want string) {
	f := strings.Fields(text)
	if len(f) != 7 {
		return "expected an attempt: " + columnHead
	}
	a := dependency.Recorded{FirstToken: record.Never, Tokens: -1}
	var after, first, status int64
	var ok bool
	if a.Times, ok = wholeNumber(f[0], mostRecorded); !ok || a.Times == 0 {
		return "times: expected a count from 1 on"
	}
	if p.total += a.Times; p.total > mostRecorded {
		return "times: more attempts than a run can make"
	}
	if after, ok = wholeNumber(f[1], int64(check.Longest)); !ok {
		return "after_ns: expected nanoseconds, below ten years"
	}
	a.After = time.Duration(after)
	switch {
	case f[3] == endCompleted:
	case f[3] == endCut:
		a.Cut = true
	default:
		i := slices.IndexFunc(replayable, func(c record.Cause) bool { return c.String() == f[3] })
		if i < 0 {
			return "end: expected completed, cut or a cause such as failure"
		}
		a.Cause = replayable[i]
	}
	if f[2] != nothing {
		if first, ok = wholeNumber(f[2], after); !ok || f[3] != endCompleted {
			return "first_token_ns: expected nanoseconds up to the end of an answer that completed, or -"
		}
		a.FirstToken = time.Duration(first)
	}
	if status, ok = wholeNumber(f[4], 999); !ok {
		return "status: expected one of HTTP's, or 0"
	}
	a.Status = int32(status)
	if f[5] != nothing {
		if a.Tokens, ok = wholeNumber(f[5], mostRecorded); !ok {
			return "tokens: expected a count, or -"
		}
	}
	if a.Cost, ok = recordedCost(f[6], mostCost); !ok {
		return "cost: expected 0 to 1000000"
	}
	p.attempts = append(p.attempts, a)
	return ""
}

// end returns the recording, or what is wrong with it as a whole.
func (p *recordingParser) end() (*dependency.Recording, string) {
	o := p.origin
	switch {
	case len(p.attempts) == 0:
		return nil, "holds no attempt: there is nothing to replay"
	case o.Target == "" || o.Study == "":
		return nil, "does not say which study and target it is of"
	case o.Calls < p.total+o.LeftOut || o.Completed+o.Cut+o.LeftOut > o.Calls:
		return nil, fmt.Sprintf("holds more attempts than the %d calls that it tells of", o.Calls)
	}
	return dependency.NewRecording(o, p.attempts), ""
}
