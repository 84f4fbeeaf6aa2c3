package gateway

// A Severity says how bad an alarm is, in EPICS's words and order.
type Severity uint8

// The severities, from good to bad.
const (
	NoAlarm Severity = iota
	Minor
	Major
	Invalid
)

var severityNames = [...]string{"NO_ALARM", "MINOR", "MAJOR", "INVALID"}

// String returns EPICS's name: NO_ALARM, MINOR, MAJOR or INVALID.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "INVALID"
}

// ParseSeverity is the inverse of String.
func ParseSeverity(s string) (Severity, bool) {
	for i, name := range severityNames {
		if name == s {
			return Severity(i), true
		}
	}
	return NoAlarm, false
}

// A Status says what caused an alarm. The numbers are those of EPICS
// (epics-base, modules/libcom/src/misc/alarm.h) and go onto the wire as they are.
type Status uint8

// The statuses that the gateway itself uses, and the rest of EPICS's list.
const (
	StatusNone Status = iota
	StatusRead
	StatusWrite
	StatusHiHi
	StatusHigh
	StatusLoLo
	StatusLow
	StatusState
	StatusCOS
	StatusComm
	StatusTimeout
	StatusHWLimit
	StatusCalc
	StatusScan
	StatusLink
	StatusSoft
	StatusBadSub
	StatusUDF
	StatusDisable
	StatusSimm
	StatusReadAccess
	StatusWriteAccess
)

var statusNames = [...]string{
	"NO_ALARM", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM", "TIMEOUT",
	"HWLIMIT", "CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM", "READ_ACCESS", "WRITE_ACCESS",
}

// String returns EPICS's name of the status.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "UDF"
}

// ParseStatus is the inverse of String.
func ParseStatus(s string) (Status, bool) {
	for i, name := range statusNames {
		if name == s {
			return Status(i), true
		}
	}
	return StatusNone, false
}

// An Alarm is the quality of a sample. The zero Alarm is no alarm.
type Alarm struct {
	Severity Severity
	Status   Status
	Text     string // for people; valid UTF-8
}

// Worse returns the alarm of higher severity, a where they are equal.
func (a Alarm) Worse(b Alarm) Alarm {
	if b.Severity > a.Severity {
		return b
	}
	return a
}

// Undefined is the alarm of a sample that no one has given a value yet.
var Undefined = Alarm{Severity: Invalid, Status: StatusUDF, Text: "never read"}
