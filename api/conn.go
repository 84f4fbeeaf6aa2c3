package api

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// listener accepts connections and knows those that are open, so that stopping
// can end every one of them.
type listener struct {
	net.Listener
	linger time.Duration
	closed chan struct{}
	once   sync.Once
	open   sync.WaitGroup // of conns; waited for only after the last Accept
	count  atomic.Int64   // of conns

	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newListener(inner net.Listener, linger time.Duration) *listener {
	return &listener{Listener: inner, linger: linger, closed: make(chan struct{}), conns: map[*conn]struct{}{}}
}

// The pauses after a failure to accept that may pass, such as no free file descriptor.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Accept outlasts failures that pass: the connections that are open go on.
func (l *listener) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		accepted, err := l.Listener.Accept()
		if err == nil {
			return l.add(accepted), nil
		}
		if !passes(err) {
			return nil, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.closed:
			timer.Stop()
			return nil, net.ErrClosed
		}
	}
}

func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ECONNABORTED) || errors.Is(err, syscall.ECONNRESET)
}

// Close ends Accept and leaves the connections open. It may be called twice.
func (l *listener) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

func (l *listener) add(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, listener: l, peer: accepted.RemoteAddr().String()}
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

// cut takes the network away from all connections. Their owners notice and close them.
func (l *listener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.Conn.Close()
	}
}

// conn is one connection. The HTTP server closes it when it is done with it.
type conn struct {
	net.Conn
	listener *listener
	peer     string
	closing  sync.Once

	// These belong to the goroutine that serves the connection.

	// unread means that the answer came before all of the request was read.
	unread bool
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
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(c.listener.linger)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, c.Conn)
}
