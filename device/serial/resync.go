package serial

import (
	"errors"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
)

// Bounds of resync: how often a single line has to come in a row, and how often
// is asked for that.
const (
	wantedAlone = 2
	maxProbes   = 6
)

// resync brings requests and replies back in step. next is what will be asked and
// may be nil; it, or some other query of the device, is asked in vain where needed.
// The answer's fault is set if that failed.
func (t *talk) resync(lead string, next *exchange) (answer, error) {
	s := t.sync
	switch {
	case t.isInStep():
		// What follows an odd line is dropped, and a late reply of another
		// instrument is not talked over; nothing has to be proved.
		rest := func() time.Time {
			if quiet := s.noiseAt.Add(t.plan.quietTime); s.owed > 0 && !s.distinct(lead) && quiet.After(s.settle) {
				return quiet
			}
			return s.settle
		}
		if time.Now().Before(rest()) {
			_, a, err := t.drain(rest)
			return a, err
		}
		return answer{}, nil
	case s.distinct(lead):
		return answer{}, nil
	}
	_, a, err := t.drain(func() time.Time { return s.noiseAt.Add(t.silence()) })
	if err != nil || !a.ok() || t.isInStep() {
		return a, err
	}
	if x := t.distinctQuery(); x != nil {
		a, err := t.ask(x)
		if err == nil && a.ok() {
			_, a, err = t.readReply(x, nil)
		}
		if err == nil && a.ok() {
			t.inStep()
		}
		return a, err
	}
	return t.probe(lead, t.usualQuery(next))
}

// distinctQuery returns a query whose reply differs from all that are owed.
func (t *talk) distinctQuery() *exchange {
	for _, x := range t.plan.polls {
		if t.sync.distinct(x.leading) {
			return x
		}
	}
	return nil
}

// usualQuery returns a query of which it is known how long its reply takes:
// preferably next, and that also where none is.
func (t *talk) usualQuery(next *exchange) *exchange {
	if next != nil && t.pace.knows(next) {
		return next
	}
	for _, x := range t.plan.polls {
		if t.pace.knows(x) {
			return x
		}
	}
	if next == nil && len(t.plan.exchanges) > 0 {
		return t.plan.exchanges[0]
	}
	return next
}

// probe asks a query in vain until it is proved that nothing is owed.
func (t *talk) probe(lead string, x *exchange) (answer, error) {
	for asked, alone := 0, 0; x != nil && alone < wantedAlone; asked++ {
		if asked == maxProbes {
			return answer{at: time.Now(), fault: failure(gateway.StatusRead, "more comes than was asked for")}, nil
		}
		single, a, err := t.probeOnce(lead, x)
		switch {
		case err != nil || !a.ok() || t.isInStep():
			return a, err
		case single:
			alone++
		default:
			alone = 0
		}
	}
	t.inStep()
	return answer{}, nil
}

// probeOnce asks for a line that does not count, and counts the lines that follow
// it before there is silence. It reports whether none did and that line came as
// soon as the reply to x usually does: one that is owed comes at any time.
func (t *talk) probeOnce(lead string, x *exchange) (single bool, a answer, err error) {
	s := t.sync
	if a, err := t.ask(x); err != nil || !a.ok() {
		return false, a, err
	}
	line, err := t.nextReply(s.sentAt.Add(t.plan.replyTimeout))
	switch {
	case errors.Is(err, errNothing):
		t.missing(lead)
		return false, answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "no answer within %v", t.plan.replyTimeout)}, nil
	case errors.Is(err, errStopped), errors.Is(err, errTooLong):
		t.missing(lead)
		return false, answer{at: time.Now(), fault: failure(gateway.StatusRead, "%v: %s", err, quoted(line))}, nil
	case err != nil:
		t.broken(lead, err)
		return false, answer{}, err
	}
	// That line was the probe's reply or one that was owed; as many are owed as before.
	s.noiseAt = t.session.lastAt
	quiet, usual := t.plan.replyTimeout*5/4, true
	if t.pace.knows(x) {
		took := s.noiseAt.Sub(s.sentAt)
		if usual = took <= t.pace.slowest()*3/2+t.plan.quietTime/4; !usual {
			t.pace.late = max(t.pace.late, took) // It may have become slower.
		}
		quiet = t.silence()
	}
	more, a, err := t.drain(func() time.Time { return s.noiseAt.Add(quiet) })
	return usual && more == 0, a, err
}

// nextReply is next for lines that nobody waits for. It leaves out those that
// cannot be a reply: an instrument that tells things unasked may never be silent.
func (t *talk) nextReply(deadline time.Time) ([]byte, error) {
	for {
		line, err := t.next(deadline)
		if err != nil || t.unsolicited(line) {
			return line, err
		}
	}
}

// drain drops what arrives until a time that each late byte may move, or until
// nothing is owed any more, and counts the lines. A line that never becomes
// silent is a fault.
func (t *talk) drain(until func() time.Time) (lines int, a answer, err error) {
	s := t.sync
	owed := s.owed > 0
	limit := time.Now().Add(max(10*t.plan.quietTime, time.Second))
	for !owed || s.owed > 0 {
		_, err := t.nextReply(until())
		switch {
		case errors.Is(err, errNothing):
			return lines, answer{}, nil
		case errors.Is(err, errStopped), errors.Is(err, errTooLong):
			// The rest of a torn reply counts as it.
		case err != nil:
			return lines, answer{}, err
		}
		lines++
		s.noiseAt = t.session.lastAt
		t.arrived()
		if time.Now().After(limit) {
			return lines, answer{at: time.Now(), fault: failure(gateway.StatusRead, "%v", link.ErrNoisy)}, nil
		}
	}
	return lines, answer{}, nil
}
