package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// dialTimeout bounds one attempt to reach a host.
const dialTimeout = 5 * time.Second

// keepAlive finds a host that is gone within about 5 s. The kernel sends the
// probes: they do not wake this process.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}

// TCP is the address of a terminal server, or of an instrument with a socket of
// its own, as host:port.
type TCP struct{ Address string }

// UDP is the address of an instrument that speaks by datagrams, as host:port.
// Their borders have no meaning.
type UDP struct{ Address string }

var (
	_ Opener = TCP{}
	_ Opener = UDP{}
	_ remote = TCP{}
	_ remote = UDP{}
)

func (t TCP) String() string { return "tcp " + t.Address }
func (u UDP) String() string { return "udp " + u.Address }

func (TCP) remote() {}
func (UDP) remote() {}

// Open connects. Small writes are sent at once. The loss of the host is noticed
// within about 5 s, also while nothing is said.
func (t TCP) Open(ctx context.Context) (Port, error) {
	d := net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive}
	c, err := d.DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	conn := c.(*net.TCPConn)
	if err := setUserTimeout(conn, dialTimeout); err != nil {
		conn.Close()
		return nil, fmt.Errorf("connecting to %s: %w", t.Address, err)
	}
	now, err := newNowReader(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connecting to %s: %w", t.Address, err)
	}
	return &tcpPort{TCPConn: conn, now: now}, nil
}

type tcpPort struct {
	*net.TCPConn
	now nowReader
}

// ReadNow reads without waiting.
func (p *tcpPort) ReadNow(b []byte) (int, error) { return p.now.read(b) }

// Open makes a socket that receives from this address only. It cannot tell
// whether anybody is there.
func (u UDP) Open(ctx context.Context) (Port, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", u.Address)
	if err != nil {
		return nil, fmt.Errorf("opening: %w", err)
	}
	return &udpPort{UDPConn: c.(*net.UDPConn)}, nil
}

// maxDatagram is the most that UDP can carry (RFC 768: a 16-bit length).
const maxDatagram = 1 << 16

// udpPort makes a stream of datagrams: what does not fit into one Read is kept
// for the next. That nobody listens at the address is no loss of the port, as
// the next datagram may well be answered.
type udpPort struct {
	*net.UDPConn
	buf, rest []byte
}

// Read returns bytes of one datagram. An empty one is nothing.
func (p *udpPort) Read(b []byte) (int, error) {
	if p.buf == nil {
		p.buf = make([]byte, maxDatagram)
	}
	for len(p.rest) == 0 {
		n, err := p.UDPConn.Read(p.buf)
		if err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return 0, err
		}
		p.rest = p.buf[:n]
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Write sends b as one datagram.
func (p *udpPort) Write(b []byte) (int, error) {
	n, err := p.UDPConn.Write(b)
	if errors.Is(err, syscall.ECONNREFUSED) { // That was about an earlier datagram.
		n, err = p.UDPConn.Write(b)
	}
	return n, err
}
