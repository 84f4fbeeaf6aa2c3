package cawire

// Kind tells the messages apart, where the command alone does not: by sender,
// by transport, and for EVENT_ADD by what it says. Kinds are what the state
// tables are written in.
type Kind uint8

// The kinds of messages, each with its command, sender and transport.
const (
	KindNone Kind = iota

	KindVersion          // VERSION, either side, circuit
	KindDatagramVersion  // VERSION, either side, datagram
	KindSearchRequest    // SEARCH, client, both
	KindSearchReply      // SEARCH, server, both
	KindNotFound         // NOT_FOUND, server, both
	KindBeacon           // RSRV_IS_UP, server, datagram
	KindRepeaterRegister // REPEATER_REGISTER, client, datagram
	KindRepeaterConfirm  // REPEATER_CONFIRM, server, datagram

	KindClientName // CLIENT_NAME, client
	KindHostName   // HOST_NAME, client
	KindEcho       // ECHO, either side
	KindReadSync   // READ_SYNC, either side
	KindEventsOff  // EVENTS_OFF, client
	KindEventsOn   // EVENTS_ON, client
	KindError      // ERROR, server, both

	KindCreateChanRequest // CREATE_CHAN, client
	KindCreateChanReply   // CREATE_CHAN, server
	KindCreateChFail      // CREATE_CH_FAIL, server
	KindAccessRights      // ACCESS_RIGHTS, server
	KindClearRequest      // CLEAR_CHANNEL, client
	KindClearReply        // CLEAR_CHANNEL, server
	KindServerDisconn     // SERVER_DISCONN, server

	KindReadRequest        // READ, client
	KindReadReply          // READ, server
	KindReadNotifyRequest  // READ_NOTIFY, client
	KindReadNotifyReply    // READ_NOTIFY, server
	KindWriteRequest       // WRITE, client
	KindWriteNotifyRequest // WRITE_NOTIFY, client
	KindWriteNotifyReply   // WRITE_NOTIFY, server

	KindEventAdd         // EVENT_ADD, client
	KindEvent            // EVENT_ADD with a payload, server
	KindEventCancel      // EVENT_CANCEL, client
	KindEventCancelReply // EVENT_ADD without a payload, server
	numKinds             = iota
)

// sides and transports are sets, for the table below.
const (
	fromClient = 1 << Client
	fromServer = 1 << Server
	fromBoth   = fromClient | fromServer

	onCircuit  = 1 << OnCircuit
	onDatagram = 1 << OnDatagram
	onBoth     = onCircuit | onDatagram
)

type kindInfo struct {
	name    string
	command Command
	from    uint8
	on      uint8
	make    func() Message
}

