package cawire

import "strconv"

// Minor is a minor revision of the protocol; the major one has always been 4.
// Each side announces its own, and the smaller of the two holds.
type Minor uint16

const (
	// MinorCurrent is the revision that this package speaks.
	MinorCurrent Minor = 13
	// MinorOldest is the oldest revision that EPICS base still serves; older
	// clients get ECADefunct.
	MinorOldest Minor = 4
)

// LongHeaders tells whether a peer of this revision understands the 24-byte
// header, and with it payloads and counts of 0xFFFF and above.
func (m Minor) LongHeaders() bool { return m >= 9 }

// SearchSequence tells whether a peer of this revision numbers its datagrams
// in their VERSION message.
func (m Minor) SearchSequence() bool { return m >= 11 }

// CircuitSearch tells whether a peer of this revision takes SEARCH on a circuit.
func (m Minor) CircuitSearch() bool { return m >= 12 }

// ZeroCount tells whether a client of this revision sends requests with a
// count of zero for "as many elements as there are". A server answers such a
// request in that way whatever the revision, as base's does.
func (m Minor) ZeroCount() bool { return m >= 13 }

// String returns the whole revision, "4.13".
func (m Minor) String() string { return "4." + strconv.Itoa(int(m)) }

// Well-known ports; EPICS_CA_SERVER_PORT and EPICS_CA_REPEATER_PORT override them.
const (
	DefaultServerPort   = 5064
	DefaultRepeaterPort = 5065
)

// Sizes that base's clients and servers keep to.
const (
	// MaxDatagram is the most that is put into one datagram.
	MaxDatagram = 1024
	// MaxName is the longest host or user name with its NUL that base accepts.
	MaxName = 512
	// MaxPriority is the highest priority of a circuit; 0 is the lowest.
	MaxPriority = 99
)

// Command is the first field of a header.
type Command uint16

// The commands of protocol 4.13. Snapshot, Build, ReadBuild and Signal are
// obsolete: they have names, and decoding them fails with ErrObsolete.
const (
	CmdVersion          Command = 0
	CmdEventAdd         Command = 1
	CmdEventCancel      Command = 2
	CmdRead             Command = 3
	CmdWrite            Command = 4
	CmdSnapshot         Command = 5
	CmdSearch           Command = 6
	CmdBuild            Command = 7
	CmdEventsOff        Command = 8
	CmdEventsOn         Command = 9
	CmdReadSync         Command = 10
	CmdError            Command = 11
	CmdClearChannel     Command = 12
	CmdBeacon           Command = 13
	CmdNotFound         Command = 14
	CmdReadNotify       Command = 15
	CmdReadBuild        Command = 16
	CmdRepeaterConfirm  Command = 17
	CmdCreateChan       Command = 18
	CmdWriteNotify      Command = 19
	CmdClientName       Command = 20
	CmdHostName         Command = 21
	CmdAccessRights     Command = 22
	CmdEcho             Command = 23
	CmdRepeaterRegister Command = 24
	CmdSignal           Command = 25
	CmdCreateChFail     Command = 26
	CmdServerDisconn    Command = 27
)

var commandNames = [...]string{
	CmdVersion: "VERSION", CmdEventAdd: "EVENT_ADD", CmdEventCancel: "EVENT_CANCEL",
	CmdRead: "READ", CmdWrite: "WRITE", CmdSnapshot: "SNAPSHOT", CmdSearch: "SEARCH",
	CmdBuild: "BUILD", CmdEventsOff: "EVENTS_OFF", CmdEventsOn: "EVENTS_ON",
	CmdReadSync: "READ_SYNC", CmdError: "ERROR", CmdClearChannel: "CLEAR_CHANNEL",
	CmdBeacon: "RSRV_IS_UP", CmdNotFound: "NOT_FOUND", CmdReadNotify: "READ_NOTIFY",
	CmdReadBuild: "READ_BUILD", CmdRepeaterConfirm: "REPEATER_CONFIRM",
	CmdCreateChan: "CREATE_CHAN", CmdWriteNotify: "WRITE_NOTIFY", CmdClientName: "CLIENT_NAME",
	CmdHostName: "HOST_NAME", CmdAccessRights: "ACCESS_RIGHTS", CmdEcho: "ECHO",
	CmdRepeaterRegister: "REPEATER_REGISTER", CmdSignal: "SIGNAL",
	CmdCreateChFail: "CREATE_CH_FAIL", CmdServerDisconn: "SERVER_DISCONN",
}

// String returns the name that caProto.h has, without its CA_PROTO_ prefix.
func (c Command) String() string {
	if int(c) < len(commandNames) {
		return commandNames[c]
	}
	return "COMMAND_" + strconv.Itoa(int(c))
}

// Obsolete tells whether c has a number, but no meaning any more.
func (c Command) Obsolete() bool {
	return c == CmdSnapshot || c == CmdBuild || c == CmdReadBuild || c == CmdSignal
}
