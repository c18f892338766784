package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"brunt/lab"
)

// config is the part of a study's configuration that a report speaks of.
type config struct {
	Load struct {
		Rate          string `json:"rate"`
		Arrivals      string `json:"arrivals"`
		Burst         int64  `json:"burst"`
		Trace         string `json:"trace"`
		MaxInFlight   int64  `json:"max_in_flight"`
		DispatchNoise span   `json:"dispatch_noise"`
		shape
	} `json:"load"`
	Warmup       span    `json:"warmup"`
	Horizon      span    `json:"horizon"`
	Dependencies mapping `json:"dependencies"`
	Services     mapping `json:"services"`
	Callers      int     `json:"callers"`
	Phases       []phase `json:"phases"`
	Compositions mapping `json:"compositions"`
	Recovery     struct {
		Phase       string `json:"phase"`
		CleanWindow span   `json:"clean_window"`
		Detector    struct {
			Entry   string `json:"entry"` // what is left out is pinned
			Exit    string `json:"exit"`
			Window  span   `json:"window"`
			Hold    span   `json:"hold"`
			Timeout span   `json:"timeout"`
		} `json:"detector"`
	} `json:"recovery"`
	SLO struct {
		EndToEnd   span `json:"end_to_end"`
		FirstToken span `json:"first_token"`
	} `json:"slo"`
	Herd struct {
		Bucket span `json:"bucket"`
	} `json:"herd"`
	Tables []string `json:"tables"`
	Notes  []string `json:"notes"`

	replays []lab.Replay // from beside the configuration
}

type phase struct {
	Name string `json:"name"`
	For  span   `json:"for"`
	Load struct {
		Rate  string `json:"rate"`
		To    string `json:"to"`
		Steps int64  `json:"steps"`
		shape
	} `json:"load"`
	Dependencies mapping `json:"dependencies"`
}

// shape is how a load moves.
type shape struct {
	Spike *struct {
		Every span   `json:"every"`
		For   span   `json:"for"`
		Rate  string `json:"rate"`
	} `json:"spike"`
	Sine *struct {
		Amplitude json.RawMessage `json:"amplitude"`
		Period    span            `json:"period"`
	} `json:"sine"`
}

// readConfig reads what a report needs from the study as it was run.
func readConfig(r *lab.Result) (*config, error) {
	c := &config{replays: r.Replays}
	if len(r.Config) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(r.Config, c); err != nil {
		return nil, fmt.Errorf("reading the configuration of study %q: %w", r.Study, err)
	}
	return c, nil
}

// span is a time that the configuration writes as a text such as 5ms.
type span time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *span) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("reading the duration %q: %w", b, err)
	}
	*s = span(d)
	return nil
}

func (s span) String() string { return duration(time.Duration(s)) }

// mapping is a JSON object that keeps the order of its members.
type mapping []member

type member struct {
	Name  string
	Value json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *mapping) UnmarshalJSON(b []byte) error {
	*m = nil
	d := json.NewDecoder(bytes.NewReader(b))
	start, err := d.Token()
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('{') {
		return fmt.Errorf("reading %.40s: not an object", b)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		*m = append(*m, member{name.(string), v})
	}
	return nil
}

// get returns a member's value, or nil.
func (m mapping) get(name string) json.RawMessage {
	for _, x := range m {
		if x.Name == name {
			return x.Value
		}
	}
	return nil
}

// without returns the members but one.
func (m mapping) without(name string) mapping {
	var rest mapping
	for _, x := range m {
		if x.Name != name {
			rest = append(rest, x)
		}
	}
	return rest
}

// object returns a member that is an object; empty when it is not.
func (m mapping) object(name string) mapping { return object(m.get(name)) }

func object(b json.RawMessage) (m mapping) {
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	return m
}

// objects returns a list of objects; empty when it is none.
func objects(b json.RawMessage) (list []mapping) {
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	return list
}

// text returns a member as a text: a string without its quotes, anything else
// as it is written; "" when it is absent.
func (m mapping) text(name string) string { return written(m.get(name)) }

func written(b json.RawMessage) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}

// time returns a member that is a duration, in words; what is not one, as it
// is written.
func (m mapping) time(name string) string { return timeText(m.get(name)) }

func timeText(b json.RawMessage) string {
	s := written(b)
	if d, err := time.ParseDuration(s); err == nil {
		return duration(d)
	}
	return s
}

// is reports whether a member is there and neither false, null nor zero.
func (m mapping) is(name string) bool {
	switch s := strings.TrimSpace(m.text(name)); s {
	case "", "0", "0s", "null", "false":
		return false
	}
	return true
}

// set reports whether a member is there, whatever its value.
func (m mapping) set(name string) bool {
	v := m.get(name)
	return v != nil && string(v) != "null"
}

// float returns a member that is a number; 0 when it is none.
func (m mapping) float(name string) (v float64) {
	if json.Unmarshal(m.get(name), &v) != nil {
		return 0
	}
	return v
}

// behaviour returns how a dependency behaves in a phase: every setting that
// the phase names replaces the study's.
func (c *config) behaviour(p *phase, dependency string) mapping {
	b := append(mapping(nil), p.Dependencies.object(dependency)...)
	for _, m := range c.Dependencies.object(dependency) {
		if b.get(m.Name) == nil {
			b = append(b, m)
		}
	}
	return b
}

// dead reports whether no attempt at a dependency with this behaviour can
// succeed.
func dead(b mapping) bool {
	return b.is("hang") || b.is("refuse") || b.set("fail_after") || b.object("fail").float("ratio") >= 1
}

// outage is a dependency and the phases in which it is dead.
type outage struct {
	Dependency string
	Phases     []string
}

// outages returns the dependencies that are dead in some phase, in the order
// of the study.
func (c *config) outages() (list []outage) {
	for _, d := range c.Dependencies {
		o := outage{Dependency: d.Name}
		for i := range c.Phases {
			if dead(c.behaviour(&c.Phases[i], d.Name)) || c.neverReplayed(d.Name, c.Phases[i].Name) {
				o.Phases = append(o.Phases, c.Phases[i].Name)
			}
		}
		if o.Phases != nil {
			list = append(list, o)
		}
	}
	return list
}

// retrySpread says how the retries of a stack are spread over time.
type retrySpread uint8

const (
	noRetry retrySpread = iota
	withoutJitter
	withJitter
)

// spread returns how the retries of a composition are spread. One retry with
// jitter is enough to spread them.
func (c *config) spread(composition string) retrySpread {
	return spreadOf(objects(c.Compositions.get(composition)))
}

func spreadOf(stack []mapping) (s retrySpread) {
	for _, stage := range stack {
		if stage.get("retry") != nil {
			backoff := stage.object("retry").object("backoff")
			if kind := backoff.text("kind"); kind == "none" || backoff.text("jitter") == "none" {
				s = max(s, withoutJitter)
			} else {
				s = withJitter
			}
		}
		var branches []json.RawMessage
		if json.Unmarshal(stage.object("fallback").get("to"), &branches) == nil {
			for _, b := range branches {
				s = max(s, spreadOf(objects(b)))
			}
		}
	}
	return s
}
