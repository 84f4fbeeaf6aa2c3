package fanout

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Source makes what one connection is sent. One goroutine at a time calls it.
type Source interface {
	// Next appends a piece of what there is to send to dst, which is empty, and
	// reports whether there is more behind it. Without anything to send it
	// appends nothing. It does not block.
	Next(dst []byte) (piece []byte, more bool, err error)
}

// Options are how to write to a connection.
type Options struct {
	Limit time.Duration // for one write to a connection that takes nothing at once
	// Sign is written when nothing else was for the time of KeepAlive.
	Sign      string
	KeepAlive time.Duration
	// Alone says that what is sent takes long to make, so that others should
	// not wait for that.
	Alone bool
}

// A Writer writes what a source has to one connection. Any goroutine may call Wake
// and Stop, at any time.
type Writer struct {
	conn  net.Conn
	raw   syscall.RawConn // nil if the connection has none
	lane  *lane
	due   atomic.Bool // is in lane.due
	ended atomic.Bool
	// missed says that w was woken while its own goroutine wrote.
	missed atomic.Bool

	// busy is held by the goroutine that writes; what follows belongs to it.
	busy    sync.Mutex
	source  Source
	opts    Options
	own     sync.WaitGroup // of the writer's own goroutine, which is started with busy held
	settled bool           // the start, which may be large, has been sent
	quiet   quiet
}

// NewWriter makes a writer. It writes nothing before Serve.
func (p *Pool) NewWriter(conn net.Conn) *Writer {
	w := &Writer{conn: conn, lane: p.lanes[p.next.Add(1)%uint64(len(p.lanes))]}
	if below, ok := conn.(syscall.Conn); ok {
		w.raw, _ = below.SyscallConn() // one that is closed says so when it is written to
	}
	w.busy.Lock() // until Serve
	return w
}

// Serve writes head, and then what the source has, until the client is gone, has
// taken too long, or Stop was called. It is called once. What the client says is read
// from reader and thrown away; the caller closes the connection.
func (w *Writer) Serve(reader io.Reader, head []byte, source Source, opts Options) {
	w.source, w.opts = source, opts
	w.quiet.begin(opts.KeepAlive, w.Wake)
	w.own.Go(func() { w.catchUp(head, false) })
	discard(reader)
	w.ended.Store(true)
	w.busy.Lock() // for good
	w.own.Wait()
	w.quiet.end()
}

func discard(r io.Reader) {
	var buf [64]byte
	for {
		if _, err := r.Read(buf[:]); err != nil {
			return
		}
	}
}

// Stop makes Serve return when what is under way has been written.
func (w *Writer) Stop() { _ = w.conn.SetReadDeadline(time.Unix(1, 0)) }

// Wake says that the source may have something. It does not block.
func (w *Writer) Wake() {
	if !w.due.Swap(true) {
		w.lane.add(w)
	}
}

// pass writes what there is, if the connection takes it at once.
func (w *Writer) pass(l *lane, now time.Time) {
	w.due.Store(false)
	if !w.take() {
		return
	}
	switch {
	case w.ended.Load():
		w.busy.Unlock()
		return
	case w.opts.Alone || !w.settled:
		w.own.Go(func() { w.catchUp(nil, true) })
		return
	}
	piece, more, err := w.next(l.buf)
	if err != nil {
		w.fail()
		w.busy.Unlock()
		return
	}
	l.keep(piece)
	rest := l.try(w, piece)
	if len(rest) > 0 || more {
		rest = bytes.Clone(rest)
		w.own.Go(func() { w.catchUp(rest, more) })
		return
	}
	if len(piece) > 0 {
		w.quiet.wrote(now)
	}
	w.busy.Unlock()
}

// take makes this goroutine the one that writes. If it reports false another one
// writes, and has w looked at again when it is done.
func (w *Writer) take() bool {
	if w.busy.TryLock() {
		return true
	}
	w.missed.Store(true)
	return w.busy.TryLock() // the other may have looked before
}

// catchUp writes a piece, and with more what is behind it, however long the
// connection takes, and then what w was woken for meanwhile. It is called with busy
// held, and lets go of it.
func (w *Writer) catchUp(piece []byte, more bool) {
	if err := w.writeAll(piece, more); err != nil {
		w.fail()
	}
	w.busy.Unlock()
	if w.missed.Swap(false) {
		w.Wake()
	}
}

func (w *Writer) writeAll(piece []byte, more bool) (err error) {
	for {
		if len(piece) > 0 {
			if err := w.conn.SetWriteDeadline(time.Now().Add(w.opts.Limit)); err != nil {
				return err
			}
			if _, err := w.conn.Write(piece); err != nil {
				return err
			}
			w.quiet.wrote(time.Now())
		}
		// It is not asked without a wake: then it may have half of what belongs together.
		if w.ended.Load() || !more && !w.missed.Swap(false) {
			return w.conn.SetWriteDeadline(time.Time{}) // it would wake the process, and hold for what is written in passing
		}
		if piece, more, err = w.next(piece[:0]); err != nil {
			return err
		}
	}
}

// next is what the source has, or else a sign of life if one is due.
func (w *Writer) next(dst []byte) (piece []byte, more bool, err error) {
	piece, more, err = w.source.Next(dst)
	w.settled = w.settled || len(piece) > 0
	if w.quiet.fired() && w.quiet.over() && len(piece) == 0 {
		piece = append(piece, w.opts.Sign...)
	}
	return piece, more, err
}

func (w *Writer) fail() {
	w.ended.Store(true)
	w.Stop()
}
