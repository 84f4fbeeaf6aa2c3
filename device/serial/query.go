package serial

import (
	"errors"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
)

// query brings the line in step, runs the exchange and appends its readings. Where
// two lines came for one, it asks once more.
func (t *talk) query(x *exchange, into []reading) ([]reading, error) {
	start := len(into)
	into, crowded, err := t.queryOnce(x, into)
	if crowded && err == nil {
		into, _, err = t.queryOnce(x, into[:start])
	}
	return into, err
}

func (t *talk) queryOnce(x *exchange, into []reading) (all []reading, crowded bool, err error) {
	a, err := t.resync(x.leading, x)
	if err == nil && a.ok() {
		if a, err = t.ask(x); err == nil && a.ok() {
			into, a, err = t.readReply(x, into)
			return into, a.crowded, err
		}
	}
	if errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil {
		a, err = answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "the line does not take the request")}, nil
	}
	if err != nil {
		return into, false, err
	}
	return x.failed(a.fault, a.at, into), false, nil
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
		return x.failed(a.fault, a.at, into[:start]), a, nil
	}
	t.pace.took(x, a.at.Sub(t.sync.sentAt))
	t.answered(x.leading)
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
