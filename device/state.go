package device

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

// setStateLocked says whether the device is connected, and why not. A device
// is connected when Connect has succeeded and, if it is polled, something has
// answered since. It is away when the link is lost or nothing answers any more.
func (s *Supervisor) setStateLocked(connected bool, words string) {
	if connected == s.connected && words == s.words {
		return
	}
	if connected != s.connected {
		now := time.Now()
		s.connected, s.since = connected, s.opts.Now().Round(0)
		if connected {
			s.startFreshnessLocked(now)
			s.outage.returned(now, &s.opts.Log)
		} else {
			s.counts.losses++
			s.stopFreshnessLocked()
			s.outage.began(now)
		}
	}
	s.words = words
	s.publishStateLocked()
}

// awayLocked says that the device is away and ends the puts that wait: their
// callers learn it at once, and nothing runs late when it returns.
func (s *Supervisor) awayLocked(err error) replies {
	words := validText(err.Error())
	s.setStateLocked(false, words)
	s.outage.lasts(time.Now(), err, &s.opts.Log)
	return s.endAllLocked(gateway.Errorf(gateway.KindNotConnected, "device %s was lost: %s", s.name, words))
}

// An outage writes one log line when a device is lost, at most one in each
// logGap while it is away or comes and goes, and one when it is back.
type outage struct {
	lines     throttle
	connected time.Time // since when, or zero
	logged    bool      // a loss was logged whose end was not
	seen      bool      // the device was connected before
}

func (o *outage) began(now time.Time) {
	if now.Sub(o.connected) >= logGap {
		o.lines = throttle{} // not the same outage
	}
	o.connected = time.Time{}
}

func (o *outage) lasts(now time.Time, err error, log *zerolog.Logger) {
	more, ok := o.lines.allow(now)
	if !ok {
		return
	}
	event := log.Warn().Err(err).Uint64("more", more)
	var crashed *crash
	if errors.As(err, &crashed) {
		event = event.Bytes("stack", crashed.stack)
	}
	event.Msg("device not connected")
	o.logged = true
}

func (o *outage) returned(now time.Time, log *zerolog.Logger) {
	if o.logged || !o.seen {
		log.Info().Msg("device connected")
	}
	o.connected, o.logged, o.seen = now, false, true
}
