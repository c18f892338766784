package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// dialer connects to the addresses of a target.
type dialer struct {
	at      Address
	timeout time.Duration
	tls     *tls.Config  // nil without TLS
	first   atomic.Int64 // position of the address that answered last
}

// agree settles the version of HTTP.
func (d *dialer) agree(ctx context.Context, want Version) (http2 bool, err error) {
	if want == Off || d.tls == nil {
		return want == On, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	protocols := []string{"h2", "http/1.1"}
	if want == On {
		protocols = protocols[:1]
	}
	conn, err := d.dialTLS(ctx, protocols...)
	if err != nil {
		return false, fmt.Errorf("agree on a version of HTTP: %s", describe(err))
	}
	defer conn.Close()
	http2 = conn.ConnectionState().NegotiatedProtocol == "h2"
	if want == On && !http2 {
		return false, errors.New("agree on a version of HTTP: it does not speak HTTP/2")
	}
	return http2, nil
}

// dial connects to the first address that answers, beginning with the one that
// did so last.
func (d *dialer) dial(ctx context.Context) (net.Conn, error) {
	// Probes of the kernel would turn a silent peer into a reset.
	n := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: false}, KeepAlive: -1}
	first := int(d.first.Load())
	var err error
	for i := range d.at.Addrs {
		i = (first + i) % len(d.at.Addrs)
		var conn net.Conn
		if conn, err = n.DialContext(ctx, "tcp", d.at.Addrs[i].String()); err == nil {
			d.first.Store(int64(i))
			return conn, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err == nil {
		err = errors.New("the target has no address")
	}
	return nil, connectError{err}
}

// dialTLS connects and shakes hands.
func (d *dialer) dialTLS(ctx context.Context, protocols ...string) (*tls.Conn, error) {
	plain, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	config.NextProtos = protocols
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, connectError{fmt.Errorf("shake hands: %w", err)}
	}
	return conn, nil
}

// reset closes a connection so that the other side sees an RST, and no port
// is left waiting.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