var kinds = [numKinds]kindInfo{
	KindVersion:          {"VERSION", CmdVersion, fromBoth, onCircuit, func() Message { return new(Version) }},
	KindDatagramVersion:  {"VERSION", CmdVersion, fromBoth, onDatagram, func() Message { return new(DatagramVersion) }},
	KindSearchRequest:    {"SEARCH", CmdSearch, fromClient, onBoth, func() Message { return new(SearchRequest) }},
	KindSearchReply:      {"SEARCH reply", CmdSearch, fromServer, onBoth, func() Message { return new(SearchReply) }},
	KindNotFound:         {"NOT_FOUND", CmdNotFound, fromServer, onBoth, func() Message { return new(NotFound) }},
	KindBeacon:           {"RSRV_IS_UP", CmdBeacon, fromServer, onDatagram, func() Message { return new(Beacon) }},
	KindRepeaterRegister: {"REPEATER_REGISTER", CmdRepeaterRegister, fromClient, onDatagram, func() Message { return new(RepeaterRegister) }},
	KindRepeaterConfirm:  {"REPEATER_CONFIRM", CmdRepeaterConfirm, fromServer, onDatagram, func() Message { return new(RepeaterConfirm) }},

	KindClientName: {"CLIENT_NAME", CmdClientName, fromClient, onCircuit, func() Message { return new(ClientName) }},
	KindHostName:   {"HOST_NAME", CmdHostName, fromClient, onCircuit, func() Message { return new(HostName) }},
	KindEcho:       {"ECHO", CmdEcho, fromBoth, onCircuit, func() Message { return new(Echo) }},
	KindReadSync:   {"READ_SYNC", CmdReadSync, fromBoth, onCircuit, func() Message { return new(ReadSync) }},
	KindEventsOff:  {"EVENTS_OFF", CmdEventsOff, fromClient, onCircuit, func() Message { return new(EventsOff) }},
	KindEventsOn:   {"EVENTS_ON", CmdEventsOn, fromClient, onCircuit, func() Message { return new(EventsOn) }},
	KindError:      {"ERROR", CmdError, fromServer, onBoth, func() Message { return new(ErrorReply) }},

	KindCreateChanRequest: {"CREATE_CHAN", CmdCreateChan, fromClient, onCircuit, func() Message { return new(CreateChanRequest) }},
	KindCreateChanReply:   {"CREATE_CHAN reply", CmdCreateChan, fromServer, onCircuit, func() Message { return new(CreateChanReply) }},
	KindCreateChFail:      {"CREATE_CH_FAIL", CmdCreateChFail, fromServer, onCircuit, func() Message { return new(CreateChFail) }},
	KindAccessRights:      {"ACCESS_RIGHTS", CmdAccessRights, fromServer, onCircuit, func() Message { return new(AccessRights) }},
	KindClearRequest:      {"CLEAR_CHANNEL", CmdClearChannel, fromClient, onCircuit, func() Message { return new(ClearRequest) }},
	KindClearReply:        {"CLEAR_CHANNEL reply", CmdClearChannel, fromServer, onCircuit, func() Message { return new(ClearReply) }},
	KindServerDisconn:     {"SERVER_DISCONN", CmdServerDisconn, fromServer, onCircuit, func() Message { return new(ServerDisconn) }},

	KindReadRequest:        {"READ", CmdRead, fromClient, onCircuit, func() Message { return new(ReadRequest) }},
	KindReadReply:          {"READ reply", CmdRead, fromServer, onCircuit, func() Message { return new(ReadReply) }},
	KindReadNotifyRequest:  {"READ_NOTIFY", CmdReadNotify, fromClient, onCircuit, func() Message { return new(ReadNotifyRequest) }},
	KindReadNotifyReply:    {"READ_NOTIFY reply", CmdReadNotify, fromServer, onCircuit, func() Message { return new(ReadNotifyReply) }},
	KindWriteRequest:       {"WRITE", CmdWrite, fromClient, onCircuit, func() Message { return new(WriteRequest) }},
	KindWriteNotifyRequest: {"WRITE_NOTIFY", CmdWriteNotify, fromClient, onCircuit, func() Message { return new(WriteNotifyRequest) }},
	KindWriteNotifyReply:   {"WRITE_NOTIFY reply", CmdWriteNotify, fromServer, onCircuit, func() Message { return new(WriteNotifyReply) }},

	KindEventAdd:         {"EVENT_ADD", CmdEventAdd, fromClient, onCircuit, func() Message { return new(EventAdd) }},
	KindEvent:            {"EVENT", CmdEventAdd, fromServer, onCircuit, func() Message { return new(Event) }},
	KindEventCancel:      {"EVENT_CANCEL", CmdEventCancel, fromClient, onCircuit, func() Message { return new(EventCancel) }},
	KindEventCancelReply: {"EVENT_CANCEL reply", CmdEventAdd, fromServer, onCircuit, func() Message { return new(EventCancelReply) }},
}

// String returns the name under which a trace shows the kind.
func (k Kind) String() string {
	if k == KindNone || int(k) >= len(kinds) {
		return "no message"
	}
	return kinds[k].name
}

// Command returns the command that messages of this kind carry.
func (k Kind) Command() Command { return k.info().command }

// SentBy tells whether this side may send messages of this kind at all.
func (k Kind) SentBy(s Side) bool { return k.info().from&(1<<s) != 0 }

// On tells whether messages of this kind travel by this transport.
func (k Kind) On(t Transport) bool { return k.info().on&(1<<t) != 0 }

func (k Kind) info() kindInfo {
	if int(k) >= len(kinds) {
		return kindInfo{}
	}
	return kinds[k]
}

// KindOf says which message a frame is when the given side sent it. It fails
// with ErrUnknownCommand, or with ErrObsolete.
func KindOf(f Frame, from Side, on Transport) (Kind, error) {
	if f.Command.Obsolete() {
		return KindNone, ErrObsolete
	}
	if f.Command == CmdEventAdd && from == Server && on == OnCircuit && f.PayloadSize == 0 {
		return KindEventCancelReply, nil
	}
	for k := KindNone + 1; int(k) < len(kinds); k++ {
		if kinds[k].command == f.Command && k.SentBy(from) && k.On(on) {
			return k, nil
		}
	}
	return KindNone, ErrUnknownCommand
}
