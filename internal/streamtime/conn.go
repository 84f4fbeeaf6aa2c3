// Package streamtime has deadlines for what is written often. To set a timer costs
// about as much as to make an event, and a busy stream would set several with
// every write; these are set rarely, however often it writes.
package streamtime

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// A Conn is a connection whose deadlines may be set as often as one likes. A
// deadline that is in force is kept for one that is later by less than an eighth
// of the time that is left, and that of reading comes into force when something
// is read: a server says for how long it waits for a request, then for the rest
// of it, which mostly is there already.
type Conn struct {
	net.Conn
	mu      sync.Mutex
	readBy  time.Time // as it was set
	reading int       // calls of Read
	// What is in force; zero for none.
	readInForce, writeInForce time.Time
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if err := c.beginRead(); err != nil {
		return 0, err
	}
	defer c.endRead()
	return c.Conn.Read(p)
}

func (c *Conn) beginRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.enforceRead(); err != nil {
		return err
	}
	c.reading++
	return nil
}

func (c *Conn) endRead() {
	c.mu.Lock()
	c.reading--
	c.mu.Unlock()
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = t
	if c.reading == 0 {
		return nil
	}
	return c.enforceRead()
}

// enforceRead must be called with c.mu held.
func (c *Conn) enforceRead() error {
	if !moves(c.readInForce, c.readBy) {
		return nil
	}
	c.readInForce = c.readBy
	return c.Conn.SetReadDeadline(c.readBy)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !moves(c.writeInForce, t) {
		return nil
	}
	c.writeInForce = t
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SyscallConn implements syscall.Conn where the connection below does.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	below, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return below.SyscallConn()
}

// moves reports whether a deadline is worth setting.
func moves(inForce, to time.Time) bool {
	later := to.Sub(inForce)
	return later < 0 || later > 0 && later >= time.Until(to)/8
}
