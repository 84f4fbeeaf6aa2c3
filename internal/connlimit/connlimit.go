// Package connlimit bounds the connections of a listener.
package connlimit

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/polygate/gateway/internal/streamtime"
)

// A Listener counts its open connections and closes at once those that are too
// many, so that a client learns it and comes back later, and those that are
// open go on. One goroutine may call Accept, any Count.
type Listener struct {
	net.Listener
	most  int64
	count atomic.Int64
}

// New bounds a listener to at most so many connections.
func New(inner net.Listener, most int) *Listener {
	return &Listener{Listener: inner, most: int64(most)}
}

// Count returns the number of open connections.
func (l *Listener) Count() int64 { return l.count.Load() }

// Accept returns the next connection that there is room for.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.count.Load() < l.most {
			l.count.Add(1)
			return &conn{Conn: streamtime.Conn{Conn: c}, closed: sync.OnceFunc(func() { l.count.Add(-1) })}, nil
		}
		_ = c.Close()
	}
}

// conn is counted until it is closed.
type conn struct {
	streamtime.Conn
	closed func()
}

// Close implements net.Conn. It may be called twice.
func (c *conn) Close() error {
	c.closed()
	return c.Conn.Close()
}
