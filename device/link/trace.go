package link

import (
	"sync/atomic"
	"time"
)

// Direction says which way bytes went.
type Direction int

// The directions, seen from here.
const (
	In Direction = iota
	Out
)

// String returns "in" or "out".
func (d Direction) String() string {
	if d == Out {
		return "out"
	}
	return "in"
}

// TraceFunc gets every piece of bytes, in the order and the pieces in which
// they were read or written. It must not block, and must copy what it keeps.
type TraceFunc func(d Direction, at time.Time, b []byte)

// SetTrace switches the trace on, or off with nil. It may be called at any time;
// a call of the former function may be under way when it returns.
func (l *Line) SetTrace(f TraceFunc) {
	if f == nil {
		l.trace.Store(nil)
		return
	}
	l.trace.Store(&f)
}

// Counters count since the line was made.
type Counters struct {
	BytesIn, BytesOut uint64
	Exchanges         uint64 // exchanges begun
	Discarded         uint64 // bytes that nobody wanted
}

type counters struct {
	in, out, exchanges, discarded atomic.Uint64
}

// Counters returns the present counts.
func (l *Line) Counters() Counters {
	return Counters{
		BytesIn:   l.count.in.Load(),
		BytesOut:  l.count.out.Load(),
		Exchanges: l.count.exchanges.Load(),
		Discarded: l.count.discarded.Load(),
	}
}

func (l *Line) received(b []byte, at time.Time) {
	l.count.in.Add(uint64(len(b)))
	if f := l.trace.Load(); f != nil {
		(*f)(In, at, b)
	}
}

func (l *Line) sent(b []byte) {
	l.count.out.Add(uint64(len(b)))
	if f := l.trace.Load(); f != nil && len(b) > 0 {
		(*f)(Out, time.Now(), b)
	}
}
