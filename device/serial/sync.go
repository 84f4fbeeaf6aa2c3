package serial

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
)

// A lockstep tells whether requests and replies are in step: whether the next
// line can only be the reply to the next request. An instrument that is slow
// once answers later, and bare numbers do not say what they belong to. So after
// a reply that did not come, unless what it begins with tells it from the next,
//
//  1. the next exchange waits until the line was silent for long enough, and
//     counts the lines that come late;
//  2. unless all that were owed have come, the next query is first asked in
//     vain until, twice in a row, a single line has come and then silence. An
//     instrument answers in order, so another reply would have followed if that
//     line had been an old one.
//
// Long enough is the quiet time, or somewhat longer than the instrument's
// slowest reply takes if that is more. What can still deceive it is an
// instrument that pauses for longer than that twice in a row while it answers,
// as one does whose replies all take longer than the reply timeout.
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

// silence is how long nothing must come until nothing more comes, where the next
// line may be the reply to probe.
func (t *talk) silence(probe *exchange) time.Duration {
	slowest := t.pace.slowest()
	if !t.pace.knows(probe) {
		slowest = t.plan.replyTimeout
	}
	return max(t.plan.quietTime, slowest*5/4)
}

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

// resync brings requests and replies back in step. probe may be nil; it, or else
// some query of the device, is asked in vain where needed. The answer's fault is
// set if that failed.
func (t *talk) resync(lead string, probe *exchange) (answer, error) {
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
	if probe == nil && len(t.plan.exchanges) > 0 {
		probe = t.plan.exchanges[0]
	}
	_, a, err := t.drain(func() time.Time { return s.noiseAt.Add(t.silence(probe)) })
	if err != nil || !a.ok() || s.owed == 0 {
		return a, err
	}
	for asked, alone := 0, 0; probe != nil && alone < wantedAlone; asked++ {
		if asked == maxProbes {
			return answer{at: time.Now(), fault: failure(gateway.StatusRead, "more comes than was asked for")}, nil
		}
		more, a, err := t.probe(lead, probe)
		switch {
		case err != nil || !a.ok() || s.owed == 0:
			return a, err
		case more > 0:
			alone = 0
		default:
			alone++
		}
	}
	t.inStep()
	return answer{}, nil
}

// Bounds of resync: how often a single line has to come in a row, and how often
// is asked for that.
const (
	wantedAlone = 2
	maxProbes   = 6
)

// probe asks for a line that does not count, and counts the lines that follow it
// before there is silence.
func (t *talk) probe(lead string, probe *exchange) (more int, a answer, err error) {
	s := t.sync
	if a, err := t.ask(probe); err != nil || !a.ok() {
		return 0, a, err
	}
	line, err := t.nextReply(s.sentAt.Add(t.plan.replyTimeout))
	switch {
	case errors.Is(err, errNothing):
		t.missing(lead)
		return 0, answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "no answer within %v", t.plan.replyTimeout)}, nil
	case errors.Is(err, errStopped), errors.Is(err, errTooLong):
		t.missing(lead)
		return 0, answer{at: time.Now(), fault: failure(gateway.StatusRead, "%v: %s", err, quoted(line))}, nil
	case err != nil:
		t.broken(lead, err)
		return 0, answer{}, err
	}
	// That line was the probe's reply or one that was owed; as many are owed as before.
	s.noiseAt = t.session.lastAt
	return t.drain(func() time.Time { return s.noiseAt.Add(t.silence(probe)) })
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
