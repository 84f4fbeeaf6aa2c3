package bus

import (
	"context"
	"errors"
	"net"
	"time"
)

// A server that hangs, or a network that swallows what we send, is noticed where
// something was expected that did not come: an owner's beat at a hub, and at an owner
// its own, which everybody hears. Then the server is asked twice, so that a process
// that was held in between has time to see the answer. The pings of nats.go find the
// same much later, but also where nobody expects anything.
const (
	probes       = 2
	probeTimeout = time.Second
	// quiet is how long after something was said nothing may have come back. Less
	// than owners' beats are apart.
	quiet = 700 * time.Millisecond
)

var errSilent = errors.New("NATS does not answer")

// probe finds out whether the server is there, and leaves it if not.
func (c *Conn) probe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inProcess || c.probing || !c.up.Load() || c.link.Err() != nil {
		return
	}
	c.probing = true
	link, socket := c.link, c.socket
	c.probed.Go(func() {
		silent := c.isSilent(link)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.probing = false
		if silent && link.Err() == nil {
			c.silent = true
			leave(socket)
		}
	})
}

func (c *Conn) isSilent(link context.Context) bool {
	for range probes {
		ctx, cancel := context.WithTimeout(link, probeTimeout)
		err := c.nc.FlushWithContext(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return false // it has answered, or nats.go knows that it is gone
		}
	}
	return true
}

// leave ends a connection as if the other side had. What it has not taken by now it
// shall not get late.
func leave(socket net.Conn) {
	if tcp, ok := socket.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails only if it is closed
	}
	_ = socket.Close()
}

// A backchannel notices that nothing comes of what owners say again and again, and
// hear themselves.
type backchannel struct {
	said  time.Time // when something was first said since then
	heard uint64    // how many messages had come
}

// quiet is called when something was said, with how many messages have come so far.
// It reports whether one should have come since the first that was said.
func (b *backchannel) quiet(heard uint64, now time.Time) bool {
	if b.said.IsZero() || heard != b.heard {
		*b = backchannel{said: now, heard: heard}
		return false
	}
	return now.Sub(b.said) > quiet
}

// saidState is called when an owner's state was published.
func (c *Conn) saidState() {
	if c.inProcess {
		return
	}
	c.mu.Lock()
	quiet := c.back.quiet(c.stats.inMsgs.Load(), time.Now())
	c.mu.Unlock()
	if quiet {
		c.probe()
	}
}
