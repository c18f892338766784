package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// port is an address that is listened on.
type port struct {
	Address
	listener net.Listener
	url      string
	model    string // the name, as JSON
}

// loopback stands for a host that is left out: who wants to be reached from
// elsewhere says so.
const loopback = "127.0.0.1"

// listenAll listens on all of the addresses, or on none.
func listenAll(addresses []Address) ([]*port, error) {
	var ports []*port
	var failed []error
	for _, a := range addresses {
		p, err := listen(a)
		if err != nil {
			failed = append(failed, fmt.Errorf("serve dependency %q on %s: %w", a.Name, a.Listen, explain(err, a, ports)))
			continue
		}
		ports = append(ports, p)
	}
	if failed == nil {
		return ports, nil
	}
	for _, p := range ports {
		_ = p.listener.Close() // nobody has connected
	}
	return nil, errors.Join(failed...)
}

// listen listens with plain TCP: multipath TCP, Go's default, has no RST of its
// own.
func listen(a Address) (*port, error) {
	host, number, err := net.SplitHostPort(a.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: expected a host and a port, like 127.0.0.1:9001", err)
	}
	if host == "" {
		host = loopback
	}
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		network = "tcp4" // or 0.0.0.0 would be IPv6's networks too
	}
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(context.Background(), network, net.JoinHostPort(host, number))
	if err != nil {
		return nil, err
	}
	return newPort(a, l), nil
}

func newPort(a Address, l net.Listener) *port {
	model, err := json.Marshal(a.Name)
	if err != nil { // a text
		panic(fmt.Sprintf("upstream: the name %q: %v", a.Name, err))
	}
	return &port{a, l, url(l.Addr()), string(model)}
}

// explain says what can be done about an address that cannot be had.
func explain(err error, a Address, others []*port) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		for _, p := range others {
			if p.Listen == a.Listen {
				return fmt.Errorf("%w: dependency %q has it already; give each its own port, or 0 for a free one", err, p.Name)
			}
		}
		return fmt.Errorf("%w: another process listens there; end it, or choose another port, or 0 for a free one", err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w: this user may not have that port; choose one from 1024 on, or 0 for a free one", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%w: this machine does not have that address; use 127.0.0.1 for this machine alone, or 0.0.0.0 for all networks", err)
	}
	return err
}

// url is how the address is reached from this machine.
func url(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return "http://" + a.String()
	}
	host := tcp.IP.String()
	switch {
	case !tcp.IP.IsUnspecified():
	case tcp.IP.To4() != nil:
		host = loopback
	default:
		host = net.IPv6loopback.String()
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(tcp.Port))
}
