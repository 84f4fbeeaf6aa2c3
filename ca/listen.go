package ca

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// A listener is one endpoint with its sockets.
type listener struct {
	endpoint endpoint
	tcp      *net.TCPListener
	udp      []*net.UDPConn // the first one sends the replies of all
	moved    bool           // the wanted TCP port was taken
	closed   atomic.Bool
}

// silence is how long a peer's host may confirm nothing before its connection is
// given up.
const silence = 60 * time.Second

func listen(ctx context.Context, e endpoint, groups []netip.Addr) (*listener, error) {
	l := &listener{endpoint: e}
	at := netip.AddrPortFrom(e.host, e.port)
	tcp := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: silence / 2, Interval: silence / 6, Count: 3,
	}}
	inner, err := tcp.Listen(ctx, "tcp4", at.String())
	if err != nil && !e.explicit && errors.Is(err, syscall.EADDRINUSE) {
		l.moved = true
		inner, err = tcp.Listen(ctx, "tcp4", netip.AddrPortFrom(e.host, 0).String())
	}
	if err != nil {
		return nil, fmt.Errorf("listening on TCP %s: %w", at, err)
	}
	l.tcp = inner.(*net.TCPListener) //nolint:forcetypeassert // "tcp4" gives no other.
	if err := l.listenUDP(ctx); err != nil {
		l.close()
		return nil, err
	}
	for _, group := range groups {
		if err := l.join(group); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// join binds sockets for searches in a multicast group, one for each interface
// that the endpoint has. A search that reaches several is answered as often,
// which clients do not mind.
func (l *listener) join(group netip.Addr) error {
	at := &net.UDPAddr{IP: group.AsSlice(), Port: int(l.searchPort())}
	joined := len(l.udp)
	var failed error
	for _, i := range multicastInterfaces(l.endpoint.host) {
		conn, err := net.ListenMulticastUDP("udp4", &i, at)
		if err != nil {
			failed = err
			continue
		}
		l.udp = append(l.udp, conn)
	}
	if len(l.udp) == joined {
		return fmt.Errorf("joining the multicast group %s on an interface of %s: %w", group, l.endpoint.host, cmp.Or(failed, errNoInterface))
	}
	return nil
}

var errNoInterface = errors.New("there is none for multicasts")

// listenUDP binds the sockets for searches. Several servers on a host share the
// port; broadcasts reach all of them.
func (l *listener) listenUDP(ctx context.Context) error {
	host := l.endpoint.host
	if l.endpoint.local {
		host = netip.IPv4Unspecified() // broadcasts of this host's own clients
	}
	hosts := []netip.Addr{host}
	if !host.IsUnspecified() && bindBroadcast {
		// A socket that is bound to one address hears no broadcasts.
		if broadcast, ok := broadcastOf(host); ok {
			hosts = append(hosts, broadcast)
		}
	}
	udp := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return shareAddress(c) }}
	port := l.endpoint.port
	for i, host := range hosts {
		conn, err := udp.ListenPacket(ctx, "udp4", net.JoinHostPort(host.String(), strconv.Itoa(int(port))))
		if err != nil {
			if i > 0 {
				continue // searches by unicast still arrive
			}
			return fmt.Errorf("listening on UDP %s: %w", netip.AddrPortFrom(host, port), err)
		}
		l.udp = append(l.udp, conn.(*net.UDPConn)) //nolint:forcetypeassert // "udp4" gives no other.
		port = l.searchPort()                      // if it was 0
	}
	return nil
}

func (l *listener) port() uint16 { return uint16(l.tcp.Addr().(*net.TCPAddr).Port) } //nolint:forcetypeassert // It is one.

func (l *listener) searchPort() uint16 {
	return uint16(l.udp[0].LocalAddr().(*net.UDPAddr).Port) //nolint:forcetypeassert // It is one.
}

func (l *listener) close() {
	l.closed.Store(true)
	_ = l.tcp.Close()
	for _, conn := range l.udp {
		_ = conn.Close()
	}
}
