package cawire

import "strconv"

// Status is an ECA status: a message number and, in the lowest three bits, a
// StatusSeverity.
type Status uint32

// The statuses. Those marked as defunct are no longer sent by current servers.
const (
	ECANormal         Status = 1
	ECAMaxIOC         Status = 10 // defunct
	ECAUknHost        Status = 18 // defunct
	ECAUknServ        Status = 26 // defunct
	ECASock           Status = 34 // defunct
	ECAConn           Status = 40 // defunct
	ECAAllocMem       Status = 48
	ECAUknChan        Status = 56 // defunct
	ECAUknField       Status = 64 // defunct
	ECATooLarge       Status = 72
	ECATimeout        Status = 80
	ECANoSupport      Status = 88  // defunct
	ECAStrTooBig      Status = 96  // defunct
	ECADisconnChID    Status = 106 // defunct
	ECABadType        Status = 114
	ECAChIDNotFnd     Status = 123 // defunct
	ECAChIDRetry      Status = 131 // defunct
	ECAInternal       Status = 142
	ECADBLclFail      Status = 144 // defunct
	ECAGetFail        Status = 152
	ECAPutFail        Status = 160
	ECAAddFail        Status = 168 // defunct
	ECABadCount       Status = 176
	ECABadStr         Status = 186
	ECADisconn        Status = 192
	ECADblChnl        Status = 200
	ECAEvDisallow     Status = 210
	ECABuildGet       Status = 216 // defunct
	ECANeedsFP        Status = 224 // defunct
	ECAOvEvFail       Status = 232 // defunct
	ECABadMonID       Status = 242
	ECANewAddr        Status = 248 // defunct
	ECANewConn        Status = 259 // defunct
	ECANoCACtx        Status = 264 // defunct
	ECADefunct        Status = 278 // defunct
	ECAEmptyStr       Status = 280 // defunct
	ECANoRepeater     Status = 288 // defunct
	ECANoChanMsg      Status = 296 // defunct
	ECADlckRest       Status = 304 // defunct
	ECAServBehind     Status = 312 // defunct
	ECANoCast         Status = 320 // defunct
	ECABadMask        Status = 330
	ECAIODone         Status = 339
	ECAIOInProgress   Status = 347
	ECABadSyncGrp     Status = 354
	ECAPutCBInProg    Status = 362
	ECANoRdAccess     Status = 368
	ECANoWtAccess     Status = 376
	ECAAnachronism    Status = 386
	ECANoSearchAddr   Status = 392
	ECANoConvert      Status = 400
	ECABadChID        Status = 410
	ECABadFuncPtr     Status = 418
	ECAIsAttached     Status = 424
	ECAUnavailInServ  Status = 432
	ECAChanDestroy    Status = 440
	ECABadPriority    Status = 450
	ECANotThreaded    Status = 458
	ECA16KArrayClient Status = 464
	ECAConnSeqTmo     Status = 472
	ECAUnrespTmo      Status = 480
)

