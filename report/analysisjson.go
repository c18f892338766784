package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"brunt/analyze"
	"brunt/measure"
)

// AnalysisJSON writes an analysis with the whole of each curve, point by point,
// so that it needs no more memory for a long one. It is laid out as [JSON] does.
func AnalysisJSON(w io.Writer, a *analyze.Analysis) error {
	j := &jsonStream{w: bufio.NewWriterSize(w, 1<<16)}
	j.open("")
	err := j.stratum(a, a.Whole)
	for _, part := range []struct {
		name string
		list []*analyze.Stratum
	}{{"groups", a.Groups}, {"windows", a.Windows}} {
		j.open(part.name)
		for _, s := range part.list {
			if err == nil {
				j.open(s.Name)
				err = j.stratum(a, s)
				j.close()
			}
		}
		j.close()
	}
	if a.Gray.Statistic != nil {
		j.field("gray", struct {
			Statistic *float64 `json:"statistic"`
			DF        int      `json:"df"`
			P         *float64 `json:"p"`
		}{a.Gray.Statistic, a.Gray.DF, a.Gray.P})
	} else {
		j.field("gray", nil)
		j.field("gray_reason", a.Gray.Reason)
	}
	if a.Horizon > 0 {
		j.field("horizon_ms", measure.Millis(a.Horizon))
	} else {
		j.field("horizon_ms", nil)
	}
	j.field("warnings", append([]string{}, a.Warnings...))
	j.close()
	j.w.WriteByte('\n')
	if err == nil {
		err = j.err
	}
	if err == nil {
		err = j.w.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing the analysis of %s as JSON: %w", a.Name, err)
	}
	return nil
}

// quantileJSON is a quantile and its interval. A bound that is a verdict has no
// time.
type quantileJSON struct {
	Q           float64         `json:"q"`
	Status      measure.Status  `json:"status"`
	Millis      *measure.Millis `json:"ms"`
	Lower       *measure.Millis `json:"lower"`
	Upper       *measure.Millis `json:"upper"`
	LowerStatus *measure.Status `json:"lower_status"`
	UpperStatus *measure.Status `json:"upper_status"`
	Refused     *string         `json:"interval_refused"` // why, in words
	Reason      string          `json:"reason,omitempty"`
}

func (j *jsonStream) stratum(a *analyze.Analysis, s *analyze.Stratum) error {
	j.field("n", s.Scheduled)
	j.field("completed", s.Completed)
	j.field("errored", s.Errored)
	j.field("censored", s.Censored)
	j.field("censored_before_horizon", s.CensoredBeforeHorizon)
	j.field("completed_after_horizon", s.Late)
	j.field("plain_counting", s.Plain)
	if err := j.curve(a, s); err != nil {
		return err
	}
	if s.Scheduled > 0 {
		j.field("final_incidence", s.Final)
		j.field("ceiling", s.Ceiling)
	} else {
		j.field("final_incidence", nil)
		j.field("ceiling", nil)
		j.field("reason", "no request was scheduled")
	}
	quantiles := make([]quantileJSON, 0, len(s.Quantiles))
	for _, q := range s.Quantiles {
		one := quantileJSON{Q: q.Q, Status: q.Status, Millis: q.Millis, Reason: q.Reason}
		if l, u := q.Interval.Lower, q.Interval.Upper; l != nil {
			one.Lower, one.LowerStatus, one.Upper, one.UpperStatus = l.Millis, &l.Status, u.Millis, &u.Status
		} else {
			one.Refused = &q.Interval.Reason
		}
		quantiles = append(quantiles, one)
	}
	j.field("quantiles", quantiles)
	return nil
}

func (j *jsonStream) curve(a *analyze.Analysis, s *analyze.Stratum) error {
	j.name("curve")
	j.w.WriteByte('[')
	line := make([]byte, 0, 256)
	first := true
	err := a.Curve(s, func(p *analyze.Point) error {
		line = line[:0]
		if !first {
			line = append(line, ',')
		}
		first = false
		line = j.newline(line, j.depth+1)
		line = append(line, `{"t_ms": `...)
		line = appendMillis(line, p.Time)
		line = append(line, `, "at_risk": `...)
		line = strconv.AppendInt(line, p.AtRisk, 10)
		line = append(line, `, "completed": `...)
		line = strconv.AppendInt(line, p.Completed, 10)
		line = append(line, `, "errored": `...)
		line = strconv.AppendInt(line, p.Errored, 10)
		line = append(line, `, "incidence": `...)
		line = appendFloat(line, p.Incidence)
		line = append(line, `, "variance": `...)
		line = appendFloat(line, p.Variance)
		line = append(line, `, "lower": `...)
		line = appendFloat(line, p.Band.Low)
		line = append(line, `, "upper": `...)
		line = appendFloat(line, p.Band.High)
		line = append(line, '}')
		_, err := j.w.Write(line)
		return err
	})
	if !first {
		j.w.Write(j.newline(nil, j.depth))
	}
	j.w.WriteByte(']')
	return err
}

// jsonStream writes an object as it goes. The writer keeps its first error.
type jsonStream struct {
	w     *bufio.Writer
	depth int
	some  bool // the innermost object has a member
	err   error
}

func (j *jsonStream) newline(b []byte, depth int) []byte {
	b = append(b, '\n')
	for range depth {
		b = append(b, indent...)
	}
	return b
}

// name begins a member.
func (j *jsonStream) name(name string) {
	if j.some {
		j.w.WriteByte(',')
	}
	j.some = true
	j.w.Write(j.newline(nil, j.depth))
	text, err := encode(name)
	j.keep(err)
	j.w.Write(text)
	j.w.WriteString(": ")
}

// open begins an object: a member, or the outermost when it has no name and
// nothing is open.
func (j *jsonStream) open(name string) {
	if j.depth > 0 {
		j.name(name)
	}
	j.w.WriteByte('{')
	j.depth++
	j.some = false
}

func (j *jsonStream) close() {
	j.depth--
	if j.some {
		j.w.Write(j.newline(nil, j.depth))
	}
	j.w.WriteByte('}')
	j.some = true
}

// field writes a member whose value is small.
func (j *jsonStream) field(name string, v any) {
	j.name(name)
	compact, err := encode(v)
	j.keep(err)
	laid := bytes.TrimRight(indentJSON(compact), "\n")
	j.w.Write(bytes.ReplaceAll(laid, []byte("\n"), j.newline(nil, j.depth)))
}

func (j *jsonStream) keep(err error) {
	if j.err == nil {
		j.err = err
	}
}

// encode writes a value as compact JSON, and names as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// appendFloat writes a number as package json does.
func appendFloat(b []byte, x float64) []byte {
	if a := math.Abs(x); a == 0 || a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(b, x, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, x, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' { // e-09 is e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// appendMillis writes a time as [measure.Millis] does, but without allocating.
func appendMillis(b []byte, t time.Duration) []byte {
	b = strconv.AppendInt(b, int64(t)/1e6, 10)
	if rest := int64(t) % 1e6; rest != 0 {
		point := len(b)
		b = strconv.AppendInt(b, 1e6+rest, 10) // the 1 keeps the zeros in front
		b[point] = '.'
		b = bytes.TrimRight(b, "0")
	}
	return b
}
