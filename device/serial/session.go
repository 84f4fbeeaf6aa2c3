package serial

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/stream"
)

// A session is what lives from Connect to Close.
type session struct {
	plan *plan
	out  device.Sink
	user *link.User

	up     chan struct{} // closed when the line is open
	wasUp  bool          // only onState uses it
	closed sync.Once

	// in and what follows belong to whoever has the turn on the line: an
	// exchange of this driver, or the line when it calls onBytes.
	in       framer
	lastAt   time.Time
	talking  bool // an exchange of this driver runs
	readings []device.Reading
	values   []stream.Value
}

func newSession(p *plan, out device.Sink) *session {
	return &session{plan: p, out: out, up: make(chan struct{}), in: framer{framing: p.in}}
}

func (s *session) close() { s.closed.Do(s.user.Close) }

// onState is told of the line. Loss between exchanges is news for the
// supervisor; during one it is told twice and listens once. While Connect waits
// for the line, it is news why it does not open.
func (s *session) onState(state link.State) {
	switch {
	case state.Connected && !s.wasUp:
		s.wasUp = true
		close(s.up)
	case !state.Connected && s.wasUp:
		s.out.Lost(fmt.Errorf("%w: %s", device.ErrLost, state.Words))
	case !state.Connected && state.Attempts > 0:
		s.out.Down(errors.New(state.Words))
	}
}

// onBytes takes what arrives between exchanges.
func (s *session) onBytes(b []byte, at time.Time) {
	if s.talking {
		return // The exchange itself passes on what is not for it.
	}
	s.dropOld(at)
	s.lastAt = at
	s.in.add(b)
	for {
		line, ok := s.in.next()
		if !ok {
			break
		}
		s.heard(line, at, true)
	}
	if s.in.silence() || s.in.overflow() {
		s.in.reset()
	}
}

// dropOld forgets a line that began long before now: a pause ends it.
func (s *session) dropOld(now time.Time) {
	if len(s.in.rest()) > 0 && now.Sub(s.lastAt) > s.plan.readTimeout {
		s.in.reset()
	}
}

// heard gives an unsolicited line to the listener that it matches. Inside an
// exchange, where it might be the reply, only listeners count that begin with
// literal text.
func (s *session) heard(line []byte, at time.Time, idle bool) bool {
	if len(line) == 0 {
		return false
	}
	for i := range s.plan.listeners {
		t := &s.plan.listeners[i]
		if !idle && t.leading == "" {
			continue
		}
		var err error
		s.values, err = t.format.MatchInto(s.values[:0], line)
		if err != nil {
			continue
		}
		s.readings = t.readings(s.values, at, s.readings[:0])
		s.out.Deliver(s.readings)
		return true
	}
	return false
}

// readings appends what a matched line says.
func (t *target) readings(values []stream.Value, at time.Time, into []device.Reading) []device.Reading {
	for i := range t.values {
		v := &t.values[i]
		own := values
		if !v.codec.typ.IsArray() {
			own = values[v.field : v.field+1]
		}
		decoded, alarm := v.codec.decode(&t.fields[v.field], own)
		into = append(into, device.Reading{Index: v.index, Role: gateway.Readback, Value: decoded, Time: at, Alarm: alarm})
	}
	return into
}

// reading is short for what this package makes most.
type reading = device.Reading
