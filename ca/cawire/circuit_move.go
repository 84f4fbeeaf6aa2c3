package cawire

// move checks a message against every table that it concerns, and only then
// changes anything.
func (c *Circuit) move(from Side, m Message) error {
	k := m.Kind()
	state, ok := c.state.Next(c.role, from, k)
	if !ok {
		return c.refuse(from, k, "the circuit is "+c.state.String())
	}
	if err := c.apply(from, k, m); err != nil {
		return err
	}
	c.state = state
	return nil
}

// apply moves what a message is about. Each of its branches makes all of its
// checks before its first change.
func (c *Circuit) apply(from Side, k Kind, m Message) error {
	switch m := m.(type) {
	case *Version:
		if from != c.role {
			c.peer = m.Minor
		}
	case *CreateChanRequest:
		return c.create(from, k, m)
	case *CreateChanReply:
		return c.created(from, k, m)
	case *AccessRights:
		ch, state, err := c.check(from, k, c.channels[m.CID])
		if err != nil {
			return err
		}
		ch.State, ch.Rights = state, m.Rights
	case *CreateChFail:
		return c.end(from, k, m.CID)
	case *ClearReply:
		return c.end(from, k, m.CID)
	case *ServerDisconn:
		return c.end(from, k, m.CID)
	case *ClearRequest:
		return c.clear(from, k, m)
	case *ReadRequest:
		return c.ask(from, k, m.SID, m.IOID)
	case *ReadNotifyRequest:
		return c.ask(from, k, m.SID, m.IOID)
	case *WriteNotifyRequest:
		return c.ask(from, k, m.SID, m.IOID)
	case *WriteRequest:
		_, _, err := c.check(from, k, c.bySID[m.SID])
		return err
	case *ReadReply:
		return c.answer(from, k, m.IOID)
	case *ReadNotifyReply:
		return c.answer(from, k, m.IOID)
	case *WriteNotifyReply:
		return c.answer(from, k, m.IOID)
	case *EventAdd:
		return c.subscribe(from, k, m)
	case *Event:
		return c.event(from, k, m.SubscriptionID)
	case *EventCancel:
		if ch := c.bySID[m.SID]; ch != nil && ch.State == ChannelGone {
			_, _, err := c.check(from, k, ch)
			return err
		}
		return c.event(from, k, m.SubscriptionID)
	case *EventCancelReply:
		return c.event(from, k, m.SubscriptionID)
	case *ErrorReply:
		// It may answer a request, READ for one, that has no other way to fail.
		// What else it says is for the owner to act on.
		c.answered(request{m.Request.Command, m.Request.Param2})
	}
	// The others concern the circuit alone.
	return nil
}

// check looks up the move of a channel, which is nil if there is none.
func (c *Circuit) check(from Side, k Kind, ch *Channel) (*Channel, ChannelState, error) {
	if ch == nil {
		// A client takes late words about a channel that it has forgotten.
		state, ok := ChannelClosed.Next(c.role, from, k)
		if !ok {
			return nil, 0, c.refuse(from, k, "there is no such channel")
		}
		return &c.late, state, nil
	}
	state, ok := ch.State.Next(c.role, from, k)
	if !ok {
		return nil, 0, c.refuse(from, k, "the channel is "+ch.State.String())
	}
	return ch, state, nil
}

func (c *Circuit) create(from Side, k Kind, m *CreateChanRequest) error {
	if ch := c.channels[m.CID]; ch != nil && ch.State != ChannelGone {
		return c.refuse(from, k, "its cid is in use")
	}
	c.forget(m.CID)
	c.channels[m.CID] = &Channel{CID: m.CID, State: ChannelCreating}
	if from != c.role {
		c.peer = max(c.peer, m.Minor)
	}
	return nil
}

