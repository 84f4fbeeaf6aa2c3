package serial

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/stream"
)

// A talk is one turn on the line.
type talk struct {
	*Driver
	conn *link.Conn
	ctx  context.Context
	in   *framer
	// stale says that the line which is not complete yet began before the
	// request was sent, so that it cannot be the reply.
	stale bool
}

// Reasons why no line came. Any other error of line ends the exchange.
var (
	errNothing = errors.New("no answer")
	errStopped = errors.New("the reply stopped in its middle")
	errTooLong = errors.New("the reply does not end")
)

func (t *talk) begin() {
	t.session.talking = true
	t.session.dropOld(time.Now())
	t.stale = len(t.in.rest()) > 0
}

// end gives the lines that nobody asked for to those who listen.
func (t *talk) end() {
	t.leftOver()
	t.session.talking = false
	t.sync.ended = time.Now()
}

// leftOver is for lines that have come and were not waited for.
func (t *talk) leftOver() {
	for {
		line, ok := t.in.next()
		if !ok {
			return
		}
		t.unsolicited(line)
	}
}

// unsolicited is for lines that are not the reply. Another device on the line
// may know them. It reports whether the line may be a reply that came late: one
// that is listened for or ignored is never taken for a reply, so it is none.
func (t *talk) unsolicited(line []byte) (perhapsLate bool) {
	if t.session.heard(line, t.session.lastAt, false) {
		return false
	}
	t.conn.PassOn(line, t.session.lastAt)
	if t.in.check == 0 {
		t.conn.PassOn(t.in.terminator, t.session.lastAt)
	}
	return !matches(t.plan.ignore, line)
}

// send writes a request and its terminator. sent says whether the instrument
// may have seen a part of it.
func (t *talk) send(request []byte) (sent bool, err error) {
	if pause := t.plan.writeDelay - time.Since(t.sync.ended); pause > 0 && t.plan.writeDelay > 0 {
		if err := wait(t.ctx, pause); err != nil {
			return false, err
		}
	}
	// What has come by now is not the reply to this.
	t.leftOver()
	t.stale = len(t.in.rest()) > 0
	t.out = append(append(t.out[:0], request...), t.plan.outTerminator...)
	t.sync.sentAt = time.Now()
	n, err := t.conn.Write(t.out)
	return n > 0, err
}

// wait waits for a time or for the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// next returns the next line that began after the last request. It must begin
// before the deadline and may not pause for longer than the read timeout. The
// line is valid until the next call.
func (t *talk) next(deadline time.Time) ([]byte, error) {
	s := t.session
	if s.lastAt.After(deadline) {
		// The line before has ended too late for another to begin in time. An
		// instrument that never pauses would hold us up for ever.
		return nil, errNothing
	}
	for {
		if line, ok := t.in.next(); ok {
			if t.stale {
				t.stale = false
				if t.unsolicited(line) {
					t.arrived()
				}
				continue
			}
			return line, nil
		}
		if t.in.overflow() {
			t.in.reset()
			return nil, errTooLong
		}
		begun := len(t.in.rest()) > 0 && !t.stale
		until := deadline
		if begun {
			until = s.lastAt.Add(t.plan.readTimeout)
		}
		n, at, err := t.conn.Read(t.chunk, until)
		if err == nil && !begun && at.After(deadline) {
			// A process that was stopped finds bytes that have waited for it.
			// They are as late as if they came now.
			s.lastAt = at
			t.in.add(t.chunk[:n])
			t.stale = true
			return nil, errNothing
		}
		switch {
		case errors.Is(err, link.ErrTimeout) && t.ctx.Err() == nil:
			if !begun {
				return nil, errNothing
			}
			line := t.in.rest()
			t.in.reset()
			if t.in.silence() {
				return line, nil
			}
			return line, errStopped
		case err != nil:
			return nil, err
		}
		if t.stale && at.Sub(s.lastAt) > t.plan.readTimeout {
			t.in.reset()
			t.stale = false
		}
		late := at.After(until)
		s.lastAt = at
		t.in.add(t.chunk[:n])
		if late && !begun {
			t.stale = true
			return nil, errNothing
		}
	}
}

