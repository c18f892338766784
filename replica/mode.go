package replica

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"brunt/check"
)

// Mode is how a replica is being bad.
type Mode string

// The modes.
const (
	// Normal is as the behaviour says.
	Normal Mode = "normal"
	// Stall has all work stand still. Streams stop in the middle, requests
	// wait, health is well; all goes on when the mode ends.
	Stall Mode = "stall"
	// Error answers every new request with status 500.
	Error Mode = "error"
	// Abort resets the connections of all requests in flight (RST), and of
	// later ones when their first token is due.
	Abort Mode = "abort"
	// Hang is silence. Requests in flight and new ones are never answered,
	// also when the mode has ended, and health says nothing either. Connections
	// stay open.
	Hang Mode = "hang"
	// Slow has the work that begins while it lasts take so many times as long.
	Slow Mode = "slow"
	// Reload is not being ready for a time: health and new requests get 503,
	// streams in flight go on.
	Reload Mode = "reload"
)

var modes = []Mode{Normal, Stall, Error, Abort, Hang, Slow, Reload}

// Switch is a change of mode.
type Switch struct {
	// Mode is the new one. It takes the place of the present one.
	Mode Mode
	// For is after how long it ends by itself; below 0 for never. A mode for
	// no time at all happens and is over: abort resets what is in flight now.
	For time.Duration
	// Factor is how many times as long everything takes in mode slow.
	Factor float64
}

// request is a Switch as JSON.
type request struct {
	Mode    Mode     `json:"mode"`
	For     *string  `json:"for"`
	LoadFor *string  `json:"load_for"`
	Factor  *float64 `json:"factor"`
}

// usualFactor is that of mode slow when nobody says it.
const usualFactor = 10

// ParseSwitch reads a change of mode:
// {"mode": "stall", "for": "2s"}, {"mode": "slow", "factor": 4} or
// {"mode": "reload", "load_for": "3s"}. A reload that says no time lasts
// loadFor.
func ParseSwitch(text []byte, loadFor time.Duration) (Switch, error) {
	var r request
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Switch{}, fmt.Errorf("read the mode: %w", err)
	}
	if d.More() {
		return Switch{}, fmt.Errorf("read the mode: something follows the object")
	}
	problems := check.New()
	s := r.switched(problems, loadFor)
	if all := problems.All(); len(all) > 0 {
		return Switch{}, fmt.Errorf("read the mode: %w", all[0])
	}
	return s, nil
}

func (r *request) switched(p check.Problems, loadFor time.Duration) Switch {
	s := Switch{Mode: r.Mode, For: -1, Factor: 1}
	check.OneOf(p, "mode", r.Mode, modes...)
	given := func(field string, text *string) {
		d, err := time.ParseDuration(*text)
		if err != nil {
			p.Add(field, fmt.Sprintf("%q", *text), "expected a duration such as 500ms")
			return
		}
		p.NotNegative(field, d)
		s.For = d
	}
	if r.Mode == Reload {
		if s.For = loadFor; loadFor == 0 && r.For == nil && r.LoadFor == nil {
			p.Add("load_for", nil, "missing: expected how long the replica is not ready")
		}
	}
	if r.For != nil {
		given("for", r.For)
		if r.Mode == Normal {
			p.Add("for", *r.For, "goes with a mode that ends")
		}
	}
	if r.LoadFor != nil {
		given("load_for", r.LoadFor)
		if r.Mode != Reload || r.For != nil {
			p.Add("load_for", *r.LoadFor, "goes with mode %s, in place of for", Reload)
		}
	}
	if r.Mode == Slow {
		s.Factor = usualFactor
	}
	if r.Factor != nil {
		s.Factor = *r.Factor
		check.Between(p, "factor", s.Factor, 0, 1e6)
		if r.Mode != Slow {
			p.Add("factor", s.Factor, "goes with mode %s", Slow)
		}
	}
	return s
}
