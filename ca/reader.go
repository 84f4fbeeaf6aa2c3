package ca

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// A reader reads what a client sends. Where the client asks again as soon as it
// has been answered, the reader looks for the next request for a moment before it
// sleeps: to be woken up costs more time than all that a request needs. It looks
// at clients in a hurry only, at one of them at a time, and not where others want
// the processor.
type reader struct {
	conn    net.Conn
	raw     syscall.RawConn // nil where there is nothing to look at
	looking *atomic.Bool    // somebody is; shared by all circuits
	attempt func(fd uintptr) bool

	hurried bool // the last request came at once
	inRow   int  // requests that came while we looked

	// Of the read under way:
	buf   []byte
	n     int
	err   error
	look  bool
	until time.Time
}

const (
	// hurry is how soon a client asks again, its own time and the network's
	// included, for which it is worth to look.
	hurry = 200 * time.Microsecond
	// lookFor is how long a look takes in vain at most.
	lookFor = 80 * time.Microsecond
	// yieldLimit is how long others may have the processor in between; where it
	// takes longer they need it more than we do.
	yieldLimit = 20 * time.Microsecond
	// maxInRow is how many requests in a row may come without a sleep. As long as
	// a goroutine on the only processor wants to run, Go's scheduler does not ask
	// for what has arrived on other connections.
	maxInRow = 8
)

// newReader makes the reader of a circuit; looking is what all of them share.
func newReader(conn net.Conn, looking *atomic.Bool) *reader {
	r := &reader{conn: conn, looking: looking}
	if socket, ok := conn.(syscall.Conn); ok && canLook {
		r.raw, _ = socket.SyscallConn()
	}
	r.attempt = r.try
	return r
}

// Read reads as the connection would.
func (r *reader) Read(buf []byte) (int, error) {
	start := time.Now()
	if r.raw == nil || !r.hurried || r.inRow >= maxInRow || !r.looking.CompareAndSwap(false, true) {
		r.inRow = 0
		n, err := r.conn.Read(buf)
		r.hurried = time.Since(start) < hurry
		return n, err
	}
	defer r.looking.Store(false)
	r.buf, r.look, r.until = buf, true, start.Add(lookFor)
	err := r.raw.Read(r.attempt)
	r.buf = nil
	if r.look {
		r.inRow++
	} else {
		r.inRow, r.hurried = 0, time.Since(start) < hurry
	}
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0 && len(buf) > 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// try reads what is there. If it returns false, the runtime calls again when
// something has come.
func (r *reader) try(fd uintptr) bool {
	for {
		var empty bool
		if r.n, empty, r.err = readNow(fd, r.buf); !empty {
			return true
		}
		if !r.look {
			return false
		}
		now := time.Now()
		runtime.Gosched()
		if yielded := time.Since(now); yielded > yieldLimit || now.After(r.until) {
			r.look = false
			return false
		}
	}
}
