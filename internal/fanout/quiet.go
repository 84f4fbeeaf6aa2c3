package fanout

import (
	"sync/atomic"
	"time"
)

// quiet wakes a writer when nothing was written for some time. To set a timer
// costs about as much as to make an event, so this one is set only when it has
// fired, and then looks at when the last write was.
type quiet struct {
	limit time.Duration
	last  time.Time // of a write
	timer *time.Timer
	due   atomic.Bool // the timer has fired
}

// begin begins with a write that was just now.
func (q *quiet) begin(limit time.Duration, wake func()) {
	q.limit, q.last = limit, time.Now()
	q.timer = time.AfterFunc(limit, func() {
		q.due.Store(true)
		wake()
	})
}

func (q *quiet) wrote(now time.Time) { q.last = now }

// fired reports whether over is to be called.
func (q *quiet) fired() bool { return q.due.Load() }

// over reports whether it is time for a sign of life, and sees to it that the
// writer is woken when it may be time for the next.
func (q *quiet) over() bool {
	q.due.Store(false)
	rest := q.limit - time.Since(q.last)
	over := rest <= 0
	if over {
		rest = q.limit
	}
	q.timer.Reset(rest)
	return over
}

func (q *quiet) end() { q.timer.Stop() }
