// Package streamtime has what a stream of events needs of time: deadlines of its
// writes, and signs of life while there is nothing to write. To set a timer costs
// about as much as to make an event, and a busy stream would set both with every
// write; these are set rarely, however often it writes.
package streamtime

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A Conn is a connection whose write deadline may be set with every write. One
// that is set already is kept if it comes sooner by less than an eighth of the
// time that is left.
type Conn struct {
	net.Conn
	mu      sync.Mutex
	writeBy time.Time // zero for none
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if later := t.Sub(c.writeBy); later >= 0 && later < time.Until(t)/8 {
		return nil
	}
	c.writeBy = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
