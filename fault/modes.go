package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// modes has a brunt replica be bad, by its control address.
type modes struct {
	config  *Config
	victim  *Victim
	client  *http.Client
	mu      sync.Mutex
	entered bool // guarded by mu: the replica has said that it is in the mode
}

func newModes(c *Config, v *Victim) *modes {
	return &modes{config: c, victim: v, client: &http.Client{Transport: newTransport()}}
}

func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 4, DisableCompression: true} // and no proxy
}

// replicaMode is what the control of a brunt replica takes, and of what it
// answers, what is looked at.
type replicaMode struct {
	Mode   string   `json:"mode"`
	For    string   `json:"for,omitempty"`
	Factor *float64 `json:"factor,omitempty"`
}

const normalMode = "normal"

func (m *modes) detect(ctx context.Context, e *entry) error {
	e.Control = m.victim.Control
	if m.victim.PID > 0 {
		p, err := Identify(m.victim.PID)
		if err != nil {
			return err
		}
		e.Process = p
	}
	now, err := control(ctx, m.client, m.victim.Control, nil) // and the connection is warm
	if err == nil && now.Mode != normalMode {
		err = fmt.Errorf("the replica is in mode %s already", now.Mode)
	}
	return err
}

func (m *modes) arm(context.Context, *entry) error { return nil }

// fire also sees the effect: the replica answers when it is in the mode.
func (m *modes) fire(ctx context.Context) error {
	to := replicaMode{Mode: m.config.Mode, For: m.config.For.String()}
	if m.config.Mode == "slow" {
		to.Factor = &m.config.Factor
	}
	now, err := control(ctx, m.client, m.victim.Control, &to)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entered = now.Mode == m.config.Mode
	return nil
}

func (m *modes) undo(ctx context.Context, e *entry) error {
	_, err := e.undo(ctx, false)
	return err
}

// probe looks at the victim's health where the mode shows there, and else asks
// the replica itself in which mode it is: one that stalls says that it is well.
func (m *modes) probe(ctx context.Context) sight {
	m.mu.Lock()
	entered := m.entered
	m.entered = false // the first probe of a fired fault finds it, however short the mode
	m.mu.Unlock()
	if m.shows() {
		return askHealth(ctx, m.victim.Addr, m.victim.Health)
	}
	if entered {
		return sight{said: "the replica says that it is in mode " + m.config.Mode}
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	now, err := control(ctx, m.client, m.victim.Control, nil)
	if err != nil {
		return sight{said: plainly(err)}
	}
	return sight{well: now.Mode == normalMode, said: "the replica says that it is in mode " + now.Mode}
}

func (m *modes) shows() bool {
	return (m.config.Mode == "hang" || m.config.Mode == "reload") && m.victim.Addr.IsValid()
}

func (m *modes) tell(r *Record) {
	r.How, r.Ends = "mode "+m.config.Mode+" of a brunt replica", "the replica"
}

func (m *modes) close() error {
	m.client.CloseIdleConnections()
	return nil
}

// control asks a replica for its mode, or switches it.
func control(ctx context.Context, client *http.Client, base string, to *replicaMode) (now replicaMode, err error) {
	method, path := http.MethodGet, "/state"
	var body io.Reader
	if to != nil {
		text, err := json.Marshal(to)
		if err != nil {
			return now, fmt.Errorf("switch the replica's mode: %w", err)
		}
		method, path, body = http.MethodPost, "/mode", bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+path, body)
	if err != nil {
		return now, fmt.Errorf("ask the replica's control: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return now, fmt.Errorf("ask the replica's control: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return now, fmt.Errorf("ask the replica's control: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return now, fmt.Errorf("ask the replica's control at %s%s: status %d: %s", base, path, answer.StatusCode, clipped(string(text)))
	}
	if err := json.Unmarshal(text, &now); err != nil {
		return now, fmt.Errorf("ask the replica's control at %s%s: %w", base, path, err)
	}
	return now, nil
}

// undoMode has a replica be well again.
func (e *entry) undoMode(ctx context.Context) (did string, err error) {
	transport := newTransport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * time.Second}
	_, err = control(ctx, client, e.Control, &replicaMode{Mode: normalMode})
	switch {
	case err == nil:
		return "the replica is in mode " + normalMode, nil
	case errors.Is(err, syscall.ECONNREFUSED), e.Process.PID > 0 && !e.Process.Alive():
		return "the replica is gone", nil
	}
	return "", err
}