// statusTexts has the name, without ECA_, and the text of each message number.
var statusTexts = [...]struct{ name, text string }{
	{"NORMAL", "Normal successful completion"},
	{"MAXIOC", "Maximum simultaneous IOC connections exceeded"},
	{"UKNHOST", "Unknown internet host"},
	{"UKNSERV", "Unknown internet service"},
	{"SOCK", "Unable to allocate a new socket"},
	{"CONN", "Unable to connect to internet host or service"},
	{"ALLOCMEM", "Unable to allocate additional dynamic memory"},
	{"UKNCHAN", "Unknown IO channel"},
	{"UKNFIELD", "Record field specified inappropriate for channel specified"},
	{"TOLARGE", "The requested data transfer is greater than available memory or EPICS_CA_MAX_ARRAY_BYTES"},
	{"TIMEOUT", "User specified timeout on IO operation expired"},
	{"NOSUPPORT", "Sorry, that feature is planned but not supported at this time"},
	{"STRTOBIG", "The supplied string is unusually large"},
	{"DISCONNCHID", "The request was ignored because the specified channel is disconnected"},
	{"BADTYPE", "The data type specified is invalid"},
	{"CHIDNOTFND", "Remote Channel not found"},
	{"CHIDRETRY", "Unable to locate all user specified channels"},
	{"INTERNAL", "Channel Access Internal Failure"},
	{"DBLCLFAIL", "The requested local DB operation failed"},
	{"GETFAIL", "Channel read request failed"},
	{"PUTFAIL", "Channel write request failed"},
	{"ADDFAIL", "Channel subscription request failed"},
	{"BADCOUNT", "Invalid element count requested"},
	{"BADSTR", "Invalid string"},
	{"DISCONN", "Virtual circuit disconnect"},
	{"DBLCHNL", "Identical process variable names on multiple servers"},
	{"EVDISALLOW", "Request inappropriate within subscription (monitor) update callback"},
	{"BUILDGET", "Database value get for that channel failed during channel search"},
	{"NEEDSFP", "Unable to initialize without the vxWorks VX_FP_TASK task option set"},
	{"OVEVFAIL", "Event queue overflow has prevented first pass event after event add"},
	{"BADMONID", "Bad event subscription (monitor) identifier"},
	{"NEWADDR", "Remote channel has new network address"},
	{"NEWCONN", "New or resumed network connection"},
	{"NOCACTX", "Specified task isn't a member of a CA context"},
	{"DEFUNCT", "Attempt to use defunct CA feature failed"},
	{"EMPTYSTR", "The supplied string is empty"},
	{"NOREPEATER", "Unable to spawn the CA repeater thread- auto reconnect will fail"},
	{"NOCHANMSG", "No channel id match for search reply- search reply ignored"},
	{"DLCKREST", "Resetting dead connection- will try to reconnect"},
	{"SERVBEHIND", "Server (IOC) has fallen behind or is not responding- still waiting"},
	{"NOCAST", "No internet interface with broadcast available"},
	{"BADMASK", "Invalid event selection mask"},
	{"IODONE", "IO operations have completed"},
	{"IOINPROGRESS", "IO operations are in progress"},
	{"BADSYNCGRP", "Invalid synchronous group identifier"},
	{"PUTCBINPROG", "Put callback timed out"},
	{"NORDACCESS", "Read access denied"},
	{"NOWTACCESS", "Write access denied"},
	{"ANACHRONISM", "Requested feature is no longer supported"},
	{"NOSEARCHADDR", "Empty PV search address list"},
	{"NOCONVERT", "No reasonable data conversion between client and server types"},
	{"BADCHID", "Invalid channel identifier"},
	{"BADFUNCPTR", "Invalid function pointer"},
	{"ISATTACHED", "Thread is already attached to a client context"},
	{"UNAVAILINSERV", "Not supported by attached service"},
	{"CHANDESTROY", "User destroyed channel"},
	{"BADPRIORITY", "Invalid channel priority"},
	{"NOTTHREADED", "Preemptive callback not enabled - additional threads may not join context"},
	{"16KARRAYCLIENT", "Client's protocol revision does not support transfers exceeding 16k bytes"},
	{"CONNSEQTMO", "Virtual circuit connection sequence aborted"},
	{"UNRESPTMO", "Virtual circuit unresponsive"},
}

// StatusSeverity is what kind of news a Status is.
type StatusSeverity uint8

// The severities of statuses.
const (
	StatusWarning StatusSeverity = 0
	StatusSuccess StatusSeverity = 1
	StatusError   StatusSeverity = 2
	StatusInfo    StatusSeverity = 3
	StatusSevere  StatusSeverity = 4
	StatusFatal   StatusSeverity = 6
)

// Severity returns what kind of news s is.
func (s Status) Severity() StatusSeverity { return StatusSeverity(s & 7) }

// OK tells whether s reports success, an information included.
func (s Status) OK() bool { return s&1 != 0 }

// String returns base's name, such as ECA_NORMAL.
func (s Status) String() string {
	if n := s >> 3; s.known() {
		return "ECA_" + statusTexts[n].name
	}
	return "ECA_" + strconv.Itoa(int(s))
}

// Text returns the sentence that base's ca_message has for s.
func (s Status) Text() string {
	if n := s >> 3; s.known() {
		return statusTexts[n].text
	}
	return "unknown status " + strconv.Itoa(int(s))
}

func (s Status) known() bool { return int(s>>3) < len(statusTexts) }
