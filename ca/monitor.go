package ca

import (
	"math"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// A subscription is one EVENT_ADD with its watch of the hub, so that its events
// are its own from the snapshot on.
type subscription struct {
	ch      *channel
	rec     *record // as of the last event
	id      uint32
	typ     cawire.Type
	count   uint32
	mask    gateway.Mask
	header  cawire.Frame // of the request, for errors
	watch   gateway.WatchID
	started bool
	last    gateway.Value // of a field beside VAL, or of PROPERTY: what was sent last
	alarm   gateway.Alarm // what was sent last
}

// A deliverer takes events off the queue of a circuit.
type deliverer struct {
	stream gateway.Stream
	kick   chan struct{} // there is something to do beside events
	left   []gateway.Event
	buffer []gateway.Event
	keep   keeper // of buffer
	paused bool   // guarded by the circuit's mu, as is the next
	check  bool   // names or records have changed
}

func (c *circuit) subscribe(f cawire.Frame) error {
	var m cawire.EventAdd
	if err := m.Decode(f); err != nil {
		return c.refuse(f, cawire.ECAInternal, "broken EVENT_ADD")
	}
	if !m.Type.Valid() {
		return c.hangUp(f, "no such type")
	}
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	if c.settle(ch.rec.path); ch.gone {
		return nil
	}
	if len(c.subs) >= maxSubscriptions {
		c.sendError(f, cawire.ECAAllocMem, "too many subscriptions on this circuit")
		return nil
	}
	if c.subs[m.SubscriptionID] != nil {
		return c.refuse(f, cawire.ECAInternal, "subscription id is in use")
	}
	if m.Mask == 0 || m.Mask > math.MaxUint8 {
		return c.refuse(f, cawire.ECAAllocMem, "no such event mask")
	}
	f.Payload = nil
	sub := &subscription{ch: ch, id: m.SubscriptionID, typ: m.Type, count: m.Count, mask: gateway.Mask(m.Mask) & gateway.MaskAll, header: f}
	c.deliver()
	if err := c.watch(sub); err != nil {
		c.sendError(f, cawire.ECAAddFail, ch.rec.name+": "+err.Error())
		return nil //nolint:nilerr // The circuit goes on.
	}
	c.subs[sub.id] = sub
	if ch.subs == nil {
		ch.subs = map[uint32]*subscription{}
	}
	ch.subs[sub.id] = sub
	return nil
}

// watch makes the hub's events come for a subscription, beginning with what is
// known now.
func (c *circuit) watch(sub *subscription) error {
	rec := sub.ch.rec
	options := gateway.WatchOptions{Match: gateway.PatternOf(rec.path), Roles: rec.role, Mask: sub.mask}
	if !sub.ch.isVal {
		// A field may change with any sample; what did not is not sent.
		options.Mask = gateway.MaskAll
	}
	if options.Mask == 0 {
		// Of what nobody knows base sends the first event alone.
		options.Mask = gateway.MaskProperty
	}
	watch, err := c.events.stream.Watch(options)
	if err != nil {
		return err
	}
	sub.watch, sub.rec, sub.started = watch, rec, false
	c.watches[watch] = sub
	return nil
}

func (c *circuit) unsubscribe(f cawire.Frame) error {
	var m cawire.EventCancel
	_ = m.Decode(f)
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	sub := ch.subs[m.SubscriptionID]
	if ch.gone {
		return nil
	}
	if sub == nil {
		return c.refuse(f, cawire.ECABadMonID, ch.rec.name)
	}
	c.end(sub)
	c.send(&cawire.EventCancelReply{Type: sub.typ, Count: sub.count, SID: m.SID, SubscriptionID: sub.id})
	return nil
}

// end frees a subscription. No event of it is sent afterwards.
func (c *circuit) end(sub *subscription) {
	delete(c.subs, sub.id)
	delete(c.watches, sub.watch)
	delete(sub.ch.subs, sub.id)
	c.events.stream.Unwatch(sub.watch)
}

// deliver starts the deliverer if there is none.
func (c *circuit) deliver() {
	if c.events != nil {
		return
	}
	c.begin()
	d := &deliverer{stream: c.session.Open(gateway.StreamOptions{MaxEvents: maxEvents}), kick: make(chan struct{}, 1)}
	c.events = d
	if c.err != nil { // too late
		d.stream.Close()
		return
	}
	c.work.Go(func() { c.runDeliverer(d) })
}

// free drops events that have been sent.
func (d *deliverer) free() {
	clear(d.buffer)
	d.left = nil
	if !d.keep.worth(len(d.buffer), cap(d.buffer), 64) {
		d.buffer = nil
	}
}

func (d *deliverer) poke() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// pause holds events back, or sends them again. What happens meanwhile waits in
// the queue, which keeps the newest of each attribute when it is full.
func (c *circuit) pause(off bool) {
	c.deliver()
	c.events.paused = off
	c.events.poke()
}

// recheck makes the circuit look anew at its channels and at the names that its
// client has not found, because names or records have changed.
func (c *circuit) recheck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.channels) == 0 && len(c.wanted) == 0 || c.err != nil {
		return
	}
	c.deliver()
	c.events.check = true
	c.events.poke()
}

