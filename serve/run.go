package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
)

// order is what the page asks to run.
type order struct {
	Study string `json:"study"`
	Sets  []set  `json:"sets"`
}

// set is a setting and what it is to be.
type set struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// answer is what became of an order.
type answer struct {
	ID      string     `json:"id,omitempty"`      // of the trial, whose report can be had
	Command string     `json:"command,omitempty"` // that does the same
	Error   string     `json:"error,omitempty"`   // why there is no trial
	Valid   bool       `json:"valid"`
	Millis  float64    `json:"millis,omitempty"` // by the wall clock
	Heads   []string   `json:"heads,omitempty"`
	Rows    [][]string `json:"rows,omitempty"` // of each composition: its name, and its headline numbers
	Notes   []string   `json:"notes,omitempty"`
	Run     string     `json:"run,omitempty"` // that it was kept as
	status  int        // of the response
}

func (a answer) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if a.status == 0 {
		a.status = http.StatusOK
	}
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a) // nobody is there any more
}

func failed(status int, err error) answer { return answer{Error: plain(err.Error()), status: status} }

// readOrder reads one JSON value, and nothing else. The answer has a status when
// there is no such value.
func readOrder(r *http.Request, into any) answer {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, after := d.Token(); after == nil {
			err = errors.New("expected one value")
		} else if after != io.EOF {
			err = after
		}
	}
	switch {
	case err == nil:
		return answer{}
	case errors.As(err, new(*http.MaxBytesError)):
		return failed(http.StatusRequestEntityTooLarge, fmt.Errorf("read the request: %w", err))
	}
	return failed(http.StatusBadRequest, fmt.Errorf("read the request: %w", err))
}

// run runs a study with the values that the client has chosen.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	var o order
	if bad := readOrder(r, &o); bad.status != 0 {
		bad.send(w)
		return
	}
	s.carryOut(r.Context(), o).send(w)
}

func (s *Server) carryOut(ctx context.Context, o order) answer {
	f, err := s.source(o.Study)
	if errors.Is(err, errNoStudy) {
		return failed(http.StatusNotFound, err)
	} else if err != nil {
		return failed(http.StatusUnprocessableEntity, err)
	}
	base, err := f.read(nil)
	if err != nil {
		return failed(http.StatusUnprocessableEntity, err)
	}
	knobs, err := knobsOf(f, base)
	if err != nil {
		return failed(http.StatusUnprocessableEntity, err)
	}
	sets, err := chosen(knobs, o.Sets)
	if err != nil {
		return failed(http.StatusUnprocessableEntity, err)
	}
	command := []string{"brunt", "run", f.argument}
	for _, one := range sets {
		command = append(command, "--set", one)
	}
	a := s.tryOut(ctx, f, base, sets, command)
	a.Command = report.CommandLine(command)
	return a
}

func (s *Server) tryOut(ctx context.Context, f source, st *study.Study, sets, command []string) answer {
	var err error
	if len(sets) > 0 {
		st, err = f.read(sets)
	}
	if err == nil {
		err = s.limits.affordable(st)
	}
	if err != nil {
		return failed(http.StatusUnprocessableEntity, err)
	}
	one, result, env, err := s.perform(ctx, st, command)
	switch {
	case errors.Is(err, errBusy):
		return failed(http.StatusServiceUnavailable, err)
	case errors.Is(err, errSlow):
		return failed(http.StatusGatewayTimeout, fmt.Errorf("it was given up after %v: brunt run takes as long as it takes", s.limits.trial))
	case err != nil:
		return failed(http.StatusInternalServerError, err)
	}
	a := answer{ID: one.id, Valid: result.Valid, Millis: env.WallMillis}
	a.table(result)
	for _, doubt := range st.Warnings() {
		a.Notes = append(a.Notes, plain(doubt.Error()))
	}
	return a
}

// chosen turns what a client has chosen into settings, in the order of the
// knobs. What is as it was is left out.
func chosen(knobs []*knob, list []set) (sets []string, err error) {
	values := map[string]string{}
	for _, one := range list {
		if _, twice := values[one.Path]; twice {
			return nil, fmt.Errorf("%s is set twice", clip(one.Path))
		}
		values[one.Path] = one.Value
	}
	for _, k := range knobs {
		v, ok := values[k.path]
		if !ok {
			continue
		}
		delete(values, k.path)
		if v == k.now {
			continue
		}
		if err := k.check(v, k.texts); err != nil {
			return nil, fmt.Errorf("%s: %w", k.path, err)
		}
		sets = append(sets, k.path+"="+v)
	}
	for path := range values {
		return nil, fmt.Errorf("%q is nothing that can be turned here", clip(path))
	}
	return sets, nil
}

// table is the headline numbers of each composition.
func (a *answer) table(r *lab.Result) {
	a.Heads = []string{"stack"}
	for _, h := range headlines {
		a.Heads = append(a.Heads, h.title)
	}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		row := []string{plain(comp.Name)}
		for _, h := range headlines {
			n, err := lab.Find(comp, nil, h.name)
			if err != nil {
				n = lab.Number{Refusal: err.Error()}
			}
			row = append(row, h.show(n))
		}
		a.Rows = append(a.Rows, row)
	}
	a.Notes = append(a.Notes, r.Findings...)
	for i := range a.Notes {
		a.Notes[i] = plain(a.Notes[i])
	}
}

// trial answers with the report of a trial. In the frame of the page, which asks
// for that, it keeps its reader's place from one run to the next; by itself it is
// what brunt run writes, byte for byte.
func (s *Server) trial(w http.ResponseWriter, r *http.Request) {
	one := s.trials.find(r.URL.Query().Get("id"))
	if one == nil {
		s.nothing(w)
		return
	}
	page := one.page
	if r.URL.Query().Has("frame") {
		page = keepPlace(page)
	}
	sendReport(w, page)
}
