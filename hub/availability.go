package hub

import "github.com/polygate/gateway"

// level returns the availability of the device as a whole.
func (d *device) level() gateway.Standing {
	switch {
	case d.lost.as != gateway.Available:
		return gateway.Standing{Availability: d.lost.as, AvailableSince: d.lost.since, Words: d.lost.words}
	case !d.state.Connected:
		return gateway.Standing{Availability: gateway.Disconnected, AvailableSince: d.state.Since, Words: d.state.Words}
	}
	since := d.state.Since
	if since.Before(d.recovered) {
		since = d.recovered
	}
	return gateway.Standing{AvailableSince: since}
}

// standingOf returns the availability of one attribute of a device on a level.
// A change to or from stale is news of this turn.
func (h *Hub) standingOf(e *entry, level gateway.Standing) gateway.Standing {
	switch {
	case level.Availability != gateway.Available:
		return level
	case e.stale:
		return gateway.Standing{Availability: gateway.Stale, AvailableSince: h.now, Words: "polls are overdue"}
	case e.unheard&gateway.Readback != 0:
		return gateway.Standing{Availability: gateway.Stale, AvailableSince: h.now, Words: "not read since the driver started"}
	}
	if now := e.attr.Load().Standing; now != nil && now.Availability == gateway.Stale {
		level.AvailableSince = h.now
	}
	return level
}

// refresh brings the availability of the device and all its attributes up to
// date and tells those who watch.
func (h *Hub) refresh(d *device) {
	h.publish(d)
	level := d.level()
	for _, e := range d.entries {
		if e != nil {
			h.refreshEntry(e, level)
		}
	}
}

func (h *Hub) refreshEntry(e *entry, level gateway.Standing) {
	old := e.attr.Load()
	s := h.standingOf(e, level)
	if s.Availability == old.Availability && s.Words == old.Words {
		return
	}
	if s.Availability == old.Availability {
		s.AvailableSince = old.AvailableSince
	}
	attr := *old
	attr.Standing = h.share(s)
	e.attr.Store(&attr)
	h.emitChange(e, gateway.EventAvailability, gateway.MaskAlarm)
}

// share returns s, in the place that has it already if it is the one that was
// given out last: the attributes of a device are mostly told the same one after
// the other.
func (h *Hub) share(s gateway.Standing) *gateway.Standing {
	if h.standing == nil || *h.standing != s {
		next := s // so that s stays on the stack
		h.standing = &next
	}
	return h.standing
}

// onBusState lays the loss of the bus over all devices. When it is back they
// stay lost until their owners have announced everything: what they said in
// between went by.
func (h *Hub) onBusState(s *gateway.BusState) {
	if s.Connected == h.busUp {
		return // a bus begins by saying that it is there
	}
	h.busUp, h.behind = s.Connected, false
	if !s.Connected {
		for _, d := range h.devices {
			left := d.lost.left
			d.lost = loss{as: gateway.BusLost, since: s.Since, words: s.Words, left: left}
			d.staged = staging{}
			h.deadlines.cancel(&d.heartbeat)
			h.refresh(d)
		}
		h.puts.failUntaken("the bus was lost before the driver said that it has it")
		return
	}
	for _, d := range h.devices {
		if d.lost.as != gateway.BusLost {
			continue
		}
		if d.lost.left {
			h.loseDriver(d, "the driver left")
			continue
		}
		d.heard = h.now
		h.watchHeartbeat(d)
	}
	h.describeNow()
}
