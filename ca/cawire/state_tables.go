package cawire

// kindSet is a set of kinds.
type kindSet uint64

func set(kinds ...Kind) (s kindSet) {
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k Kind) bool { return s&(1<<k) != 0 }

// rule is one row: in our role (0 is either), a message of one of these kinds
// from that side leads from state to next.
type rule[S comparable] struct {
	role  Side
	state S
	from  Side
	kinds kindSet
	next  S
}

var (
	clientCircuit = set(KindSearchRequest, KindClientName, KindHostName, KindEcho, KindReadSync,
		KindEventsOff, KindEventsOn)
	serverCircuit = set(KindSearchReply, KindNotFound, KindEcho, KindReadSync, KindError)

	clientChannel = set(KindCreateChanRequest, KindClearRequest, KindReadRequest, KindReadNotifyRequest,
		KindWriteRequest, KindWriteNotifyRequest, KindEventAdd, KindEventCancel)
	serverChannel = set(KindCreateChanReply, KindCreateChFail, KindAccessRights, KindClearReply,
		KindServerDisconn, KindReadReply, KindReadNotifyReply, KindWriteNotifyReply, KindEvent, KindEventCancelReply)
)

// circuitRules. The server's Version comes unasked, so the two cross. A client
// may go on after its own without waiting for the server's, as libca does, and
// so messages about channels may reach a server in CircuitClientHello. To a
// message before any Version base answers ERROR and stays.
var circuitRules = []rule[CircuitState]{
	{0, CircuitNew, Client, set(KindVersion), CircuitClientHello},
	{0, CircuitNew, Server, set(KindVersion), CircuitServerHello},
	{0, CircuitNew, Server, set(KindError), CircuitNew},

	{0, CircuitServerHello, Client, set(KindVersion), CircuitOpen},
	{0, CircuitServerHello, Server, set(KindVersion, KindError), CircuitServerHello},

	{0, CircuitClientHello, Server, set(KindVersion), CircuitOpen},
	{0, CircuitClientHello, Client, set(KindVersion) | clientCircuit | clientChannel, CircuitClientHello},
	{0, CircuitClientHello, Server, set(KindError), CircuitClientHello},
	// Servers before 4.11 introduce themselves late.
	{Client, CircuitClientHello, Server, serverCircuit | serverChannel, CircuitClientHello},

	// A second Version changes the priority, and is what libca's echo to
	// servers of old is.
	{0, CircuitOpen, Client, set(KindVersion) | clientCircuit | clientChannel, CircuitOpen},
	{0, CircuitOpen, Server, set(KindVersion) | serverCircuit | serverChannel, CircuitOpen},
}

var (
	channelRequests = set(KindReadRequest, KindReadNotifyRequest, KindWriteRequest, KindWriteNotifyRequest,
		KindEventAdd, KindEventCancel)
	channelReplies = set(KindReadReply, KindReadNotifyReply, KindWriteNotifyReply, KindEvent,
		KindEventCancelReply, KindAccessRights, KindError)
)

// channelRules.
var channelRules = []rule[ChannelState]{
	{0, ChannelNone, Client, set(KindCreateChanRequest), ChannelCreating},

	{0, ChannelCreating, Server, set(KindAccessRights, KindError), ChannelCreating},
	{0, ChannelCreating, Server, set(KindCreateChanReply), ChannelOpen},
	{0, ChannelCreating, Server, set(KindCreateChFail, KindServerDisconn), ChannelClosed},

	{0, ChannelOpen, Client, channelRequests, ChannelOpen},
	{0, ChannelOpen, Client, set(KindClearRequest), ChannelClearing},
	{0, ChannelOpen, Server, channelReplies, ChannelOpen},
	{0, ChannelOpen, Server, set(KindServerDisconn), ChannelGone},

	{0, ChannelClearing, Server, channelReplies, ChannelClearing},
	{0, ChannelClearing, Server, set(KindClearReply), ChannelClosed},
	// Both closed it at once: the server will not confirm what it has dropped.
	{0, ChannelClearing, Server, set(KindServerDisconn), ChannelClosed},

	// What the client sent before it heard of the end is not its fault, but a
	// client that has heard of it sends nothing more.
	{Server, ChannelGone, Client, channelRequests, ChannelGone},
	{Server, ChannelGone, Client, set(KindClearRequest), ChannelClosed},

	// Base's server has threads that may speak of a channel after its end.
	{Client, ChannelGone, Server, channelReplies, ChannelGone},
	{Client, ChannelClosed, Server, channelReplies, ChannelClosed},
}

// subscriptionRules.
var subscriptionRules = []rule[SubscriptionState]{
	{0, SubscriptionNone, Client, set(KindEventAdd), SubscriptionActive},

	{0, SubscriptionActive, Server, set(KindEvent), SubscriptionActive},
	{0, SubscriptionActive, Client, set(KindEventCancel), SubscriptionCancelling},
	// Not a confirmation: nobody has cancelled. It is an event of no elements.
	{0, SubscriptionActive, Server, set(KindEventCancelReply), SubscriptionActive},

	{0, SubscriptionCancelling, Server, set(KindEvent), SubscriptionCancelling},
	{0, SubscriptionCancelling, Server, set(KindEventCancelReply), SubscriptionClosed},

	// If an event of no elements was on its way when the client cancelled,
	// that passed for the confirmation, and this is the real one.
	{Client, SubscriptionClosed, Server, set(KindEventCancelReply), SubscriptionClosed},
}

// datagramRules. Base's server ignores a search without a Version before it in
// the same datagram; replies of servers before 4.11 have none. Beacons and
// what a repeater says stand alone; base's repeater says Version to see
// whether its clients are still there.
var datagramRules = []rule[DatagramState]{
	{0, DatagramStart, Client, set(KindDatagramVersion), DatagramVersioned},
	{0, DatagramStart, Client, set(KindRepeaterRegister), DatagramStart},
	{0, DatagramVersioned, Client, set(KindSearchRequest), DatagramVersioned},

	{0, DatagramStart, Server, set(KindDatagramVersion), DatagramVersioned},
	{0, DatagramStart, Server, set(KindBeacon, KindRepeaterConfirm), DatagramStart},
	{Client, DatagramStart, Server, set(KindSearchReply, KindNotFound, KindError), DatagramStart},
	{0, DatagramVersioned, Server, set(KindSearchReply, KindError), DatagramVersioned},
	{Client, DatagramVersioned, Server, set(KindNotFound), DatagramVersioned},
}
