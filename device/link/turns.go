package link

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Priority orders those who wait for a line.
type Priority int

// The priorities, lowest first.
const (
	Poll   Priority = iota // regular reading
	Put                    // a client waits for it
	Urgent                 // a stop must not wait behind other puts
)

// waiter is one Do that waits for its turn.
type waiter struct {
	user  *User
	prio  Priority
	ready chan grant // has room for the one answer
}

// grant is the answer to a waiter: a session with the turn, or why not.
type grant struct {
	sess *session
	err  error
}

// acquire waits for the turn. It returns at once while the line is down.
func (l *Line) acquire(ctx context.Context, u *User, prio Priority) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, l.gaveUp(ctx)
	}
	l.mu.Lock()
	if l.sess == nil {
		defer l.mu.Unlock()
		return nil, l.notOpen()
	}
	if !l.busy {
		l.busy = true
		l.serve(u)
		s := l.sess
		l.mu.Unlock()
		return s, nil
	}
	w := &waiter{user: u, prio: prio, ready: make(chan grant, 1)}
	l.waiting = append(l.waiting, w)
	if l.reading {
		l.reading = false
		l.sess.port.SetReadDeadline(past)
	}
	l.mu.Unlock()

	select {
	case g := <-w.ready:
		if g.err == nil && ctx.Err() != nil {
			l.release()
			return nil, l.gaveUp(ctx)
		}
		return g.sess, g.err
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // The turn came at the same moment.
		if g := <-w.ready; g.err == nil {
			l.release()
		}
	}
	return nil, l.gaveUp(ctx)
}

func (l *Line) gaveUp(ctx context.Context) error {
	return fmt.Errorf("%s: waiting for the line: %w", l.name, context.Cause(ctx))
}

// release passes the turn on, or lets the line rest.
func (l *Line) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = false
	if l.sess == nil || len(l.waiting) == 0 {
		l.busy = false
		l.rested = time.Now()
		if !l.armed {
			l.armed = true
			l.idle.Reset(idleAfter)
		}
		return
	}
	i := l.next()
	w := l.waiting[i]
	l.waiting = slices.Delete(l.waiting, i, i+1)
	l.serve(w.user)
	w.ready <- grant{sess: l.sess}
}

// next picks who gets the turn: the highest priority, among those the user who
// has waited longest since its last turn, and its oldest request. l.mu is held.
func (l *Line) next() int {
	best := 0
	for i, w := range l.waiting {
		b := l.waiting[best]
		if w.prio > b.prio || w.prio == b.prio && w.user.served < b.user.served {
			best = i
		}
	}
	return best
}

// serve notes that the user gets a turn. l.mu is held.
func (l *Line) serve(u *User) {
	l.turn++
	u.served = l.turn
}

// refuse answers all who wait with an error.
func (l *Line) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		w.ready <- grant{err: err}
	}
	clear(l.waiting)
	l.waiting = l.waiting[:0]
}