func (c *circuit) runDeliverer(d *deliverer) {
	for {
		paused := c.deliverAll(d)
		ready := d.stream.Ready()
		if paused {
			ready = nil
		}
		select {
		case <-c.ctx.Done():
			return
		case <-d.kick:
		case <-ready:
		}
	}
}

// batch is how many bytes of events are collected before they are sent.
const batch = 64 << 10

// deliverAll sends what is queued, and reports whether events are held back.
func (c *circuit) deliverAll(d *deliverer) (paused bool) {
	for {
		c.mu.Lock()
		if d.check {
			d.check = false
			c.checkChannels()
			c.answerWanted()
		}
		if !d.paused && len(d.left) == 0 {
			d.buffer = d.stream.Take(d.buffer[:0])
			d.left = d.buffer
		}
		for !d.paused && len(d.left) > 0 && c.out.size < batch {
			c.event(&d.left[0])
			d.left = d.left[1:]
		}
		paused = d.paused
		more := !paused && len(d.left) > 0
		if !more && !paused {
			d.free()
		}
		c.mu.Unlock()
		if c.flush() != nil || !more {
			return paused
		}
	}
}

// event sends what an event of the hub means for its subscription.
func (c *circuit) event(e *gateway.Event) {
	sub := c.watches[e.Watch]
	if sub == nil || e.Attribute == nil {
		return
	}
	ch := sub.ch
	if e.Type == gateway.EventRemoved {
		return // the directory tells, for channels without subscriptions too
	}
	if !c.refresh(ch, e.Attribute.Descriptor) || sub.watch != e.Watch {
		return // the channel is gone, or its events begin anew
	}
	if sub.wants(e) {
		c.sendEvent(sub, e.Attribute)
	}
	sub.rec = ch.rec
}

// wants tells whether an event is to be sent.
func (s *subscription) wants(e *gateway.Event) bool {
	a, role := e.Attribute, s.ch.rec.role
	if !s.started {
		return true
	}
	if !s.ch.isVal {
		return s.mask&(gateway.MaskValue|gateway.MaskLog|gateway.MaskAlarm|gateway.MaskProperty) != 0 &&
			!s.ch.field.get(s.ch.rec, a).Equal(s.last)
	}
	switch e.Type {
	case gateway.EventSample:
		return e.Mask&s.mask != 0
	case gateway.EventAvailability:
		now := a.EffectiveAlarm(role)
		return s.mask&gateway.MaskAlarm != 0 && (now.Severity != s.alarm.Severity || now.Status != s.alarm.Status)
	case gateway.EventDescribed:
		return s.mask&gateway.MaskProperty != 0 && !s.rec.sameMeta(s.ch.rec)
	case gateway.EventAdded: // the hub has lost and found it
		return s.mask != 0
	}
	return false
}

// sendEvent sends the state of a subscription's channel.
func (c *circuit) sendEvent(sub *subscription, a *gateway.Attribute) {
	ch := sub.ch
	sub.started = true
	sub.alarm = a.EffectiveAlarm(ch.rec.role)
	if !ch.isVal {
		sub.last = ch.field.get(ch.rec, a)
	}
	c.counters.events.Add(1)
	c.noteCut(ch, sub.typ, a)
	p, status := ch.encode(sub.typ, sub.count, a, &c.scratch)
	if status == cawire.ECATooLarge {
		c.sendError(sub.header, status, ch.rec.name)
		return
	}
	c.reply.event = cawire.Event{Type: sub.typ, Count: p.count, Status: status, SubscriptionID: sub.id, Payload: p.data}
	if err := c.out.addShared(&c.reply.event, p.data, c.minor); err != nil {
		c.tooLong(sub.header, ch, err)
	}
	c.reply.event.Payload = nil
}
