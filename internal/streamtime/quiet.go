package streamtime

import "time"

// A Quiet wakes the loop of a stream when nothing was written for some time. It
// belongs to that loop, but for Wake.
type Quiet struct {
	limit time.Duration
	last  time.Time // of a write
	timer *time.Timer
	woken chan struct{}
}

// NewQuiet begins with a write that was just now. Stop must follow.
func NewQuiet(limit time.Duration) *Quiet {
	q := &Quiet{limit: limit, last: time.Now(), woken: make(chan struct{}, 1)}
	q.timer = time.AfterFunc(limit, q.Wake)
	return q
}

// Woken receives a value when it may be time for a sign of life, and after Wake.
func (q *Quiet) Woken() <-chan struct{} { return q.woken }

// Wake wakes the loop for another reason. Any goroutine may call it.
func (q *Quiet) Wake() {
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// Wrote tells that something was written.
func (q *Quiet) Wrote() { q.last = time.Now() }

// Over reports whether it is time for a sign of life, which it takes for written,
// and sees to it that the loop wakes when it may be time for the next. It is to
// be called after each wake.
func (q *Quiet) Over() bool {
	rest := q.limit - time.Since(q.last)
	over := rest <= 0
	if over {
		q.Wrote()
		rest = q.limit
	}
	q.timer.Reset(rest)
	return over
}

// Stop ends the waking.
func (q *Quiet) Stop() { q.timer.Stop() }
