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
//  1. the next exchange waits until the line was silent for the quiet time,
//     and counts the lines that come late;
//  2. if the missing reply was not among them, the next query is first asked
//     once in vain, until the line is silent again, and then in earnest.
//
// A reply that is late by more than twice the quiet time can still deceive it;
// then the reply timeout is too short for the instrument.
//
// After a line that did not match, which may have been noise in front of the
// reply, what still comes is dropped until twice the time that the slowest
// reply so far has taken, and the read timeout, have passed.
type lockstep struct {
	owed    int      // replies that have not come
	leads   []string // what they begin with; "" where that is not known
	settle  time.Time
	slowest time.Duration // that a reply took to come
	sentAt  time.Time     // when the last request was sent
	ended   time.Time     // the last exchange
	noiseAt time.Time     // when it was noticed that a reply is missing, or a late byte came
}

// maxOwed bounds the count for a device that never answers.
const maxOwed = 8

// missing says that a reply did not come.
func (s *lockstep) missing(lead string) {
	s.owed = min(s.owed+1, maxOwed)
	if !slices.Contains(s.leads, lead) {
		s.leads = append(s.leads, lead)
	}
	s.noiseAt = time.Now()
}

// odd says that a line came which is perhaps not the reply.
func (s *lockstep) odd(replyTimeout, readTimeout time.Duration) {
	patience := replyTimeout
	if s.slowest > 0 {
		patience = min(patience, 2*s.slowest+readTimeout)
	}
	s.settle = s.sentAt.Add(patience)
}

// arrived says that a line came late.
func (s *lockstep) arrived() {
	if s.owed > 0 {
		s.owed--
	}
	if s.owed == 0 {
		s.leads = s.leads[:0]
	}
}

// inStep forgets what is owed.
func (s *lockstep) inStep() { s.owed, s.leads = 0, s.leads[:0] }

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

// resync brings requests and replies back in step. probe may be nil; it is
// asked in vain where needed. The answer's fault is set if that failed.
func (t *talk) resync(lead string, probe *exchange) (answer, error) {
	s := t.sync
	if s.owed == 0 && !time.Now().Before(s.settle) || s.owed > 0 && s.distinct(lead) {
		return answer{}, nil
	}
	if s.owed == 0 {
		// Only what follows an odd line is dropped; it is not waited for silence.
		return t.drain(func() time.Time { return s.settle })
	}
	a, err := t.drain(func() time.Time { return s.noiseAt.Add(t.plan.quietTime) })
	if err != nil || !a.ok() || s.owed == 0 {
		return a, err
	}
	if probe == nil {
		s.inStep()
		return answer{}, nil
	}
	if a, err := t.ask(probe); err != nil || !a.ok() {
		return a, err
	}
	line, err := t.next(s.sentAt.Add(t.plan.replyTimeout))
	switch {
	case errors.Is(err, errNothing):
		s.missing(lead)
		return answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "no answer within %v", t.plan.replyTimeout)}, nil
	case errors.Is(err, errStopped), errors.Is(err, errTooLong):
		s.missing(lead)
		return answer{at: time.Now(), fault: failure(gateway.StatusRead, "%v: %s", err, quoted(line))}, nil
	case err != nil:
		t.broken(lead, err)
		return answer{}, err
	}
	// That line was the probe's reply or one that was owed; as many are owed as before.
	s.noiseAt = t.session.lastAt
	t.unsolicited(line)
	a, err = t.drain(func() time.Time { return s.noiseAt.Add(t.plan.quietTime) })
	if err == nil && a.ok() {
		s.inStep()
	}
	return a, err
}

// broken takes note of a reply that was not waited for until its end. A port
// that was lost has taken with it what was on its way; only what the instrument
// sends after it is open again can be late.
func (t *talk) broken(lead string, err error) {
	if lost(err) == nil {
		t.sync.missing(lead)
		return
	}
	t.sync.inStep()
	t.sync.settle = time.Now().Add(t.plan.quietTime)
}

// drain drops what arrives until a time that each late byte may move, or until
// nothing is owed any more. A line that never becomes silent is a fault.
func (t *talk) drain(until func() time.Time) (answer, error) {
	s := t.sync
	owed := s.owed > 0
	limit := time.Now().Add(max(10*t.plan.quietTime, time.Second))
	for !owed || s.owed > 0 {
		line, err := t.next(until())
		switch {
		case errors.Is(err, errNothing):
			return answer{}, nil
		case errors.Is(err, errStopped), errors.Is(err, errTooLong):
			// The rest of a torn reply counts as it.
		case err != nil:
			return answer{}, err
		}
		s.noiseAt = t.session.lastAt
		t.unsolicited(line)
		s.arrived()
		if time.Now().After(limit) {
			return answer{at: time.Now(), fault: failure(gateway.StatusRead, "%v", link.ErrNoisy)}, nil
		}
	}
	return answer{}, nil
}

// query brings the line in step, runs the exchange and appends its readings.
func (t *talk) query(x *exchange, into []reading) ([]reading, error) {
	a, err := t.resync(x.leading, x)
	if err == nil && a.ok() {
		if a, err = t.ask(x); err == nil && a.ok() {
			into, _, err = t.readReply(x, into)
			return into, err
		}
	}
	if errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil {
		a, err = answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "the line does not take the request")}, nil
	}
	if err != nil {
		return into, err
	}
	return x.failed(a.fault, a.at, into), nil
}

// readReply waits for the reply to an exchange whose request was sent, and
// appends its readings.
func (t *talk) readReply(x *exchange, into []reading) ([]reading, answer, error) {
	start := len(into)
	a, err := t.await(x.request, x.leading, func(line []byte) error {
		var err error
		into, err = t.match(x, line, into[:start])
		return err
	})
	if err != nil {
		return into[:start], a, err
	}
	if !a.ok() {
		into = x.failed(a.fault, a.at, into[:start])
	}
	return into, a, nil
}

// match appends what a line says, if all of the exchange's formats fit it.
func (t *talk) match(x *exchange, line []byte, into []reading) ([]reading, error) {
	start, at := len(into), t.session.lastAt
	for i := range x.targets {
		target := &x.targets[i]
		if len(target.values) == 1 {
			v := &target.values[0]
			if s, ok := v.codec.matchSpecial(line); ok {
				into = append(into, reading{Index: v.index, Role: gateway.Readback, Value: s.value, Time: at, Alarm: s.alarm})
				continue
			}
		}
		var err error
		if t.read, err = target.format.MatchInto(t.read[:0], line); err != nil {
			return into, err
		}
		into = target.readings(t.read, at, into)
	}
	// A number that does not fit its type makes the whole line doubtful.
	said := into[start:]
	for i := range said {
		if r := &said[i]; r.Failed() && r.Alarm.Status == gateway.StatusCalc {
			for j := range said {
				said[j].Value, said[j].Alarm = gateway.Value{}, r.Alarm
			}
			break
		}
	}
	return into, nil
}
