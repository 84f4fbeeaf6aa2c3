package ca

import (
	"bytes"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// A lastPut is the last put of a circuit to an attribute. A read or subscription
// behind it waits for its acceptance, so that it shows the new setpoint.
type lastPut struct {
	accepted <-chan struct{}
	at       time.Time
}

// acceptance is how long after a put a read waits for the driver to take
// it over. It does not wait for the device.
const acceptance = 250 * time.Millisecond

// settle waits for the put before, if there was one. It lets go of c.mu while it waits.
func (c *circuit) settle(path gateway.Path) {
	put, ok := c.lastPuts[path]
	if !ok {
		return
	}
	left := acceptance - time.Since(put.at)
	if !isClosed(put.accepted) && left > 0 {
		c.mu.Unlock()
		_ = c.flush() // what was asked before is answered first
		timer := time.NewTimer(left)
		select {
		case <-put.accepted:
		case <-timer.C:
		case <-c.ctx.Done():
		}
		timer.Stop()
		c.mu.Lock()
	}
	delete(c.lastPuts, path)
}

// snapshot returns what is known of a channel's attribute, or nil if it is gone.
func (c *circuit) snapshot(ch *channel) *gateway.Attribute {
	c.settle(ch.rec.path)
	if ch.gone {
		return nil
	}
	a, err := c.session.Get(ch.rec.path)
	if err != nil {
		return nil
	}
	if !c.refresh(ch, a.Descriptor) {
		return nil
	}
	return a
}

func (c *circuit) readNotify(f cawire.Frame) error {
	c.counters.reads.Add(1)
	var m cawire.ReadNotifyRequest
	_ = m.Decode(f)
	if !m.Type.Valid() {
		return c.hangUp(f, "no such type")
	}
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	p, status := c.payloadFor(ch, m.Type, m.Count)
	if status == cawire.ECATooLarge {
		c.sendError(f, status, ch.rec.name)
		return nil
	}
	c.reply.read = cawire.ReadNotifyReply{Type: m.Type, Count: p.count, Status: status, IOID: m.IOID, Payload: p.data}
	if err := c.out.addShared(&c.reply.read, p.data, c.minor); err != nil {
		c.tooLong(f, ch, err)
	}
	c.reply.read.Payload = nil
	return nil
}

// payloadFor reads a channel.
func (c *circuit) payloadFor(ch *channel, typ cawire.Type, count uint32) (payload, cawire.Status) {
	a := c.snapshot(ch)
	if a == nil {
		return payload{data: make([]byte, cawire.Pad(int(typ.Size(0))))}, cawire.ECAGetFail
	}
	c.noteCut(ch, typ, a)
	return ch.encode(typ, count, a, &c.scratch)
}

// noteCut logs, once for each name, that a client gets a part of a text alone.
func (c *circuit) noteCut(ch *channel, typ cawire.Type, a *gateway.Attribute) {
	if typ.Native() != cawire.DBRString || !ch.isVal || ch.rec.warned.Load() || !ch.rec.overflows(ch.rec.val(a)) {
		return
	}
	if !ch.rec.warned.Swap(true) {
		c.log.Warn().Str("pv", ch.rec.name).Str("attribute", string(ch.rec.path)).
			Msg("a text is longer than the 39 bytes that DBR_STRING carries; clients get its beginning")
	}
}

// tooLong answers for what an old client cannot be told.
func (c *circuit) tooLong(f cawire.Frame, ch *channel, err error) {
	status := cawire.ECATooLarge
	if isTooLongForClient(err) {
		status = cawire.ECA16KArrayClient
	}
	c.sendError(f, status, ch.rec.name)
}

// readOld is the read of clients of old, whose failures come as errors. Its count
// of 0 means no elements.
func (c *circuit) readOld(f cawire.Frame) error {
	c.counters.reads.Add(1)
	var m cawire.ReadRequest
	_ = m.Decode(f)
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	if !m.Type.Valid() {
		return c.refuse(f, cawire.ECABadType, ch.rec.name)
	}
	p, status := payload{data: make([]byte, cawire.Pad(int(m.Type.Size(0))))}, cawire.ECANormal
	if m.Count > 0 {
		p, status = c.payloadFor(ch, m.Type, m.Count)
	}
	if status != cawire.ECANormal {
		c.sendError(f, status, ch.rec.name)
		return nil
	}
	if m.Type == cawire.DBRString && m.Count == 1 { // cut behind its NUL
		end := bytes.IndexByte(p.data, 0) + 1
		p.data = p.data[:end]
	}
	if err := c.out.add(&cawire.ReadReply{Type: m.Type, Count: p.count, CID: ch.cid, IOID: m.IOID, Payload: p.data}, c.minor); err != nil {
		c.tooLong(f, ch, err)
	}
	return nil
}
