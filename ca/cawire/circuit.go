package cawire

// Circuit follows both directions of one circuit and refuses what the protocol
// does not allow. It does no I/O, has no clock and is not safe for concurrent
// use: whoever owns the socket owns it.
//
// Every message goes through Sent before it is written or Received after it is
// decoded. An error leaves everything as it was; see ProtocolError for what to
// do about it. A Circuit keeps what it must know of each channel, subscription
// and pending request; how many there may be is for its owner to limit.
type Circuit struct {
	role     Side
	state    CircuitState
	peer     Minor
	channels map[uint32]*Channel // by cid
	bySID    map[uint32]*Channel
	subs     map[uint32]*Subscription
	pending  map[request]int // how many requests of this id are unanswered
	late     Channel         // stands for a channel that is already forgotten
}

// request identifies an unanswered request. libca refreshes a subscription by
// a READ_NOTIFY that has the subscription's id, maybe before the last one is
// answered, so there may be several.
type request struct {
	command Command
	ioid    uint32
}

// Channel is what a Circuit knows of a channel.
type Channel struct {
	CID, SID uint32
	State    ChannelState
	Type     Type   // native type, once open
	Count    uint32 // the most elements, once open
	Rights   Rights
	subs     []uint32
}

// Subscription is what a Circuit knows of a subscription.
type Subscription struct {
	ID      uint32
	Channel *Channel
	State   SubscriptionState
	Type    Type
	Count   uint32
}

// NewCircuit returns the state of a circuit that has just been connected, in
// the view of this side.
func NewCircuit(role Side) *Circuit {
	return &Circuit{
		role:     role,
		channels: map[uint32]*Channel{},
		bySID:    map[uint32]*Channel{},
		subs:     map[uint32]*Subscription{},
		pending:  map[request]int{},
	}
}

// State returns how far the introduction is.
func (c *Circuit) State() CircuitState { return c.state }

// Minor returns the revision to speak on this circuit, the smaller of the
// peer's and ours; before the peer has said its own it is 0.
func (c *Circuit) Minor() Minor { return min(c.peer, MinorCurrent) }

// Channel returns the channel with this client's id, or nil.
func (c *Circuit) Channel(cid uint32) *Channel { return c.channels[cid] }

// ChannelBySID returns the channel with this server's id, or nil.
func (c *Circuit) ChannelBySID(sid uint32) *Channel { return c.bySID[sid] }

// Subscription returns the subscription with this id, or nil.
func (c *Circuit) Subscription(id uint32) *Subscription { return c.subs[id] }

// Channels returns how many channels there are, Subscriptions how many
// subscriptions, and Pending how many ids of requests wait for an answer: what
// an owner needs to set limits.
func (c *Circuit) Channels() int { return len(c.channels) }

// Subscriptions returns the number of subscriptions, for limits.
func (c *Circuit) Subscriptions() int { return len(c.subs) }

// Pending returns the number of requests without an answer, for limits.
func (c *Circuit) Pending() int { return len(c.pending) }

// Sent tells of a message that we are about to send.
func (c *Circuit) Sent(m Message) error { return c.move(c.role, m) }

// Received tells of a message that the peer has sent.
func (c *Circuit) Received(m Message) error { return c.move(c.role.Other(), m) }

// Close tells that the connection is gone. All channels and subscriptions of
// it are closed with it.
func (c *Circuit) Close() {
	c.state = CircuitClosed
	for _, ch := range c.channels {
		ch.State = ChannelClosed
	}
	for _, sub := range c.subs {
		sub.State = SubscriptionClosed
	}
	clear(c.channels)
	clear(c.bySID)
	clear(c.subs)
	clear(c.pending)
}

func (c *Circuit) refuse(from Side, k Kind, state string) error {
	return &ProtocolError{Fault: from, Local: from == c.role, Kind: k, State: state}
}
