package cawire

import "strconv"

// Severity is how bad an alarm is.
type Severity uint16

// The severities.
const (
	NoAlarm      Severity = 0
	MinorAlarm   Severity = 1
	MajorAlarm   Severity = 2
	InvalidAlarm Severity = 3
)

// String returns base's name.
func (s Severity) String() string {
	names := [...]string{"NO_ALARM", "MINOR", "MAJOR", "INVALID"}
	if int(s) < len(names) {
		return names[s]
	}
	return strconv.Itoa(int(s))
}

// AlarmStatus is why there is an alarm.
type AlarmStatus uint16

// The alarm statuses.
const (
	StatusNoAlarm     AlarmStatus = 0
	StatusRead        AlarmStatus = 1
	StatusWrite       AlarmStatus = 2
	StatusHiHi        AlarmStatus = 3
	StatusHigh        AlarmStatus = 4
	StatusLoLo        AlarmStatus = 5
	StatusLow         AlarmStatus = 6
	StatusState       AlarmStatus = 7
	StatusCOS         AlarmStatus = 8
	StatusComm        AlarmStatus = 9
	StatusTimeout     AlarmStatus = 10
	StatusHWLimit     AlarmStatus = 11
	StatusCalc        AlarmStatus = 12
	StatusScan        AlarmStatus = 13
	StatusLink        AlarmStatus = 14
	StatusSoft        AlarmStatus = 15
	StatusBadSub      AlarmStatus = 16
	StatusUDF         AlarmStatus = 17
	StatusDisable     AlarmStatus = 18
	StatusSimm        AlarmStatus = 19
	StatusReadAccess  AlarmStatus = 20
	StatusWriteAccess AlarmStatus = 21
)

// String returns base's name.
func (s AlarmStatus) String() string {
	names := [...]string{
		"NO_ALARM", "READ", "WRITE", "HIHI", "HIGH", "LOLO", "LOW", "STATE", "COS", "COMM", "TIMEOUT",
		"HWLIMIT", "CALC", "SCAN", "LINK", "SOFT", "BAD_SUB", "UDF", "DISABLE", "SIMM",
		"READ_ACCESS", "WRITE_ACCESS",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return strconv.Itoa(int(s))
}
