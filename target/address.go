package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Resolver looks a host up. [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Address is where a target is, looked up once, so that no request waits for
// a name server and all go to the same place.
type Address struct {
	Host  string           // as the URL names it, without a port
	Addrs []netip.AddrPort // in the order in which they are tried
}

// Loopback reports whether every address is one of this machine's own: then
// nobody else can be hit.
func (a Address) Loopback() bool {
	for _, addr := range a.Addrs {
		if !addr.Addr().Unmap().IsLoopback() {
			return false
		}
	}
	return len(a.Addrs) > 0
}

// String lists the addresses behind the host: example.org (192.0.2.1:443).
func (a Address) String() string {
	list := make([]string, len(a.Addrs))
	for i, addr := range a.Addrs {
		list[i] = addr.String()
	}
	return a.Host + " (" + strings.Join(list, ", ") + ")"
}

// Resolve looks up where a target is.
func Resolve(ctx context.Context, c *Config) (Address, error) {
	return ResolveWith(ctx, c, net.DefaultResolver)
}

// ResolveWith is [Resolve] with a resolver of the caller's choice.
func ResolveWith(ctx context.Context, c *Config, r Resolver) (Address, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return Address{}, errors.New("resolve the target: its url is none") // the error would show what stands there
	}
	p, err := port(u)
	if err != nil {
		return Address{}, fmt.Errorf("resolve the target %s: %w", u.Redacted(), err)
	}
	at := Address{Host: u.Hostname()}
	if ip, err := netip.ParseAddr(at.Host); err == nil {
		at.Addrs = []netip.AddrPort{netip.AddrPortFrom(ip, p)}
		return at, nil
	}
	ips, err := r.LookupNetIP(ctx, "ip", at.Host)
	if err != nil {
		return Address{}, fmt.Errorf("resolve the target %s: %w", at.Host, err)
	}
	if len(ips) == 0 {
		return Address{}, fmt.Errorf("resolve the target %s: it has no address", at.Host)
	}
	for _, ip := range ips {
		at.Addrs = append(at.Addrs, netip.AddrPortFrom(ip.Unmap(), p))
	}
	return at, nil
}

// port is the port of a URL, or that of its scheme.
func port(u *url.URL) (uint16, error) {
	text := u.Port()
	switch {
	case text != "":
	case strings.HasSuffix(u.Host, ":"):
		return 0, errors.New("the port is missing after the colon")
	case u.Scheme == "https":
		return 443, nil
	default:
		return 80, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%s is no port: expected 1 to 65535", text)
	}
	return uint16(n), nil
}
