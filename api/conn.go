package api

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/streamtime"
)

// listener accepts connections, has each served by a goroutine of its own, and
// knows those that are open, so that stopping can end every one of them.
type listener struct {
	net.Listener     // nil until it is bound
	most         int // connections
	linger       time.Duration
	closed       chan struct{}
	closing      sync.Once
	open         sync.WaitGroup // of conns; waited for only after the last was accepted
	count        atomic.Int64   // of conns
	ending       atomic.Bool

	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newListener(most int, linger time.Duration) *listener {
	return &listener{most: most, linger: linger, closed: make(chan struct{}), conns: map[*conn]struct{}{}}
}

// The pauses after a failure to accept that may pass, such as no free file descriptor.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// serve accepts until the listener is closed, and then returns net.ErrClosed. It
// outlasts failures that pass: the connections that are open go on meanwhile.
func (l *listener) serve(handle func(net.Conn) error) error {
	pause := firstPause
	for {
		accepted, err := l.Accept()
		switch {
		case err == nil && l.count.Load() >= int64(l.most):
			_ = accepted.Close()
		case err == nil:
			pause = firstPause
			c := l.add(accepted)
			go func() { _ = handle(c) }() // closes c, for which end waits
		case !passes(err):
			return err
		case !l.pause(pause):
			return net.ErrClosed
		default:
			pause = min(2*pause, lastPause)
		}
	}
}

func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.ECONNRESET)
}

// pause reports false if the listener is closed.
func (l *listener) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.closed:
		return false
	}
}

// Close ends serve and leaves the connections open. It may be called twice.
func (l *listener) Close() error {
	var err error
	l.closing.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

func (l *listener) add(accepted net.Conn) *conn {
	c := &conn{Conn: streamtime.Conn{Conn: accepted}, listener: l, peer: accepted.RemoteAddr().String()}
	setUserTimeout(accepted)
	l.open.Add(1)
	l.count.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	return c
}

func (l *listener) remove(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	l.count.Add(-1)
	l.open.Done()
}

// end closes connections as soon as they have no request under way, cuts those
// that have one after the limit, and returns when all are closed.
func (l *listener) end(limit time.Duration) {
	l.ending.Store(true)
	l.cut(func(c *conn) bool { return !c.busy.Load() })
	timer := time.AfterFunc(limit, func() { l.cut(func(*conn) bool { return true }) })
	defer timer.Stop()
	l.open.Wait()
}

// cut takes the network away from connections. Their owners notice and close them.
func (l *listener) cut(which func(*conn) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if which(c) {
			_ = c.Conn.Close()
		}
	}
}

// onState is told by the HTTP server when a request begins and ends.
func (l *listener) onState(c net.Conn, state fasthttp.ConnState) {
	own, ok := c.(*conn)
	if !ok {
		return
	}
	switch state {
	case fasthttp.StateActive:
		own.busy.Store(true)
	case fasthttp.StateIdle:
		own.busy.Store(false)
		if l.ending.Load() {
			_ = own.Conn.Close()
		}
	}
}

// conn is one connection. The HTTP server closes it when it is done with it.
type conn struct {
	streamtime.Conn
	listener *listener
	peer     string
	busy     atomic.Bool // with a request or a stream
	closing  sync.Once

	// These belong to the goroutine that serves the connection.

	// unread means that the answer came before all of the request was read.
	unread bool
	// session is that of requests without an id of their own, or nil.
	session gateway.Session
	// release frees what lives as long as the connection, or is nil.
	release func()
}

// Close closes the connection once.
func (c *conn) Close() error {
	var err error
	c.closing.Do(func() {
		if c.unread {
			c.drain()
		}
		err = c.Conn.Close()
		c.free()
		c.listener.remove(c)
	})
	return err
}

// free frees what lives as long as the connection before its time.
func (c *conn) free() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// drain lets a client that is still sending see the answer: a connection that is
// closed with bytes unread is reset, and a reset throws away what was not read.
func (c *conn) drain() {
	half, ok := c.Conn.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(c.listener.linger)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, c)
}
