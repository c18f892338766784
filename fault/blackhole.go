package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
)

// blackHole has the kernel lose what goes to the victim's port and comes from
// it, on the loopback device.
type blackHole struct {
	config *Config
	victim *Victim
	owned  bool
	table  *table
	shot   shot // the one message, ready
	// What was lost, once it has ended.
	to, from uint64
}

// CanBlackHole tells whether this process may make a black hole here: it
// returns nil, or why not. It changes nothing.
func CanBlackHole() error {
	_, err := detectHole(netip.MustParseAddrPort("127.0.0.1:1"))
	return err
}

// detectHole has the kernel judge the table, first with an owner.
func detectHole(at netip.AddrPort) (owned bool, err error) {
	name := tablePrefix + "detect"
	if err = tryHole(hole{name, true, at}); err == nil {
		return true, nil
	}
	if lacksOwner(err) {
		err = tryHole(hole{name, false, at})
	}
	if refused(err) {
		err = fmt.Errorf("%w: it takes root, or a network namespace of one's own", err)
	}
	return false, err
}

// isLocal reports whether packets to an address go over the loopback device.
func isLocal(at netip.Addr) bool {
	if at.IsLoopback() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == at.Unmap().WithZone("") {
			return true
		}
	}
	return false
}

func (b *blackHole) detect(_ context.Context, e *entry) (err error) {
	if !isLocal(b.victim.Addr.Addr()) {
		return fmt.Errorf("%v is not of this machine: only what goes over the loopback device is cut off", b.victim.Addr)
	}
	if b.owned, err = detectHole(b.victim.Addr); err != nil {
		return err
	}
	e.OwnedTable, e.Network = b.owned, networkNamespace()
	return nil
}

func (b *blackHole) arm(_ context.Context, e *entry) (err error) {
	if b.table, err = newHole(hole{e.Table, b.owned, b.victim.Addr}); err != nil {
		return err
	}
	b.shot, err = b.table.element(b.victim.Addr.Port(), b.config.For)
	return err
}

func (b *blackHole) fire(context.Context) error { return b.table.open(b.shot) }

func (b *blackHole) undo(context.Context, *entry) error {
	if b.table == nil {
		return nil
	}
	to, from, err := b.table.dropped()
	if err == nil {
		b.to, b.from = to, from
	}
	// Closing ends an owned table too; deleting tells whether it has worked.
	if err := b.table.delete(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = b.table.close()
	b.table = nil
	return err
}

func (b *blackHole) probe(ctx context.Context) sight {
	return askHealth(ctx, b.victim.Addr, b.victim.Health)
}

func (b *blackHole) tell(r *Record) {
	r.How, r.Ends = "nf_tables, packets dropped on loopback", "the kernel: at its time, or with this process"
	if !b.owned {
		r.Ends = "the kernel at its time; the table: this process, else the reaper"
	}
	r.DroppedTo, r.DroppedFrom = b.to, b.from
}

func (b *blackHole) close() error {
	if b.table == nil {
		return nil
	}
	return b.table.close()
}
