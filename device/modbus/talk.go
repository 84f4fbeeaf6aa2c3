package modbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// A talk is one turn on the line.
type talk struct {
	*Driver
	conn *link.Conn
	ctx  context.Context
}

// An answer is how a request ended.
type answer struct {
	data      []byte // what was read; valid until the next request
	at        time.Time
	sent      bool          // the unit may have seen the request
	exception pdu.Exception // by which the unit said no; 0 is none
	fault     gateway.Alarm // no alarm if the unit did it
}

// failed reports whether the unit did not do what was asked.
func (a *answer) failed() bool { return a.fault.Severity != gateway.NoAlarm }

// known reports whether there is anything to tell: not if the context ended.
func (a *answer) known() bool { return a.failed() || !a.at.IsZero() }

// notThere reports whether the unit does not have all that was asked for.
func (a *answer) notThere() bool {
	return a.exception == pdu.IllegalDataAddress || a.exception == pdu.IllegalDataValue
}

// ask brings requests and replies in step, and asks. The error is the line's or
// the context's; everything else is in the answer.
func (t *talk) ask(req *pdu.Request) (answer, error) {
	a, err := t.inStep(req)
	if errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil {
		return stuck(), nil
	}
	if err != nil || a.failed() {
		a.sent, a.exception = false, 0
		return a, err
	}
	a, err = t.exchange(req)
	if errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil {
		sent := a.sent
		a = stuck()
		a.sent = sent
		err = nil
	}
	return a, err
}

// stuck is the answer where flow control held up the request.
func stuck() answer {
	return answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "the line does not take the request")}
}

// exchange sends a request and waits for its reply.
func (t *talk) exchange(req *pdu.Request) (answer, error) {
	s := t.sync
	if !s.overTCP {
		// The silence in front of a frame (serial line, section 2.5.1.1).
		if a, err := t.drain(func() time.Time { return s.lastAt.Add(t.silence) }); err != nil || a.failed() {
			return a, err
		}
	}
	s.transaction++
	t.pdu = req.Append(t.pdu[:0])
	if s.overTCP {
		t.out = pdu.AppendTCP(t.out[:0], s.transaction, t.plan.unit, t.pdu)
	} else {
		t.out = pdu.AppendRTU(t.out[:0], t.plan.unit, t.pdu)
	}
	n, err := t.conn.Write(t.out)
	// What a port has taken is not on the line yet.
	s.lastAt = time.Now().Add(time.Duration(n) * t.byteTime)
	a := answer{sent: n > 0}
	if err == nil {
		a, err = t.await(req, s.lastAt.Add(t.plan.replyTimeout))
		a.sent = true
	}
	if err != nil && n > 0 {
		s.missing(t.debt(req))
	}
	return a, err
}

// maxReply is how long a reply can go on after the deadline by which it must have
// begun: what does not end by then is a line that babbles.
func (t *talk) maxReply() time.Duration {
	return max(time.Second, 10*t.plan.readTimeout) + maxPending*t.byteTime
}

// await waits for the reply to req, which must begin before the deadline.
func (t *talk) await(req *pdu.Request, deadline time.Time) (answer, error) {
	s := t.sync
	from := source{t.plan.unit, req.Function}
	limit := deadline.Add(t.maxReply())
	noise := 0 // bytes that were not of the reply
	s.damaged = source{}
	for {
		for {
			before := len(s.in)
			f, ok := s.next()
			if !ok {
				noise += before - len(s.in)
				break
			}
			if a, mine := t.reply(req, f); mine {
				return a, nil
			}
			noise += before - len(s.in)
		}
		if s.damaged == from {
			s.missing(t.debt(req))
			return answer{at: s.lastAt, fault: failure(gateway.StatusRead, "the check bytes of the reply are wrong")}, nil
		}
		if s.torn {
			return answer{at: s.lastAt, fault: failure(gateway.StatusRead, "what came was no Modbus TCP: is the framing rtu?")}, nil
		}
		if s.lastAt.After(limit) {
			s.missing(t.debt(req))
			return answer{at: s.lastAt, fault: failure(gateway.StatusRead, "%v", link.ErrNoisy)}, nil
		}
		begun := len(s.in) > 0
		until := deadline
		if begun {
			until = s.lastAt.Add(t.plan.readTimeout)
		}
		n, at, err := t.conn.Read(t.chunk, until)
		switch {
		case errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil:
			if begun && (s.overTCP || from.begins(s.in)) {
				// The rest may still come, and is then late.
				s.missing(t.debt(req))
				return answer{at: time.Now(), fault: failure(gateway.StatusRead, "the reply stopped in its middle")}, nil
			}
			if s.skip() {
				noise++
				continue
			}
			if time.Now().Before(deadline) {
				continue
			}
			s.missing(t.debt(req))
			return t.silent(noise), nil
		case err != nil:
			return answer{}, err
		}
		s.add(t.chunk[:n], at)
		if !begun && at.After(deadline) {
			// A process that was stopped finds bytes that have waited for it.
			// They are as late as if they came now.
			s.missing(t.debt(req))
			t.dropLate()
			return t.silent(0), nil
		}
	}
}

// silent is the answer where no reply came.
func (t *talk) silent(noise int) answer {
	a := answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "no answer within %v", t.plan.replyTimeout)}
	if noise > 0 {
		a.fault.Text += fmt.Sprintf(", but %d bytes that were none", noise)
	}
	return a
}

// reply reads a frame. mine is false if it is not the reply to req: then it came
// late, or from another unit.
func (t *talk) reply(req *pdu.Request, f pdu.Frame) (a answer, mine bool) {
	s := t.sync
	if s.overTCP && f.Transaction != s.transaction {
		return answer{}, false
	}
	data, err := req.Reply(f.PDU)
	if f.Unit != t.plan.unit || errors.Is(err, pdu.ErrNotReply) {
		s.late(f)
		return answer{}, false
	}
	a = answer{data: data, at: s.lastAt}
	if errors.As(err, &a.exception) {
		a.fault = failure(exceptionStatus(a.exception), "the device says: %v", a.exception)
	}
	return a, true
}

// exceptionStatus is the alarm status of a reading that was refused. That a
// gateway does not reach the unit is no answer of the unit.
func exceptionStatus(e pdu.Exception) gateway.Status {
	if e == pdu.GatewayPath || e == pdu.GatewayTarget {
		return gateway.StatusTimeout
	}
	return gateway.StatusRead
}
