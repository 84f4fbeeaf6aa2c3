package serial

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// A lockstep tells whether requests and replies are in step: whether the next
// line can only be the reply to the next request. An instrument that is slow
// once answers later, and bare numbers do not say what they belong to. So after
// a reply that did not come, unless what it begins with tells it from the next,
//
//  1. the next exchange waits until the line was silent for long enough, and
//     counts the lines that come late;
//  2. unless all that were owed have come, something is asked whose reply tells
//     by what it begins with that it is none of those. An instrument answers in
//     order, so when it comes, they come no more;
//  3. or, where there is no such query, the next one is first asked in vain
//     until, twice in a row, a single line has come as soon as usual and then
//     silence. Another reply would have followed if that line had been an old
//     one.
//
// Long enough is the quiet time, or somewhat longer than the instrument's
// slowest reply takes if that is more. What can still deceive it is an
// instrument without such a query which, twice in a row, says an old reply just
// when the next could come and then pauses for longer than that, as one does
// whose replies all take longer than the reply timeout.
//
// Lines that the device listens for or ignores are never taken for a reply, so
// they neither count nor end the silence.
//
// On a line with several instruments each is brought in step for itself, as
// another's answer proves nothing of its own. While one owes a reply, one of
// another counts only if its own does not follow it.
//
// After a line that did not match, which may have been noise in front of the
// reply, what still comes is dropped until twice the time that the slowest
// reply so far has taken, and the read timeout, have passed.
type lockstep struct {
	owed    int              // replies that have not come; maxOwed is that or more
	debtors map[*Driver]bool // whose they may be
	leads   []string         // what they begin with; "" where that is not known
	oldest  time.Time        // when the first request was sent whose reply is owed
	settle  time.Time
	sentAt  time.Time // when the last request was sent
	ended   time.Time // the last exchange
	noiseAt time.Time // when it was noticed that a reply is missing, or a late byte came
}

// maxOwed bounds the count for a device that never answers.
const maxOwed = 8

// missing says that a reply did not come.
func (t *talk) missing(lead string) {
	s := t.sync
	if s.owed == 0 {
		s.oldest = s.sentAt
	}
	s.owed = min(s.owed+1, maxOwed)
	if s.debtors == nil {
		s.debtors = map[*Driver]bool{}
	}
	s.debtors[t.Driver] = true
	if !slices.Contains(s.leads, lead) {
		s.leads = append(s.leads, lead)
	}
	s.noiseAt = time.Now()
}

// odd says that a line came which is perhaps not the reply.
func (t *talk) odd() {
	patience := t.plan.replyTimeout
	if slowest := t.pace.slowest(); slowest > 0 {
		patience = min(patience, 2*slowest+t.plan.readTimeout)
	}
	t.sync.settle = t.sync.sentAt.Add(patience)
}

// arrived says that a line came late.
func (t *talk) arrived() {
	s := t.sync
	if s.owed == 0 {
		return
	}
	late := min(time.Since(s.oldest), t.plan.replyTimeout)
	for d := range s.debtors {
		d.pace.late = max(d.pace.late, late)
	}
	if s.owed == maxOwed {
		return // There may be more.
	}
	if s.owed--; s.owed == 0 {
		s.paid()
	}
}

// paid says that no reply can come any more that is not waited for.
func (s *lockstep) paid() {
	clear(s.debtors)
	s.owed, s.leads = 0, s.leads[:0]
}

// inStep says that the next line can only be the reply to this device's next request.
func (t *talk) inStep() {
	delete(t.sync.debtors, t.Driver)
	if len(t.sync.debtors) == 0 {
		t.sync.paid()
	}
}

// isInStep reports whether this device owes nothing.
func (t *talk) isInStep() bool { return !t.sync.debtors[t.Driver] }

// answered says that the reply to a request came, which begins with lead. If that
// makes it distinct, this device owes nothing any more: what it was asked before
// it has answered before, or not at all. One that answers out of order has the
// quiet time to do so.
func (t *talk) answered(lead string) {
	if s := t.sync; !t.isInStep() && s.distinct(lead) && time.Since(s.noiseAt) >= t.plan.quietTime {
		t.inStep()
	}
}

// silence is how long nothing must come until nothing more comes.
func (t *talk) silence() time.Duration { return max(t.plan.quietTime, t.pace.slowest()*5/4) }

// distinct reports whether a reply that begins with lead differs from all that are owed.
func (s *lockstep) distinct(lead string) bool {
	if lead == "" {
		return false
	}
	for _, other := range s.leads {
		if other == "" || strings.HasPrefix(lead, other) || strings.HasPrefix(other, lead) {
			return false
		}
	}
	return true
}

// followed waits, while another device owes a reply, whether a line follows the
// one that came. Then one of the two is that reply, and nothing tells which.
func (t *talk) followed(lead string) (bool, error) {
	if lead != "" || t.sync.owed == 0 {
		return false, nil
	}
	until := time.Now().Add(t.pace.slowest()*3/2 + turnaround)
	for {
		line, err := t.next(until)
		switch {
		case errors.Is(err, errNothing):
			return false, nil
		case errors.Is(err, errStopped), errors.Is(err, errTooLong):
		case err != nil:
			return false, err
		case t.session.heard(line, t.session.lastAt, false), matches(t.plan.ignore, line):
			continue
		}
		t.unsolicited(line)
		t.sync.noiseAt = t.session.lastAt
		if t.arrived(); t.sync.owed > 0 {
			t.sync.debtors[t.Driver] = true // Perhaps neither was its own.
		}
		return true, nil
	}
}

// broken takes note of a reply that was not waited for until its end. A port
// that was lost has taken with it what was on its way; only what the instrument
// sends after it is open again can be late.
func (t *talk) broken(lead string, err error) {
	if lost(err) == nil {
		t.missing(lead)
		return
	}
	t.sync.paid()
	t.sync.settle = time.Now().Add(t.plan.quietTime)
}
