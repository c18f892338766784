package fault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
)

// The words of nf_tables, from the kernel's own headers:
// include/uapi/linux/netfilter/nf_tables.h and nfnetlink.h (Linux 6.1).
const (
	netfilterFamily = 12 // NETLINK_NETFILTER
	nftSubsystem    = 10 // NFNL_SUBSYS_NFTABLES
	batchBegin      = 0x10
	batchEnd        = 0x11
	familyInet      = 1 // NFPROTO_INET: IPv4 and IPv6
	familyIPv4      = 2
	familyIPv6      = 10

	newTable   = 0
	delTable   = 2
	newChain   = 3
	newRule    = 6
	getRule    = 7
	newSet     = 9
	newElement = 12

	tableOwner  = 0x2  // NFT_TABLE_F_OWNER: gone with the socket
	setTimeout  = 0x10 // NFT_SET_TIMEOUT: elements end by themselves
	hookInput   = 1    // NF_INET_LOCAL_IN
	typeService = 13   // inet_service, as the nft program shows it

	register      = 8 // NFT_REG32_00: four bytes
	registerWide  = 1 // NFT_REG_1: sixteen bytes
	verdict       = 0 // NFT_REG_VERDICT
	metaIn        = 4 // NFT_META_IIF
	metaFamily    = 15
	metaProtocol  = 16
	baseNetwork   = 1
	baseTransport = 2
	protocolTCP   = 6
	answerWithin  = 5 * time.Second
)

// attributes writes the attributes of one message, in network byte order.
type attributes func(a *netlink.AttributeEncoder)

// message makes one message of nf_tables: struct nfgenmsg and attributes.
func message(kind uint16, flags netlink.HeaderFlags, of attributes) (netlink.Message, error) {
	a := netlink.NewAttributeEncoder()
	a.ByteOrder = binary.BigEndian
	of(a)
	body, err := a.Encode()
	if err != nil {
		return netlink.Message{}, err
	}
	return netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(nftSubsystem<<8 | kind), Flags: netlink.Request | flags},
		Data:   append([]byte{familyInet, 0, 0, 0}, body...),
	}, nil
}

// bracket is what begins or ends a transaction. One that is not ended is
// judged and thrown away: nfnetlink_rcv_batch in net/netfilter/nfnetlink.c.
func bracket(kind uint16) netlink.Message {
	return netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(kind), Flags: netlink.Request},
		Data:   []byte{0, 0, 0, nftSubsystem},
	}
}

// transact sends a transaction in one datagram, and reads what the kernel says
// to each of its messages, which must ask for that. After an error of several
// messages the connection is of no more use.
func transact(conn *netlink.Conn, commit bool, messages ...netlink.Message) error {
	batch := append([]netlink.Message{bracket(batchBegin)}, messages...)
	if commit {
		batch = append(batch, bracket(batchEnd))
	}
	if err := conn.SetDeadline(wall().Add(answerWithin)); err != nil {
		return err
	}
	if _, err := conn.SendMessages(batch); err != nil {
		return err
	}
	for range messages {
		// A refusal of the whole is said once, so nothing is awaited behind an error.
		if _, err := conn.Receive(); err != nil {
			return err
		}
	}
	return nil
}

func nest(a *netlink.AttributeEncoder, kind uint16, of attributes) {
	a.Nested(kind, func(a *netlink.AttributeEncoder) error {
		a.ByteOrder = binary.BigEndian
		of(a)
		return nil
	})
}

// expressions is the list of a rule.
type expressions struct{ list *netlink.AttributeEncoder }

func (e expressions) add(name string, of attributes) {
	nest(e.list, 1, func(a *netlink.AttributeEncoder) {
		a.String(1, name)
		nest(a, 2, of)
	})
}

// equals goes on only when a register holds the value.
func (e expressions) equals(in uint32, value []byte) {
	e.add("cmp", func(a *netlink.AttributeEncoder) {
		a.Uint32(1, in)
		a.Uint32(2, 0) // NFT_CMP_EQ
		nest(a, 3, func(a *netlink.AttributeEncoder) { a.Bytes(1, value) })
	})
}

func (e expressions) meta(key uint32, value []byte) {
	e.add("meta", func(a *netlink.AttributeEncoder) {
		a.Uint32(1, register)
		a.Uint32(2, key)
	})
	e.equals(register, value)
}

// address asks for the victim's address, at its place in the header: RFC 791
// and RFC 8200.
func (e expressions) address(d direction, at netip.Addr) {
	family, source, length := byte(familyIPv4), uint32(12), uint32(4)
	if at.Is6() {
		family, source, length = familyIPv6, 8, 16
	}
	offset := source
	if d == toVictim {
		offset += length
	}
	e.meta(metaFamily, []byte{family})
	e.add("payload", func(a *netlink.AttributeEncoder) {
		a.Uint32(1, registerWide)
		a.Uint32(2, baseNetwork)
		a.Uint32(3, offset)
		a.Uint32(4, length)
	})
	e.equals(registerWide, at.AsSlice())
}

// packets finds the counter of a rule.
func packets(rule []byte) (n uint64, err error) {
	found := false
	inside := func(d *netlink.AttributeDecoder, kind uint16, see func(*netlink.AttributeDecoder) error) {
		if d.Type() == kind {
			d.Nested(func(d *netlink.AttributeDecoder) error {
				d.ByteOrder = binary.BigEndian
				for d.Next() {
					if err := see(d); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	d, err := netlink.NewAttributeDecoder(rule)
	if err != nil {
		return 0, err
	}
	for d.Next() {
		inside(d, 4, func(list *netlink.AttributeDecoder) error {
			name := ""
			inside(list, 1, func(e *netlink.AttributeDecoder) error {
				if e.Type() == 1 {
					name = e.String()
				}
				if name == "counter" {
					inside(e, 2, func(c *netlink.AttributeDecoder) error {
						if c.Type() == 2 {
							n, found = c.Uint64(), true
						}
						return nil
					})
				}
				return nil
			})
			return nil
		})
	}
	if err := d.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, errors.New("a rule has no counter")
	}
	return n, nil
}

// deleteTable deletes a table of ours by its name. The error is
// [fs.ErrNotExist] when there is none, and [fs.ErrPermission] when another
// socket owns it.
func deleteTable(name string) error {
	conn, err := netlink.Dial(netfilterFamily, nil)
	if err != nil {
		return fmt.Errorf("open nf_tables: %w", err)
	}
	defer conn.Close()
	return deleteBy(conn, name)
}

func deleteBy(conn *netlink.Conn, name string) error {
	if !oursByName(name) {
		return fmt.Errorf("delete table %q: it is none of brunt's", name)
	}
	m, err := message(delTable, netlink.Acknowledge, func(a *netlink.AttributeEncoder) { a.String(1, name) })
	if err == nil {
		err = transact(conn, true, m)
	}
	if err != nil {
		return fmt.Errorf("delete table %s: %w", name, err)
	}
	return nil
}

// lacksOwner tells a kernel before 5.12, which knows no owner of a table.
func lacksOwner(err error) bool {
	return errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL)
}

// refused reports that this process may not do it.
func refused(err error) bool { return errors.Is(err, fs.ErrPermission) }
