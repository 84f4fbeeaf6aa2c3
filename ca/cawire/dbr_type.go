package cawire

import "strconv"

// Type is a DBR type: a native type in one of the forms in which a value
// travels, with more or less information around it.
type Type uint16

// The plain types, which are the native types of channels too. The number of
// such a type in another form is its own plus 7, 14, 21 or 28; see In.
const (
	DBRString Type = 0 // 40 bytes, NUL included
	DBRShort  Type = 1 // int16
	DBRFloat  Type = 2
	DBREnum   Type = 3 // uint16, an index into the states
	DBRChar   Type = 4 // uint8
	DBRLong   Type = 5 // int32
	DBRDouble Type = 6
)

// The types that have more than a value in the usual forms.
const (
	DBRStsString    Type = 7
	DBRStsShort     Type = 8
	DBRStsFloat     Type = 9
	DBRStsEnum      Type = 10
	DBRStsChar      Type = 11
	DBRStsLong      Type = 12
	DBRStsDouble    Type = 13
	DBRTimeString   Type = 14
	DBRTimeShort    Type = 15
	DBRTimeFloat    Type = 16
	DBRTimeEnum     Type = 17
	DBRTimeChar     Type = 18
	DBRTimeLong     Type = 19
	DBRTimeDouble   Type = 20
	DBRGrString     Type = 21 // laid out as DBRStsString
	DBRGrShort      Type = 22
	DBRGrFloat      Type = 23
	DBRGrEnum       Type = 24
	DBRGrChar       Type = 25
	DBRGrLong       Type = 26
	DBRGrDouble     Type = 27
	DBRCtrlString   Type = 28 // laid out as DBRStsString
	DBRCtrlShort    Type = 29
	DBRCtrlFloat    Type = 30
	DBRCtrlEnum     Type = 31 // laid out as DBRGrEnum
	DBRCtrlChar     Type = 32
	DBRCtrlLong     Type = 33
	DBRCtrlDouble   Type = 34
	DBRPutAckT      Type = 35 // write only: should transient alarms be acknowledged? A uint16
	DBRPutAckS      Type = 36 // write only: the severity that is acknowledged. A uint16
	DBRStsAckString Type = 37 // read only: DBRStsString with what is to be acknowledged
	DBRClassName    Type = 38 // read only: the record type. A string
	numTypes             = 39
)

// Sizes of texts, with their NUL.
const (
	StringSize = 40
	UnitsSize  = 8
	StateSize  = 26
	// MaxStates is how many states an enum can have on Channel Access.
	MaxStates = 16
)

// Form is what travels around a value.
type Form uint8

// The forms.
const (
	Plain   Form = iota // nothing
	Sts                 // alarm status and severity
	Time                // and time stamp
	Gr                  // status, severity, units, precision, limits for display and alarm, states
	Ctrl                // and limits for control
	Special             // the types from DBRPutAckT on
)

// Valid tells whether there is such a type.
func (t Type) Valid() bool { return t < numTypes }

// Form returns the form of a valid type.
func (t Type) Form() Form {
	if t >= DBRPutAckT {
		return Special
	}
	return Form(t / 7)
}

// Native returns the native type whose values t carries: DBREnum for
// DBRPutAckT and DBRPutAckS, DBRString for DBRStsAckString and DBRClassName.
func (t Type) Native() Type {
	switch t {
	case DBRPutAckT, DBRPutAckS:
		return DBREnum
	case DBRStsAckString, DBRClassName:
		return DBRString
	}
	return t % 7
}

// In returns the type that carries the same native type in another form, but
// not Special.
func (t Type) In(f Form) Type { return t.Native() + 7*Type(f) }

// ElementSize returns the length of one element of the value.
func (t Type) ElementSize() int {
	return [...]int{StringSize, 2, 4, 2, 1, 4, 8}[t.Native()]
}

// ValueOffset returns where in the payload the value starts.
func (t Type) ValueOffset() int {
	if !t.Valid() {
		return 0
	}
	return int(valueOffsets[t])
}

// valueOffsets has the offsets of db_access.h's structures, padding included.
var valueOffsets = [numTypes]uint16{
	DBRStsString: 4, DBRStsShort: 4, DBRStsFloat: 4, DBRStsEnum: 4, DBRStsChar: 5, DBRStsLong: 4, DBRStsDouble: 8,
	DBRTimeString: 12, DBRTimeShort: 14, DBRTimeFloat: 12, DBRTimeEnum: 14, DBRTimeChar: 15, DBRTimeLong: 12, DBRTimeDouble: 16,
	DBRGrString: 4, DBRGrShort: 24, DBRGrFloat: 40, DBRGrEnum: 422, DBRGrChar: 19, DBRGrLong: 36, DBRGrDouble: 64,
	DBRCtrlString: 4, DBRCtrlShort: 28, DBRCtrlFloat: 48, DBRCtrlEnum: 422, DBRCtrlChar: 21, DBRCtrlLong: 44, DBRCtrlDouble: 80,
	DBRStsAckString: 8,
}

// Size returns the length of a payload with count elements, without padding at
// its end. It is an int64 because count may come from a peer.
func (t Type) Size(count uint32) int64 {
	return int64(t.ValueOffset()) + int64(count)*int64(t.ElementSize())
}

var formNames = [...]string{"", "STS_", "TIME_", "GR_", "CTRL_"}

// String returns base's name, such as DBR_TIME_DOUBLE.
func (t Type) String() string {
	switch t {
	case DBRPutAckT:
		return "DBR_PUT_ACKT"
	case DBRPutAckS:
		return "DBR_PUT_ACKS"
	case DBRStsAckString:
		return "DBR_STSACK_STRING"
	case DBRClassName:
		return "DBR_CLASS_NAME"
	}
	if !t.Valid() {
		return "DBR_" + strconv.Itoa(int(t))
	}
	natives := [...]string{"STRING", "SHORT", "FLOAT", "ENUM", "CHAR", "LONG", "DOUBLE"}
	return "DBR_" + formNames[t.Form()] + natives[t.Native()]
}
