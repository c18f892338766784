package fault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
)

// What a table of ours holds.
const (
	holes          = "hole" // the set of ports
	chain          = "in"
	hookPriority   = -10 // before what an administrator filters
	loopbackDevice = "lo"
)

// hole is what a table cuts off.
type hole struct {
	name  string
	owned bool // the kernel deletes it with its socket
	at    netip.AddrPort
}

// build returns the messages that make a table with all but its one element.
func (h hole) build() ([]netlink.Message, error) {
	lo, err := net.InterfaceByName(loopbackDevice)
	if err != nil {
		return nil, fmt.Errorf("find the loopback device: %w", err)
	}
	create := netlink.Create | netlink.Excl | netlink.Acknowledge
	var all []netlink.Message
	var failed error
	add := func(kind uint16, flags netlink.HeaderFlags, of attributes) {
		m, err := message(kind, flags, of)
		failed = errors.Join(failed, err)
		all = append(all, m)
	}
	add(newTable, create, func(a *netlink.AttributeEncoder) {
		a.String(1, h.name)
		if h.owned {
			a.Uint32(2, tableOwner)
		}
	})
	add(newSet, create, func(a *netlink.AttributeEncoder) {
		a.String(1, h.name)
		a.String(2, holes)
		a.Uint32(3, setTimeout)
		a.Uint32(4, typeService)
		a.Uint32(5, 2) // bytes of a port
		a.Uint32(10, 1)
	})
	add(newChain, create, func(a *netlink.AttributeEncoder) {
		a.String(1, h.name)
		a.String(3, chain)
		a.Nested(4, func(a *netlink.AttributeEncoder) error {
			a.ByteOrder = binary.BigEndian
			a.Uint32(1, hookInput)
			a.Int32(2, hookPriority)
			return nil
		})
		a.Uint32(5, 1) // NF_ACCEPT
		a.String(7, "filter")
	})
	for _, d := range []direction{toVictim, fromVictim} {
		add(newRule, netlink.Create|netlink.Append|netlink.Acknowledge, h.rule(d, uint32(lo.Index)))
	}
	return all, failed
}

// direction tells the two rules apart. Both are at the receiving end of the
// loopback device, so that a sender learns of no loss, as on a wire; in the
// output hook its send would fail.
type direction int

const (
	toVictim direction = iota
	fromVictim
)

// rule writes: iif lo, the victim's address, tcp, its port in the set; count
// and drop.
func (h hole) rule(d direction, lo uint32) attributes {
	return func(a *netlink.AttributeEncoder) {
		a.String(1, h.name)
		a.String(2, chain)
		a.Nested(4, func(list *netlink.AttributeEncoder) error {
			e := expressions{list}
			e.meta(metaIn, binary.NativeEndian.AppendUint32(nil, lo))
			e.meta(metaProtocol, []byte{protocolTCP})
			e.address(d, h.at.Addr().Unmap())
			e.add("payload", func(a *netlink.AttributeEncoder) {
				a.Uint32(1, register)
				a.Uint32(2, baseTransport)
				a.Uint32(3, map[direction]uint32{toVictim: 2, fromVictim: 0}[d]) // offset of the port, RFC 9293
				a.Uint32(4, 2)
			})
			e.add("lookup", func(a *netlink.AttributeEncoder) {
				a.String(1, holes)
				a.Uint32(2, register)
				a.Uint32(4, 1) // the set's number in this transaction
			})
			e.add("counter", func(a *netlink.AttributeEncoder) {})
			e.add("immediate", func(a *netlink.AttributeEncoder) {
				a.Uint32(1, verdict)
				nest(a, 2, func(a *netlink.AttributeEncoder) {
					nest(a, 2, func(a *netlink.AttributeEncoder) { a.Uint32(1, 0) }) // NF_DROP
				})
			})
			return nil
		})
	}
}

// table is a connection to nf_tables that owns one table.
type table struct {
	conn *netlink.Conn
	name string
}

// newHole makes the table, with everything but its element: nothing is dropped
// yet.
func newHole(h hole) (*table, error) {
	conn, err := netlink.Dial(netfilterFamily, nil)
	if err != nil {
		return nil, fmt.Errorf("open nf_tables: %w", err)
	}
	messages, err := h.build()
	if err == nil {
		err = transact(conn, true, messages...)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("make table %s of nf_tables: %w", h.name, err)
	}
	return &table{conn, h.name}, nil
}

// tryHole has the kernel judge a table without making it.
func tryHole(h hole) error {
	conn, err := netlink.Dial(netfilterFamily, nil)
	if err != nil {
		return fmt.Errorf("open nf_tables: %w", err)
	}
	defer conn.Close()
	messages, err := h.build()
	if err == nil {
		err = transact(conn, false, messages...)
	}
	if err != nil {
		return fmt.Errorf("try a table of nf_tables: %w", err)
	}
	return nil
}

// shot is the one message that fires.
type shot = netlink.Message

// element makes the message that puts a port into the set for so long.
func (t *table) element(port uint16, lasts time.Duration) (shot, error) {
	return message(newElement, netlink.Create|netlink.Acknowledge, func(a *netlink.AttributeEncoder) {
		a.String(1, t.name)
		a.String(2, holes)
		nest(a, 3, func(a *netlink.AttributeEncoder) {
			nest(a, 1, func(a *netlink.AttributeEncoder) {
				nest(a, 1, func(a *netlink.AttributeEncoder) { a.Bytes(1, binary.BigEndian.AppendUint16(nil, port)) })
				a.Uint64(4, uint64(lasts.Milliseconds()))
			})
		})
	})
}

// open begins to drop.
func (t *table) open(element shot) error {
	if err := transact(t.conn, true, element); err != nil {
		return fmt.Errorf("add to the set of table %s: %w", t.name, err)
	}
	return nil
}

// dropped counts the packets to the victim and from it that were lost.
func (t *table) dropped() (to, from uint64, err error) {
	m, err := message(getRule, netlink.Dump, func(a *netlink.AttributeEncoder) {
		a.String(1, t.name)
		a.String(2, chain)
	})
	if err == nil {
		err = t.conn.SetDeadline(wall().Add(answerWithin))
	}
	if err == nil {
		_, err = t.conn.Send(m)
	}
	var rules []netlink.Message
	if err == nil {
		rules, err = t.conn.Receive()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read the counters of table %s: %w", t.name, err)
	}
	var counts []uint64
	for _, rule := range rules {
		if len(rule.Data) < 4 {
			continue
		}
		count, err := packets(rule.Data[4:])
		if err != nil {
			return 0, 0, fmt.Errorf("read the counters of table %s: %w", t.name, err)
		}
		counts = append(counts, count)
	}
	if len(counts) != 2 {
		return 0, 0, fmt.Errorf("read the counters of table %s: it has %d rules, not 2", t.name, len(counts))
	}
	return counts[toVictim], counts[fromVictim], nil
}

// close ends the connection, and with it a table that it owns.
func (t *table) close() error { return t.conn.Close() }

// delete deletes the table.
func (t *table) delete() error { return deleteBy(t.conn, t.name) }
