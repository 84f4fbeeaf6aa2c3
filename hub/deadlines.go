package hub

import (
	"container/heap"
	"time"
)

// A deadline is something that the loop does at a time. The zero deadline with
// a fire function is not queued.
type deadline struct {
	at   time.Time
	fire func()
	pos  int // place in the heap plus 1; 0 if not queued
}

func (d *deadline) queued() bool { return d.pos != 0 }

// deadlines wakes the loop when the earliest of its deadlines is due, and not
// otherwise. It belongs to the loop.
type deadlines struct {
	heap  deadlineHeap
	wake  func()
	timer *time.Timer
	armed time.Time // what the timer is set to; zero if it is not running
}

// set queues d, or moves it.
func (q *deadlines) set(d *deadline, at time.Time) {
	d.at = at
	if d.queued() {
		heap.Fix(&q.heap, d.pos-1)
		return
	}
	heap.Push(&q.heap, d)
}

// late returns how long the earliest deadline has been due.
func (q *deadlines) late(now time.Time) time.Duration {
	if len(q.heap) == 0 {
		return 0
	}
	return now.Sub(q.heap[0].at)
}

// cancel takes d out, if it is queued.
func (q *deadlines) cancel(d *deadline) {
	if d.queued() {
		heap.Remove(&q.heap, d.pos-1)
	}
}

// run fires all that is due. What it fires may set deadlines again.
func (q *deadlines) run(now time.Time) {
	if !now.Before(q.armed) {
		q.armed = time.Time{} // the timer has fired
	}
	for len(q.heap) > 0 && !q.heap[0].at.After(now) {
		d := q.heap[0]
		heap.Pop(&q.heap)
		d.fire()
	}
}

// arm sets the timer to the earliest deadline, if that has changed.
func (q *deadlines) arm() {
	if len(q.heap) == 0 {
		if !q.armed.IsZero() {
			q.timer.Stop()
			q.armed = time.Time{}
		}
		return
	}
	at := q.heap[0].at
	if at.Equal(q.armed) {
		return
	}
	q.armed = at
	if q.timer == nil {
		q.timer = time.AfterFunc(time.Until(at), q.wake)
		return
	}
	q.timer.Reset(time.Until(at))
}

func (q *deadlines) stop() {
	if q.timer != nil {
		q.timer.Stop()
	}
}

// deadlineHeap implements heap.Interface.
type deadlineHeap []*deadline

func (h deadlineHeap) Len() int           { return len(h) }
func (h deadlineHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }

func (h deadlineHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i+1, j+1
}

func (h *deadlineHeap) Push(x any) {
	d := x.(*deadline) //nolint:forcetypeassert // only deadlines are pushed.
	*h = append(*h, d)
	d.pos = len(*h)
}

func (h *deadlineHeap) Pop() any {
	last := len(*h) - 1
	d := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	d.pos = 0
	return d
}
