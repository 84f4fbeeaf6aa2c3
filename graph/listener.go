package graph

import (
	"net"
	"sync"
	"sync/atomic"
)

// listener counts the open connections and closes at once those that are too many.
type listener struct {
	net.Listener
	most  int64
	count atomic.Int64
}

// Accept returns the next connection that there is room for.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.count.Load() >= l.most {
			_ = c.Close()
			continue
		}
		l.count.Add(1)
		return &conn{Conn: c, gone: sync.OnceFunc(func() { l.count.Add(-1) })}, nil
	}
}

type conn struct {
	net.Conn
	gone func()
}

// Close closes the connection.
func (c *conn) Close() error {
	c.gone()
	return c.Conn.Close()
}
