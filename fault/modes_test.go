//go:build linux

package fault

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// controlled is the control of a replica, as far as it is used.
type controlled struct {
	mu    sync.Mutex
	mode  string
	until time.Time
	heard []string
}

func (c *controlled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/health" {
		if c.mode == "reload" && time.Now().Before(c.until) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	if r.Method == http.MethodPost {
		var to struct {
			Mode, For string
			Factor    *float64
		}
		json.NewDecoder(r.Body).Decode(&to)
		d, _ := time.ParseDuration(to.For)
		c.mode, c.until = to.Mode, time.Now().Add(d)
		line := r.URL.Path + " " + to.Mode + " " + to.For
		if to.Factor != nil {
			line += " by a factor"
		}
		c.heard = append(c.heard, line)
	} else if time.Now().After(c.until) {
		c.mode = normalMode
	}
	json.NewEncoder(w).Encode(map[string]any{"mode": c.mode, "ready": true})
}

func TestModes(t *testing.T) {
	tests := []struct {
		config Config
		heard  string
		effect string
	}{
		// health is well: the replica itself is asked
		{Config{Kind: Mode, Mode: "stall", For: 100 * time.Millisecond}, "/mode stall 100ms", "in mode stall"},
		// over before any probe could see it
		{Config{Kind: Mode, Mode: "abort", For: time.Millisecond}, "/mode abort 1ms", "in mode abort"},
		{Config{Kind: Mode, Mode: "slow", Factor: 4, For: 50 * time.Millisecond}, "/mode slow 50ms by a factor", "in mode slow"},
		// health shows it
		{Config{Kind: Mode, Mode: "reload", For: 50 * time.Millisecond}, "/mode reload 50ms", "status 503"},
	}
	g := newGuard(t)
	for _, test := range tests {
		t.Run(test.config.Mode, func(t *testing.T) {
			c := &controlled{mode: normalMode}
			server := httptest.NewServer(c)
			defer server.Close()
			at := netip.MustParseAddrPort(server.Listener.Addr().String())
			f := newFault(t, g, test.config, Victim{Name: "east", Control: at.String(), Addr: at})
			armAndFire(t, f)
			r := waited(t, f)
			if r.Effect < r.Fired || r.Expired != r.Fired+test.config.For || r.Heal < r.Expired || !strings.Contains(r.EffectDetail, test.effect) {
				t.Errorf("the record: %+v", r)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]string{test.heard, "/mode normal "}, c.heard); diff != "" {
				t.Errorf("the replica heard (-want +got):\n%s", diff)
			}
		})
	}
}

// What is gone is in no mode, so its undo is done.
func TestUndoModeOfWhatIsGone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	e := entry{Kind: Mode, Control: server.URL}
	if did, err := e.undo(t.Context(), false); err == nil {
		t.Errorf("a control that refuses: %q", did)
	}
	server.Close()
	if did, err := e.undo(t.Context(), false); err != nil || did != "the replica is gone" {
		t.Errorf("%q, %v", did, err)
	}
}