// An answer is how the wait for a reply ended.
type answer struct {
	at      time.Time
	fault   gateway.Alarm // no alarm if the reply matched
	words   []byte        // the line that did not match or that says no; a copy
	refused bool          // it is one of the device's refusals
	crowded bool          // another line came, and nothing tells which is the reply
}

// ok reports whether the reply matched.
func (a *answer) ok() bool { return a.fault.Severity == gateway.NoAlarm }

// await waits for the reply to request: the first line that is neither its
// echo, nor ignored, nor for a listener. match reports what is wrong with it.
// If lead is set, lines that do not begin with it are not the reply. The error
// is the line's or the context's, and the reply is then still to come.
func (t *talk) await(request []byte, lead string, match func(line []byte) error) (answer, error) {
	deadline := t.sync.sentAt.Add(t.plan.replyTimeout)
	echo := t.plan.echo
	var odd answer // the last line that could not be the reply
	for {
		line, err := t.next(deadline)
		switch {
		case errors.Is(err, errNothing) && odd.words != nil:
			t.missing(lead)
			return odd, nil
		case errors.Is(err, errNothing):
			t.missing(lead)
			return answer{at: time.Now(), fault: failure(gateway.StatusTimeout, "no answer within %v", t.plan.replyTimeout)}, nil
		case errors.Is(err, errStopped), errors.Is(err, errTooLong):
			t.missing(lead)
			return answer{at: time.Now(), fault: failure(gateway.StatusRead, "%v: %s", err, quoted(line))}, nil
		case err != nil:
			t.broken(lead, err)
			return answer{}, err
		}
		at := t.session.lastAt
		if echo {
			var whole bool
			if line, whole = t.withoutEcho(line, request); whole {
				echo = false
				continue
			}
		}
		if matches(t.plan.ignore, line) || t.session.heard(line, at, false) {
			continue
		}
		if matches(t.plan.refusals, line) {
			words := bytes.Clone(line)
			return answer{at: at, refused: true, words: words, fault: failure(gateway.StatusCalc, "the device refuses: %s", quoted(words))}, nil
		}
		err = match(line)
		switch {
		case err == nil:
			more, err := t.followed(lead)
			if err == nil && more {
				return answer{at: at, crowded: true, fault: failure(gateway.StatusRead, "two replies came, and nothing tells which is the right one")}, nil
			}
			return answer{at: at}, err
		case len(line) == 0:
			continue // Many instruments frame replies with line ends on both sides.
		}
		odd = answer{at: at, fault: mismatched(err), words: bytes.Clone(line)}
		if lead == "" || bytes.HasPrefix(line, []byte(lead)) {
			t.odd()
			return odd, nil
		}
		t.unsolicited(line)
		t.arrived()
	}
}

// withoutEcho removes the echo of a request from the front of a line. It is
// the whole line where both directions have the same terminator.
func (t *talk) withoutEcho(line, request []byte) (rest []byte, whole bool) {
	rest, ok := bytes.CutPrefix(line, request)
	switch {
	case !ok:
		return line, false
	case len(rest) == 0 || bytes.Equal(rest, t.plan.outTerminator):
		return nil, true
	}
	if behind, ok := bytes.CutPrefix(rest, t.plan.outTerminator); ok && len(t.plan.outTerminator) > 0 {
		return behind, false
	}
	return line, false
}

func matches(formats []*stream.Format, line []byte) bool {
	for _, f := range formats {
		if _, err := f.Match(line); err == nil {
			return true
		}
	}
	return false
}

// mismatched makes the alarm of a reply that its format does not fit.
func mismatched(err error) gateway.Alarm {
	var m *stream.MismatchError
	if errors.As(err, &m) && m.Reason == stream.NoState {
		return failure(gateway.StatusState, "%v", err)
	}
	return failure(gateway.StatusCalc, "%v", err)
}

// quoted shows bytes in a message.
func quoted(b []byte) string {
	return "\"" + gateway.Quotable(printable(b)) + "\""
}

// printable writes bytes that are not printable ASCII as escapes of the format language.
func printable(b []byte) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(b))
	for _, c := range b[:min(len(b), 256)] {
		switch {
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\n':
			out = append(out, `\n`...)
		case c < ' ' || c > '~':
			out = append(out, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
