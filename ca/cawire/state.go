package cawire

import "fmt"

// The rules of the protocol, as data. There is one table for a circuit, one
// for each channel on it, one for each subscription and one for a datagram;
// each says for our role and the present state which kinds of messages may
// come, from us or from the peer, and what state follows. What is not in a
// table is not allowed. The tables hold for both ends; where our end must be
// stricter with itself than with its peer, the roles differ.

// CircuitState is how far the two sides have introduced themselves.
type CircuitState uint8

// The states of a circuit.
const (
	CircuitNew         CircuitState = iota // connected, nothing said
	CircuitClientHello                     // the client's Version has gone
	CircuitServerHello                     // the server's Version has gone
	CircuitOpen                            // both have
	CircuitClosed
)

// ChannelState is where a channel is in its life.
type ChannelState uint8

// The states of a channel.
const (
	ChannelNone     ChannelState = iota // nobody has spoken of it
	ChannelCreating                     // CREATE_CHAN has been asked for
	ChannelOpen
	ChannelClearing // CLEAR_CHANNEL has been asked for
	ChannelGone     // the server has closed it by SERVER_DISCONN; requests may still be on their way
	ChannelClosed   // cleared, failed, or its circuit is closed
)

// SubscriptionState is where a subscription is in its life.
type SubscriptionState uint8

// The states of a subscription.
const (
	SubscriptionNone SubscriptionState = iota
	SubscriptionActive
	SubscriptionCancelling // EVENT_CANCEL has been asked for; events may still be on their way
	SubscriptionClosed     // confirmed: no event may follow
)

// DatagramState is where a datagram is: its first message is a VERSION.
type DatagramState uint8

// The states within a datagram.
const (
	DatagramStart DatagramState = iota
	DatagramVersioned
)

func (s CircuitState) String() string {
	return stateName(int(s), "new", "client hello", "server hello", "open", "closed")
}

func (s ChannelState) String() string {
	return stateName(int(s), "none", "creating", "open", "clearing", "gone", "closed")
}

func (s SubscriptionState) String() string {
	return stateName(int(s), "none", "active", "cancelling", "closed")
}

func (s DatagramState) String() string { return stateName(int(s), "start", "versioned") }

func stateName(i int, names ...string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("state %d", i)
}

// ProtocolError says that a message is not allowed where it comes.
type ProtocolError struct {
	// Fault is the side that sent the message, and Local whether that is our
	// own: then the bug is here, and nothing must be sent. Otherwise the peer
	// broke the rules, and a server closes its circuit.
	Fault Side
	Local bool
	Kind  Kind
	// State is what the message does not fit, in words.
	State string
}

func (e *ProtocolError) Error() string {
	whose := "remote"
	if e.Local {
		whose = "local"
	}
	return fmt.Sprintf("cawire: %s protocol error: %s must not send %s: %s", whose, e.Fault, e.Kind, e.State)
}

// next looks a move up: role is ours, from is who sends the message.
func next[S comparable](table []rule[S], role, from Side, s S, k Kind) (S, bool) {
	for i := range table {
		r := &table[i]
		if r.state == s && r.from == from && (r.role == 0 || r.role == role) && r.kinds.has(k) {
			return r.next, true
		}
	}
	return s, false
}

// Next returns the state after a message of kind k, sent by from, in the view
// of a side; ok is false if the message is not allowed.
func (s CircuitState) Next(role, from Side, k Kind) (_ CircuitState, ok bool) {
	return next(circuitRules, role, from, s, k)
}

// Next returns the state after a message about the channel.
func (s ChannelState) Next(role, from Side, k Kind) (_ ChannelState, ok bool) {
	return next(channelRules, role, from, s, k)
}

// Next returns the state after a message about the subscription.
func (s SubscriptionState) Next(role, from Side, k Kind) (_ SubscriptionState, ok bool) {
	return next(subscriptionRules, role, from, s, k)
}

// Next returns the state after a message in the datagram.
func (s DatagramState) Next(role, from Side, k Kind) (_ DatagramState, ok bool) {
	return next(datagramRules, role, from, s, k)
}
