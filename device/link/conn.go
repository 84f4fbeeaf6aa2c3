package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// past is a deadline that ends a blocked call at once.
var past = time.Unix(1, 0)

// Do runs one exchange alone on the line: it waits for its turn and calls f
// with the open port. Urgent goes before Put before Poll; equals take turns,
// user by user. What arrived before is not part of the exchange: it has gone to
// the users that listen.
//
// While the line is down Do returns ErrNotOpen at once. If ctx ends before f
// was called, f is never called; if it ends later, reads and writes of the Conn
// return its error. Otherwise Do returns what f returns. f must not call Do of
// the same line.
func (l *Line) Do(ctx context.Context, u *User, prio Priority, f func(*Conn) error) error {
	s, err := l.acquire(ctx, u, prio)
	if err != nil {
		return err
	}
	defer l.release()
	if err := l.flush(s); err != nil {
		if errors.Is(err, ErrClosed) {
			return err
		}
		// Nothing was sent: to the caller the line was down before.
		return fmt.Errorf("%s: %w: %w", l.name, ErrNotOpen, s.err)
	}
	c := &Conn{line: l, sess: s, ctx: ctx}
	defer c.end()
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, c.cancel)
		defer stop()
	}
	l.count.exchanges.Add(1)
	return f(c)
}

// Conn is the line as one exchange sees it. It is for one goroutine, and only
// until the function that it was passed to returns.
type Conn struct {
	line         *Line
	sess         *session
	ctx          context.Context
	readDeadline time.Time

	mu    sync.Mutex // held while cancel or end decides
	over  atomic.Bool
	ended bool // guarded by mu
}

// Read waits for bytes and returns what is there, in the order of arrival, and
// when the last of them arrived. Pieces have no meaning: a reply may come in
// many, and several in one. It returns ErrTimeout when the deadline passes (the
// zero time is none), the context's error when that of Do ends, and ErrLost or
// ErrClosed when the port is gone.
func (c *Conn) Read(p []byte, deadline time.Time) (n int, at time.Time, err error) {
	if err := c.arm(deadline); err != nil {
		return 0, time.Time{}, err
	}
	if len(p) == 0 {
		return 0, time.Now(), nil
	}
	n, err = c.sess.port.Read(p)
	at = time.Now()
	if n > 0 {
		c.line.received(p[:n], at)
		return n, at, nil
	}
	return 0, at, c.failed("reading", err)
}

// arm sets the deadline of the next Read. The order matters: cancel first says
// that the exchange is over and then moves the deadline to the past, so one of
// the two is seen here.
func (c *Conn) arm(deadline time.Time) error {
	if c.over.Load() {
		return c.overError("reading")
	}
	if deadline.IsZero() || !deadline.Equal(c.readDeadline) {
		c.readDeadline = deadline
		if err := c.sess.port.SetReadDeadline(deadline); err != nil {
			return c.failed("reading", err)
		}
	}
	if c.over.Load() {
		return c.overError("reading")
	}
	return nil
}

// Write sends p. It returns how many bytes were taken: with 0 the instrument
// has seen nothing of it. Its errors are those of Read; it waits until the
// context of Do ends, but no longer than 5 s.
func (c *Conn) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil || c.over.Load() { // Never late, and never into another exchange.
		return 0, c.overError("writing")
	}
	until, err := c.line.allowed(time.Now().Add(writeLimit))
	if err == nil {
		err = c.sess.port.SetWriteDeadline(until)
	}
	if err != nil {
		return 0, c.failed("writing", err)
	}
	if c.over.Load() {
		return 0, c.overError("writing")
	}
	n, err := c.sess.port.Write(p)
	c.line.sent(p[:n])
	if err != nil {
		return n, c.failed("writing", err)
	}
	return n, nil
}

// Drain discards what arrives until the line was silent for the quiet time,
// and returns how much that was. With 0 it discards what has arrived and does
// not wait. It returns ErrNoisy if the line does not become silent in ten quiet
// times, or 100 ms if that is more.
func (c *Conn) Drain(quiet time.Duration) (int, error) {
	buf := c.line.scratch
	total := 0
	limit := time.Now().Add(max(10*quiet, 100*time.Millisecond))
	for time.Now().Before(limit) {
		if c.over.Load() {
			return total, c.overError("draining")
		}
		n, err := c.drainOnce(buf, quiet)
		total += n
		c.line.count.discarded.Add(uint64(n))
		if err != nil || n == 0 {
			return total, err
		}
	}
	return total, fmt.Errorf("%s: %w", c.line.name, ErrNoisy)
}

// drainOnce reads once; 0 and no error is silence.
func (c *Conn) drainOnce(buf []byte, quiet time.Duration) (int, error) {
	if quiet > 0 {
		n, _, err := c.Read(buf, time.Now().Add(quiet))
		if errors.Is(err, ErrTimeout) && !c.over.Load() {
			return 0, nil
		}
		return n, err
	}
	n, err := ReadNow(c.sess.port, buf)
	c.readDeadline = time.Time{} // ReadNow may have moved it.
	if err != nil {
		return 0, c.failed("draining", err)
	}
	if n > 0 {
		c.line.received(buf[:n], time.Now())
	}
	return n, nil
}

// PassOn hands bytes that the exchange read, but that are not part of it, to
// those who listen to the line.
func (c *Conn) PassOn(b []byte, at time.Time) {
	if len(b) > 0 {
		c.line.unsolicited(b, at)
	}
}

// Break holds the line in the break condition for d. Its errors are those of
// Write, or that the link cannot do that.
func (c *Conn) Break(d time.Duration) error {
	if c.ctx.Err() != nil || c.over.Load() {
		return c.overError("sending a break")
	}
	b, ok := c.sess.port.(breaker)
	if !ok {
		return fmt.Errorf("%s: a break cannot be sent on %s", c.line.name, c.line.opener)
	}
	if _, err := c.line.allowed(time.Time{}); err != nil {
		return c.failed("sending a break", err)
	}
	if err := b.Break(c.ctx, d); err != nil {
		return fmt.Errorf("%s: sending a break: %w", c.line.name, err)
	}
	return nil
}

// failed turns an error of the port into one of the exchange.
func (c *Conn) failed(doing string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if c.over.Load() {
			return c.overError(doing)
		}
		return fmt.Errorf("%s: %s: %w", c.line.name, doing, ErrTimeout)
	}
	if err == nil {
		err = errors.New("the port returned nothing")
	}
	c.line.fail(c.sess, err)
	return c.line.lostError(c.sess)
}

// overError says why the exchange cannot go on.
func (c *Conn) overError(doing string) error {
	if err := context.Cause(c.ctx); err != nil {
		return fmt.Errorf("%s: %s: %w", c.line.name, doing, err)
	}
	return fmt.Errorf("%s: %s: %w", c.line.name, doing, ErrEnded)
}

// cancel ends blocked calls when the context does. It leaves the port alone
// once the exchange has ended: the deadlines are then those of the next one.
func (c *Conn) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.over.Store(true)
	// A port that cannot set a deadline is gone, and nobody is blocked on it.
	c.sess.port.SetReadDeadline(past)
	c.sess.port.SetWriteDeadline(past)
}

func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over.Store(true)
	c.ended = true
}
