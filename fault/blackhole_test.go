//go:build linux

package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

func needHole(t testing.TB) {
	t.Helper()
	if err := CanBlackHole(); err != nil {
		t.Skip("no black hole can be made here:", err)
	}
}

func TestBlackHole(t *testing.T) {
	t.Parallel()
	needHole(t)
	_, v := startVictim(t)
	_, other := startVictim(t)
	f := newFault(t, newGuard(t), Config{Kind: BlackHole, For: 700 * time.Millisecond}, v)
	if err := f.Arm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := askHealth(t.Context(), v.Addr, "/health"); !s.well {
		t.Errorf("armed alone, the victim is not well: %s", s.said)
	}
	inFlight := late(t, v, 100*time.Millisecond) // answered in the hole
	if err := f.Fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := askHealth(t.Context(), other.Addr, "/health"); !s.well {
		t.Errorf("another port is cut off too: %s", s.said)
	}
	r := waited(t, f)
	sane(t, r, 700*time.Millisecond)
	if r.EffectDetail != "no answer within 300ms" || r.HealDetail != "status 200" {
		t.Errorf("the record: %+v", r)
	}
	inFlight.done.Wait()
	if inFlight.err != nil || inFlight.body != "late" || inFlight.took < 700*time.Millisecond {
		t.Errorf("the request in flight had %q, %v after %v: expected its answer by retransmission", inFlight.body, inFlight.err, inFlight.took)
	}
	if err := f.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := f.Record(); r.DroppedTo < 2 || r.DroppedFrom < 1 || !r.Undone || r.Expired != r.Fired+700*time.Millisecond {
		t.Errorf("the record at its end: %+v", r)
	}
	if err := deleteTable(f.entry.Table); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the table: %v", err)
	}
}

// Connections are cut in both families, and at the victim's address alone.
func TestBlackHoleAddresses(t *testing.T) {
	t.Parallel()
	needHole(t)
	serve := func(at string) netip.AddrPort {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Skip("no address:", err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		return netip.MustParseAddrPort(l.Addr().String())
	}
	for _, address := range []string{"127.0.0.1", "::1"} {
		t.Run(address, func(t *testing.T) {
			v := serve(net.JoinHostPort(address, "0"))
			neighbour := serve(fmt.Sprintf("127.0.0.9:%d", v.Port()))
			f := newFault(t, newGuard(t), Config{Kind: BlackHole, For: time.Hour}, Victim{Name: "east", Addr: v})
			armAndFire(t, f)
			if s := askHealth(t.Context(), neighbour, "/"); !s.well {
				t.Errorf("the same port at another address: %s", s.said)
			}
			if s := askHealth(t.Context(), v, "/"); s.well {
				t.Error("the victim is well")
			}
			if err := f.Undo(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := askHealth(t.Context(), v, "/"); !s.well {
				t.Errorf("after the undo: %s", s.said)
			}
		})
	}
}

// Nothing that is not ours is ever deleted, and ours only once its owner is gone.
func TestDeleteTable(t *testing.T) {
	for _, name := range []string{"filter", "brunt_", "brunt"} {
		if err := deleteTable(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	needHole(t)
	h := hole{"brunt_test_delete", true, netip.MustParseAddrPort("127.0.0.1:9")}
	owned, err := newHole(h)
	if err != nil {
		t.Fatal(err)
	}
	e := entry{Kind: BlackHole, Table: h.name, OwnedTable: true, Network: networkNamespace()}
	if _, err := e.undo(t.Context(), true); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("of a run that goes on: %v", err)
	}
	owned.close()
	if did, err := e.undo(t.Context(), false); err != nil || did != "table brunt_test_delete is gone" {
		t.Errorf("of one that is gone: %q, %v", did, err)
	}
	h.owned = false // as a kernel before 5.12 has it
	lasting, err := newHole(h)
	if err != nil {
		t.Fatal(err)
	}
	lasting.close()
	if did, err := e.undo(t.Context(), false); err != nil || did != "table brunt_test_delete deleted" {
		t.Errorf("of one without an owner: %q, %v", did, err)
	}
	e.Network = "net:[1]"
	if _, err := e.undo(t.Context(), false); err != nil {
		t.Errorf("in another namespace: %v", err)
	}
}
