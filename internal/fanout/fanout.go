// Package fanout writes events to many connections from a few goroutines. A
// goroutine for each would have to be woken up for each event, and with a
// thousand of them its stack has left the processor's caches each time. So a
// connection that takes what it is given at once is written to in passing; one
// that does not gets a goroutine until it has caught up, and nobody waits for it.
package fanout

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Pool is the goroutines that write in passing, one for each processor.
type Pool struct {
	lanes []*lane
	next  atomic.Uint64 // lane of the next writer
}

// NewPool makes a pool. It starts nothing.
func NewPool() *Pool {
	p := &Pool{lanes: make([]*lane, runtime.GOMAXPROCS(0))}
	for i := range p.lanes {
		p.lanes[i] = newLane()
	}
	return p
}

// Start starts the goroutines. They end, and are waited for, with stop, which is
// for when all writers have ended.
func (p *Pool) Start() (stop func()) {
	stopping := make(chan struct{})
	var running sync.WaitGroup
	for _, l := range p.lanes {
		running.Go(func() { l.run(stopping) })
	}
	return func() {
		close(stopping)
		running.Wait()
	}
}

// A lane is one goroutine with the writers that it looks after.
type lane struct {
	wake chan struct{}
	mu   sync.Mutex
	due  []*Writer // each at most once

	// The rest belongs to the goroutine.

	spare []*Writer // empty; due after the next round
	buf   []byte    // empty; for what is written next
	// attempt writes rest as far as the kernel takes it at once.
	attempt func(fd uintptr) (done bool)
	rest    []byte
}

// mostKept is the capacity up to which a buffer is kept.
const mostKept = 128 << 10

func newLane() *lane {
	l := &lane{wake: make(chan struct{}, 1)}
	l.attempt = func(fd uintptr) bool {
		l.rest = l.rest[writeNow(fd, l.rest):]
		return true
	}
	return l
}

func (l *lane) add(w *Writer) {
	l.mu.Lock()
	l.due = append(l.due, w)
	first := len(l.due) == 1
	l.mu.Unlock()
	if !first {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-l.wake:
		}
		l.mu.Lock()
		due := l.due
		l.due = l.spare
		l.mu.Unlock()
		now := time.Now()
		for i, w := range due {
			due[i] = nil
			w.pass(l, now)
		}
		l.spare = due[:0]
	}
}

// try writes what the connection takes at once, and returns the rest.
func (l *lane) try(w *Writer, piece []byte) (rest []byte) {
	l.rest = piece
	if w.raw != nil {
		_ = w.raw.Write(l.attempt) // what has failed will fail again where it is looked at
	}
	rest, l.rest = l.rest, nil
	return rest
}

func (l *lane) keep(buf []byte) {
	if cap(buf) <= mostKept {
		l.buf = buf[:0]
	}
}
