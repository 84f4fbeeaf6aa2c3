package link

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
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

// Bounds of traces.
const (
	maxTraces = 8
	maxTraced = 1 << 20 // what waits for the reader of one trace, in bytes
	pieceCost = 64      // of a piece beside its bytes
)

// ErrTraced says that a line has as many traces as it can.
var ErrTraced = errors.New("the line is traced by too many already")

// A Piece is what was read or written at once.
type Piece struct {
	Direction Direction
	At        time.Time
	Bytes     []byte
	Lost      int // bytes in front of it for which the trace had no room
}

// A Trace gets every byte of a line, both ways, until it is closed. A line
// without one is not slowed down. A reader that is too slow does not hold up
// the line, but loses the pieces for which there is no room.
type Trace struct {
	line  *Line
	ready chan struct{} // has room for one

	mu     sync.Mutex
	pieces []Piece
	size   int // of pieces, in bytes
	lost   int // bytes since the last piece
}

// Trace begins a trace, which the caller closes.
func (l *Line) Trace() (*Trace, error) {
	t := &Trace{line: l, ready: make(chan struct{}, 1)}
	l.notify.Lock()
	defer l.notify.Unlock()
	traces := *l.traces.Load()
	if len(traces) >= maxTraces {
		return nil, ErrTraced
	}
	traces = append(slices.Clip(traces), t)
	l.traces.Store(&traces)
	return t, nil
}

// Close ends the trace.
func (t *Trace) Close() {
	l := t.line
	l.notify.Lock()
	defer l.notify.Unlock()
	traces := slices.DeleteFunc(slices.Clone(*l.traces.Load()), func(x *Trace) bool { return x == t })
	l.traces.Store(&traces)
}

// Next waits for bytes and returns all pieces that are there, at least one, in the
// order and the pieces in which they were read or written. Its error is the context's.
// It is for one goroutine.
func (t *Trace) Next(ctx context.Context) ([]Piece, error) {
	select {
	case <-t.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.ready: // for a piece that came meanwhile, and is taken now, too
	default:
	}
	pieces := t.pieces
	t.pieces, t.size = nil, 0
	return pieces, nil
}

// add keeps a copy of a piece, if there is room.
func (t *Trace) add(d Direction, at time.Time, b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	cost := len(b) + pieceCost
	if t.size+cost > maxTraced {
		t.lost += len(b)
		return
	}
	t.size += cost
	t.pieces = append(t.pieces, Piece{Direction: d, At: at, Bytes: bytes.Clone(b), Lost: t.lost})
	t.lost = 0
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

// Counters count since the line was made.
type Counters struct {
	BytesIn, BytesOut uint64
	Exchanges         uint64 // exchanges begun
	Discarded         uint64 // bytes that nobody wanted
	Traced            uint64 // bytes for traces
	Traces            int    // that there are now
}

type counters struct {
	in, out, exchanges, discarded, traced atomic.Uint64
}

// Counters returns the present counts.
func (l *Line) Counters() Counters {
	return Counters{
		BytesIn:   l.count.in.Load(),
		BytesOut:  l.count.out.Load(),
		Exchanges: l.count.exchanges.Load(),
		Discarded: l.count.discarded.Load(),
		Traced:    l.count.traced.Load(),
		Traces:    len(*l.traces.Load()),
	}
}

func (l *Line) received(b []byte, at time.Time) {
	l.count.in.Add(uint64(len(b)))
	if traces := *l.traces.Load(); len(traces) > 0 {
		l.trace(traces, In, at, b)
	}
}

func (l *Line) sent(b []byte) {
	l.count.out.Add(uint64(len(b)))
	if traces := *l.traces.Load(); len(traces) > 0 && len(b) > 0 {
		l.trace(traces, Out, time.Now(), b)
	}
}

func (l *Line) trace(traces []*Trace, d Direction, at time.Time, b []byte) {
	l.count.traced.Add(uint64(len(b)))
	for _, t := range traces {
		t.add(d, at, b)
	}
}
