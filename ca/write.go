package ca

import (
	"slices"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// plainWrite puts and says nothing, unless the put is refused at once. Plain
// puts coalesce: a newer one takes the place of one that has not started.
func (c *circuit) plainWrite(f cawire.Frame) error {
	c.counters.writes.Add(1)
	var m cawire.WriteRequest
	_ = m.Decode(f)
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	if !m.Type.Valid() {
		return c.refuse(f, cawire.ECABadType, ch.rec.name)
	}
	pending, err := c.put(ch, m.Type, m.Count, m.Payload, gateway.Latest)
	if err != nil {
		c.sendError(f, statusOf(err), ch.rec.name+": "+err.Error())
		return nil
	}
	c.remember(ch, pending)
	return nil
}

// awaitRoom waits until not too many puts of the circuit are under way. As with an
// IOC the rest waits in the connection. A refusal would be the end of it: a client
// that restores its setpoints sends thousands at once, and of a plain put it hears
// nothing. Each put ends within its budget. It lets go of c.mu while it waits.
func (c *circuit) awaitRoom() {
	for len(c.underWay) >= maxPuts && c.ctx.Err() == nil {
		if c.underWay = slices.DeleteFunc(c.underWay, isClosed); len(c.underWay) < maxPuts {
			return
		}
		oldest := c.underWay[0]
		c.mu.Unlock()
		_ = c.flush() // what was asked before is answered first
		select {
		case <-oldest:
		case <-c.ctx.Done():
		}
		c.mu.Lock()
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// remember makes later puts wait for this one where there are too many, and reads
// behind it for its acceptance.
func (c *circuit) remember(ch *channel, pending gateway.Pending) {
	c.underWay = append(c.underWay, pending.Done())
	if ch.reads() {
		return // no setpoint changes that a read would have to wait for
	}
	if len(c.lastPuts) >= maxLastPuts {
		c.tidyPuts()
	}
	c.lastPuts[ch.rec.path] = lastPut{pending.Accepted(), time.Now()}
}

// tidyPuts drops the puts that nobody needs to wait for any more.
func (c *circuit) tidyPuts() {
	for path, put := range c.lastPuts {
		if isClosed(put.accepted) || time.Since(put.at) > acceptance {
			delete(c.lastPuts, path)
		}
	}
}

// put sends a put on its way, when there is room.
func (c *circuit) put(ch *channel, typ cawire.Type, count uint32, raw []byte, mode gateway.Mode) (gateway.Pending, error) {
	c.awaitRoom()
	a, err := c.session.Get(ch.rec.path)
	if err != nil {
		return nil, err
	}
	if !c.refresh(ch, a.Descriptor) {
		return nil, gateway.Errorf(gateway.KindNotFound, "it is no more")
	}
	if !ch.writable() {
		return nil, gateway.Errorf(gateway.KindReadOnly, "it is read-only")
	}
	if ch.reads() { // whatever is written
		return c.session.Refresh(gateway.PutRequest{Path: ch.rec.path, Mode: mode})
	}
	value, err := ch.putValue(typ, count, raw)
	if err != nil {
		return nil, err
	}
	request := gateway.PutRequest{Path: ch.rec.path, Value: value, Mode: mode}
	if a.IsCommand() {
		request.Mode = gateway.Each // each press of a button counts
		return c.session.Execute(request)
	}
	return c.session.Put(request)
}

// A notify is a put whose client waits for the verdict.
type notify struct {
	gateway.Pending
	reply cawire.WriteNotifyReply
}

// writeNotify puts and answers after the verdict. Puts to one attribute are carried
// out in their order by its driver.
func (c *circuit) writeNotify(f cawire.Frame) error {
	c.counters.writes.Add(1)
	var m cawire.WriteNotifyRequest
	_ = m.Decode(f)
	reply := cawire.WriteNotifyReply{Type: m.Type, Count: m.Count, IOID: m.IOID}
	ch := c.channels[m.SID]
	if ch == nil {
		return c.badID(f)
	}
	if m.Type > cawire.DBRStsAckString+1 {
		reply.Status = cawire.ECABadType
		c.send(&reply)
		return c.hangUp(f, "no such type")
	}
	// Counted before it is sent: its verdict may be there before Put returns.
	c.server.verdicts.add()
	pending, err := c.notifiable(ch, &m)
	if err != nil {
		c.server.verdicts.done()
		c.counters.failures.Add(1)
		reply.Status = statusOf(err)
		c.send(&reply)
		return nil
	}
	c.notifies++
	c.remember(ch, pending)
	n := &notify{pending, reply}
	if c.awaited == nil && c.reader.hurried {
		c.awaited = n
	} else {
		c.answerLater(n)
	}
	return nil
}

// answerLater waits for a verdict on a goroutine of its own, so that a slow device
// holds nobody up.
func (c *circuit) answerLater(n *notify) {
	c.work.Go(func() { c.answer(n, gateway.Wait(c.ctx, n)) })
}

func (c *circuit) answer(n *notify, verdict gateway.Verdict) {
	defer c.server.verdicts.done()
	if c.ctx.Err() != nil {
		return // nobody is there to hear it; the put goes on
	}
	n.reply.Status = cawire.ECANormal
	if verdict.Err != nil {
		c.counters.failures.Add(1)
		n.reply.Status = statusOf(verdict.Err)
	}
	c.mu.Lock()
	c.notifies--
	c.send(&n.reply)
	c.mu.Unlock()
	_ = c.flush()
}

// await waits for the verdict of a put for as long as fast devices take, before the
// next request is read: a client in a hurry sends none before it has its answer,
// and then the reader finds it without having slept. Called without c.mu.
func (c *circuit) await() {
	n := c.awaited
	if n == nil {
		return
	}
	c.awaited = nil
	if c.patience == nil {
		c.patience = time.NewTimer(hurry)
	} else {
		c.patience.Reset(hurry)
	}
	select {
	case <-n.Done():
		c.patience.Stop()
		c.answer(n, n.Verdict())
	case <-c.patience.C:
		c.answerLater(n)
	}
}

func (c *circuit) notifiable(ch *channel, m *cawire.WriteNotifyRequest) (gateway.Pending, error) {
	if !ch.writable() {
		return nil, gateway.Errorf(gateway.KindReadOnly, "it is read-only")
	}
	if m.Type > cawire.DBRDouble {
		return nil, gateway.Errorf(gateway.KindWrongType, "%s cannot be put with a callback", m.Type)
	}
	return c.put(ch, m.Type, m.Count, m.Payload, gateway.Each)
}
