package device

import (
	"context"
	"time"
)

// deadlines are what the keeper waits for, besides those of polls and puts. A
// zero time is never.
type deadlines struct {
	armed     time.Time // when the keeper will look next
	beat      time.Time // the state is repeated
	announce  time.Time // an announcement was asked for
	announced time.Time // the last one
	drain     time.Time // the put that is running is cut off
	reclaim   time.Time // the rival has been silent for long enough
	reclaimed bool
	speak     bool // a rival of a lower term must hear of us
}

// keep does what is due at a certain time, until stop is closed. It sleeps
// until the earliest deadline. One that has moved back is noticed only when the
// old time comes; one that came nearer pokes it.
func (s *Supervisor) keep(ctx context.Context, stop <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	stopping := ctx.Done()
	for {
		next := s.doDue()
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-stop:
			return
		case <-stopping:
			stopping = nil
			s.stopPuts()
		case <-s.poke:
		case <-timer.C:
		}
	}
}

// doDue does what is due and returns the next deadline.
func (s *Supervisor) doDue() time.Time {
	s.mu.Lock()
	now := time.Now()
	answers, next := s.expireLocked(now)
	next = earlier(next, s.checkFreshnessLocked(now))

	d := &s.deadlines
	if isDue(d.announce, now) {
		s.announceLocked()
	}
	if d.speak || isDue(d.beat, now) {
		d.speak = false
		s.publishStateLocked()
	}
	if isDue(d.drain, now) {
		d.drain = time.Time{}
		s.cancelPuts()
	}
	if isDue(d.reclaim, now) {
		d.reclaim, d.reclaimed = time.Time{}, true
		signal(s.wake)
	}
	for _, t := range []time.Time{d.announce, d.beat, d.drain, d.reclaim} {
		next = earlier(next, t)
	}
	d.armed = next
	s.mu.Unlock()
	answers.send()
	return next
}

// armLocked makes the keeper look at t, if it would not look before.
func (s *Supervisor) armLocked(t time.Time) {
	if s.deadlines.armed.IsZero() || t.Before(s.deadlines.armed) {
		s.deadlines.armed = t
		signal(s.poke)
	}
}

// beatLocked moves the heartbeat: whatever says the state counts as one.
func (s *Supervisor) beatLocked(now time.Time) {
	if s.opts.Heartbeat > 0 && s.phase != phaseStoodDown {
		s.deadlines.beat = now.Add(s.opts.Heartbeat)
		s.armLocked(s.deadlines.beat)
		return
	}
	s.deadlines.beat = time.Time{}
}

func isDue(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
