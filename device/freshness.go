package device

import (
	"slices"
	"time"

	"github.com/polygate/gateway"
)

// A pollState is how a poll fares.
type pollState struct {
	achieved  time.Duration // smoothed interval between the ends of exchanges; 0 before the second
	done      time.Time     // when the last exchange ended, or zero since the last connect
	deadline  time.Time     // when the poll is overdue, or zero
	stale     bool
	skipped   uint64
	exchanges uint64
	last      time.Duration // how long the last exchange took
}

// limit is how long a poll may take to come round before it is overdue: the
// larger of three achieved periods and of one period and the reply timeout,
// unless the model says otherwise.
func (p *pollState) limit(poll *Poll, replyTimeout time.Duration) time.Duration {
	if poll.MaxAge > 0 {
		return poll.MaxAge
	}
	return max(3*max(p.achieved, poll.Period), poll.Period+replyTimeout)
}

// finished takes note of an exchange that has just ended.
func (p *pollState) finished(began, now time.Time) {
	if !p.done.IsZero() {
		interval := now.Sub(p.done)
		if p.achieved == 0 {
			p.achieved = interval
		}
		// An eighth of the way, so that one late exchange hardly moves the limit.
		p.achieved += (interval - p.achieved) / 8
	}
	p.done = now
	p.last = now.Sub(began)
	p.exchanges++
}

// polledLocked takes note of an exchange of poll i that ended now. A failed one
// counts, too: it says by itself that the value is not to be trusted.
func (s *Supervisor) polledLocked(i int, began, now time.Time) {
	p := &s.polls[i]
	p.finished(began, now)
	if !s.connected {
		return
	}
	p.deadline = now.Add(p.limit(&s.model.Polls[i], s.model.ReplyTimeout))
	s.armLocked(p.deadline)
	if p.stale {
		p.stale = false
		s.reportStaleLocked()
	}
}

// refreshedLocked takes note that an exchange which was no poll, the read-back
// of a put or a refresh, has read everything that a poll would have.
func (s *Supervisor) refreshedLocked(readings []Reading, now time.Time) {
	if !s.connected || len(readings) == 0 {
		return
	}
	good := func(index int) bool {
		return slices.ContainsFunc(readings, func(r Reading) bool {
			return r.Index == index && r.Role == gateway.Readback && !r.Failed()
		})
	}
	changed := false
	for i := range s.polls {
		poll, p := &s.model.Polls[i], &s.polls[i]
		if len(poll.Indices) > len(readings) || slices.ContainsFunc(poll.Indices, func(index int) bool { return !good(index) }) {
			continue
		}
		p.deadline = now.Add(p.limit(poll, s.model.ReplyTimeout))
		s.armLocked(p.deadline)
		changed = changed || p.stale
		p.stale = false
	}
	if changed {
		s.reportStaleLocked()
	}
}

// startFreshnessLocked begins to judge all polls from now on; what happened
// before the device was connected does not count.
func (s *Supervisor) startFreshnessLocked(now time.Time) {
	for i := range s.polls {
		p := &s.polls[i]
		p.stale = false
		p.deadline = now.Add(p.limit(&s.model.Polls[i], s.model.ReplyTimeout))
		s.armLocked(p.deadline)
	}
}

// stopFreshnessLocked ends that: while the device is away nothing is stale in
// particular.
func (s *Supervisor) stopFreshnessLocked() {
	for i := range s.polls {
		p := &s.polls[i]
		p.stale, p.deadline, p.done, p.achieved = false, time.Time{}, time.Time{}, 0
	}
	s.stale = nil
}

// checkFreshnessLocked reports what has become overdue and returns when the
// next poll will be.
func (s *Supervisor) checkFreshnessLocked(now time.Time) (next time.Time) {
	changed := false
	for i := range s.polls {
		p := &s.polls[i]
		if p.stale || p.deadline.IsZero() {
			continue
		}
		if isDue(p.deadline, now) {
			p.stale, changed = true, true
			continue
		}
		next = earlier(next, p.deadline)
	}
	if changed {
		s.reportStaleLocked()
	}
	return next
}

// reportStaleLocked publishes which attributes are stale: those that no poll
// which is on time refreshes. The list of a state that was published is not
// changed afterwards.
func (s *Supervisor) reportStaleLocked() {
	const overdue, onTime = 1, 2
	marks := make([]byte, len(s.attrs))
	for i := range s.polls {
		mark := byte(onTime)
		if s.polls[i].stale {
			mark = overdue
		}
		for _, index := range s.model.Polls[i].Indices {
			marks[index] = max(marks[index], mark)
		}
	}
	var stale []uint32
	for index, mark := range marks {
		if mark == overdue {
			stale = append(stale, uint32(index))
		}
	}
	if !slices.Equal(stale, s.stale) {
		s.stale = stale
		s.publishStateLocked()
	}
}

// A silence tells a device that is away behind an open link (its power is off,
// and the terminal server's is not) from single queries that it does not
// answer.
type silence struct {
	streak   int    // exchanges in a row that nothing answered
	answered []bool // by poll: has answered since the last connect
	tried    []bool // by poll: in this streak
	spoke    bool   // anything has answered since the last connect
	evidence bool   // a poll in this streak had answered before
	silent   bool   // the device counts as away
}

func (q *silence) reset(polls int) {
	*q = silence{answered: make([]bool, polls), tried: make([]bool, polls)}
}

// heard takes note of an answer, to a poll or of the device's own accord (-1).
func (q *silence) heard(poll int) {
	if q.streak > 0 {
		clear(q.tried)
	}
	q.streak, q.evidence, q.spoke = 0, false, true
	if poll >= 0 {
		q.answered[poll] = true
	}
}

// missed takes note of a poll that nothing answered and reports whether the
// device has just become silent: enough polls in a row went unanswered, and
// either one of them has been answered before or every poll was tried in vain.
func (q *silence) missed(poll int) bool {
	q.streak++
	q.tried[poll] = true
	q.evidence = q.evidence || q.answered[poll]
	if q.silent || q.streak < silentPolls {
		return false
	}
	if q.evidence {
		q.silent = true
		return true
	}
	for _, tried := range q.tried {
		if !tried {
			return false
		}
	}
	q.silent = !q.spoke
	return q.silent
}

// unanswered reports whether nothing at all came back in an exchange. Without
// readings there is nothing that went unanswered.
func unanswered(readings []Reading) bool {
	for i := range readings {
		r := &readings[i]
		if !r.Failed() || r.Alarm.Status != gateway.StatusTimeout && r.Alarm.Status != gateway.StatusComm {
			return false
		}
	}
	return len(readings) > 0
}
