package ca

import (
	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// refresh makes a channel that of a descriptor. It reports false if the channel
// cannot go on, and has then told the client so.
func (c *circuit) refresh(ch *channel, d *gateway.Descriptor) bool {
	if ch.rec.desc == d {
		return !ch.gone
	}
	return c.replace(ch, c.server.directory.describe(ch.rec, d))
}

// replace gives a channel another record of the same name. Where only the access
// has changed the client is told its new rights and goes on.
func (c *circuit) replace(ch *channel, r *record) bool {
	if ch.gone {
		return false
	}
	if r == ch.rec {
		return true
	}
	next, ok := r.resolve(ch.field.name, ch.long)
	if !ok || r.path != ch.rec.path || !ch.rec.sameShape(r) || next.native() != ch.native() {
		c.disconnect(ch)
		return false
	}
	could, role := ch.writable(), ch.rec.role
	ch.target = next
	if ch.writable() != could {
		c.sendRights(ch)
	}
	if ch.rec.role == role {
		return true
	}
	for _, sub := range ch.subs {
		if c.rewatch(sub) != nil {
			c.disconnect(ch) // the client begins anew
			return false
		}
	}
	return true
}

// disconnect ends a channel from our side: the client searches for it anew. Its
// requests that are on their way must not end the circuit, so its id is kept
// until the client uses its own id again.
func (c *circuit) disconnect(ch *channel) {
	for _, sub := range ch.subs {
		c.end(sub)
	}
	ch.gone = true
	c.gone[ch.cid] = ch
	c.send(&cawire.ServerDisconn{CID: ch.cid})
}

// checkChannels compares all channels with the directory.
func (c *circuit) checkChannels() {
	for _, ch := range c.channels {
		if ch.gone {
			continue
		}
		if r := c.server.directory.record(ch.rec.name); r == nil {
			c.disconnect(ch)
		} else {
			c.replace(ch, r)
		}
	}
}

// rewatch is for a channel whose name now is that of the attribute's other role.
func (c *circuit) rewatch(sub *subscription) error {
	delete(c.watches, sub.watch)
	c.events.stream.Unwatch(sub.watch)
	return c.watch(sub)
}
