package rpc

import (
	"net"
	"sync"
	"sync/atomic"
)

// listener counts connections and closes those beyond its limit, which clients
// take as UNAVAILABLE and try again later.
type listener struct {
	net.Listener
	most  int64
	count atomic.Int64
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.count.Add(1) <= l.most {
			return &conn{Conn: c, closed: sync.OnceFunc(func() { l.count.Add(-1) })}, nil
		}
		l.count.Add(-1)
		_ = c.Close()
	}
}

// conn is a connection that is counted until it is closed.
type conn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn. It may be called twice.
func (c *conn) Close() error {
	c.closed()
	return c.Conn.Close()
}