func (c *Circuit) created(from Side, k Kind, m *CreateChanReply) error {
	ch, state, err := c.check(from, k, c.channels[m.CID])
	if err != nil {
		return err
	}
	if c.bySID[m.SID] != nil {
		return c.refuse(from, k, "its sid is in use")
	}
	ch.State, ch.SID, ch.Type, ch.Count = state, m.SID, m.Type, m.Count
	c.bySID[m.SID] = ch
	return nil
}

// end moves a channel that a message of the server closes.
func (c *Circuit) end(from Side, k Kind, cid uint32) error {
	ch, state, err := c.check(from, k, c.channels[cid])
	if err != nil {
		return err
	}
	ch.State = state
	if c.role == Server && state == ChannelGone {
		// Requests for it may still be on their way, so its sid stays.
		c.closeSubscriptions(ch)
		return nil
	}
	c.forget(cid)
	return nil
}

func (c *Circuit) clear(from Side, k Kind, m *ClearRequest) error {
	ch, state, err := c.check(from, k, c.bySID[m.SID])
	if err != nil {
		return err
	}
	if ch.CID != m.CID {
		return c.refuse(from, k, "its cid and sid belong to different channels")
	}
	ch.State = state
	if state == ChannelClosed {
		c.forget(ch.CID)
	}
	return nil
}

func (c *Circuit) ask(from Side, k Kind, sid, ioid uint32) error {
	if _, _, err := c.check(from, k, c.bySID[sid]); err != nil {
		return err
	}
	c.pending[request{k.Command(), ioid}]++
	return nil
}

func (c *Circuit) answer(from Side, k Kind, ioid uint32) error {
	if !c.answered(request{k.Command(), ioid}) {
		return c.refuse(from, k, "no such request is pending")
	}
	return nil
}

func (c *Circuit) answered(r request) bool {
	switch c.pending[r] {
	case 0:
		return false
	case 1:
		delete(c.pending, r)
	default:
		c.pending[r]--
	}
	return true
}

func (c *Circuit) subscribe(from Side, k Kind, m *EventAdd) error {
	ch, _, err := c.check(from, k, c.bySID[m.SID])
	if err != nil {
		return err
	}
	if c.subs[m.SubscriptionID] != nil {
		return c.refuse(from, k, "its subscription id is in use")
	}
	if ch.State == ChannelGone {
		return nil // the owner answers or ignores it; there will be no events
	}
	c.subs[m.SubscriptionID] = &Subscription{
		ID: m.SubscriptionID, Channel: ch, State: SubscriptionActive, Type: m.Type, Count: m.Count,
	}
	ch.subs = append(ch.subs, m.SubscriptionID)
	return nil
}

func (c *Circuit) event(from Side, k Kind, id uint32) error {
	sub := c.subs[id]
	if sub == nil {
		if _, ok := SubscriptionClosed.Next(c.role, from, k); ok {
			return nil
		}
		return c.refuse(from, k, "there is no such subscription")
	}
	if _, _, err := c.check(from, k, sub.Channel); err != nil {
		return err
	}
	state, ok := sub.State.Next(c.role, from, k)
	if !ok {
		return c.refuse(from, k, "the subscription is "+sub.State.String())
	}
	sub.State = state
	if state == SubscriptionClosed {
		delete(c.subs, id)
		sub.Channel.forget(id)
	}
	return nil
}

func (ch *Channel) forget(id uint32) {
	for i, sub := range ch.subs {
		if sub == id {
			ch.subs = append(ch.subs[:i], ch.subs[i+1:]...)
			return
		}
	}
}

// forget drops a channel with its subscriptions.
func (c *Circuit) forget(cid uint32) {
	ch := c.channels[cid]
	if ch == nil {
		return
	}
	c.closeSubscriptions(ch)
	delete(c.channels, cid)
	if c.bySID[ch.SID] == ch {
		delete(c.bySID, ch.SID)
	}
}

func (c *Circuit) closeSubscriptions(ch *Channel) {
	for _, id := range ch.subs {
		if sub := c.subs[id]; sub != nil {
			sub.State = SubscriptionClosed
			delete(c.subs, id)
		}
	}
	ch.subs = nil
}
