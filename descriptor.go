package gateway

import "time"

// A Kind is the type of an attribute's value, or of one element if it is an array.
type Kind uint8

// The kinds. The zero Kind is that of the zero Value: nothing known. The
// number after KindEnum is kept for tables.
const (
	NoKind Kind = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	String // valid UTF-8
	Bytes  // any bytes
	Enum   // index of one of the type's states
)

var kindNames = [...]string{
	NoKind: "none", Bool: "bool", Int8: "int8", Int16: "int16", Int32: "int32", Int64: "int64",
	Uint8: "uint8", Uint16: "uint16", Uint32: "uint32", Uint64: "uint64",
	Float32: "float32", Float64: "float64", String: "string", Bytes: "bytes", Enum: "enum",
}

// String returns the kind's name as the configuration file spells it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "none"
}

// ParseKind is the inverse of String; "none" is not accepted.
func ParseKind(s string) (Kind, bool) {
	for k := Bool; int(k) < len(kindNames); k++ {
		if kindNames[k] == s {
			return k, true
		}
	}
	return NoKind, false
}

// KindNames returns the names of all kinds, for messages and schemas.
func KindNames() []string { return append([]string(nil), kindNames[Bool:]...) }

// IsSigned reports whether k is int8 ... int64.
func (k Kind) IsSigned() bool { return Int8 <= k && k <= Int64 }

// IsUnsigned reports whether k is uint8 ... uint64.
func (k Kind) IsUnsigned() bool { return Uint8 <= k && k <= Uint64 }

// IsInteger reports whether k is a signed or unsigned integer.
func (k Kind) IsInteger() bool { return k.IsSigned() || k.IsUnsigned() }

// IsFloat reports whether k is float32 or float64.
func (k Kind) IsFloat() bool { return k == Float32 || k == Float64 }

// IsNumber reports whether k is an integer or a float.
func (k Kind) IsNumber() bool { return k.IsInteger() || k.IsFloat() }

// Bits returns the width of a number in bits, 0 for other kinds.
func (k Kind) Bits() int {
	switch k {
	case Int8, Uint8:
		return 8
	case Int16, Uint16:
		return 16
	case Int32, Uint32, Float32:
		return 32
	case Int64, Uint64, Float64:
		return 64
	default:
		return 0
	}
}

// A Limit is a number that may be unset. The zero Limit is unset.
type Limit struct {
	Value float64
	Set   bool
}

// At returns a limit that is set to v.
func At(v float64) Limit { return Limit{Value: v, Set: true} }

// Or returns the limit's value, or unset where there is none.
func (l Limit) Or(unset float64) float64 {
	if l.Set {
		return l.Value
	}
	return unset
}

// A Range is two limits, both inclusive.
type Range struct{ Low, High Limit }

// A Level is a limit beyond which there is an alarm, and how bad that is.
type Level struct {
	Limit
	Severity Severity
}

// AlarmLevels are the four levels of EPICS's analogue records. Value > HiHi
// or >= as the reference has it: an alarm begins at value >= High (<= Low) and
// ends when the value is Hysteresis back inside.
type AlarmLevels struct {
	LoLo, Low, High, HiHi Level
	Hysteresis            float64
}

// A State is one state of an enum. Its index is its place in Type.States.
type State struct {
	Label    string // valid UTF-8, unique in its type
	Raw      string // the device's own number or text, as its driver writes it; empty if it is the index
	Severity Severity
}

// A Type is what a value can be: kind, shape, limits, states. It converts and
// validates (see convert.go) and is used for attributes as well as for the
// arguments and results of commands.
type Type struct {
	Kind Kind
	// Shape is nil for a scalar. For an array it holds the largest extent of
	// each dimension: [n] is up to n elements; [r, c] is up to r rows of
	// exactly c columns, row by row. Only numbers, bools and strings can be
	// elements.
	Shape []int
	// MaxLength is the longest string or bytes value, in bytes; 0 means DefaultMaxLength.
	MaxLength int
	Units     string
	// Precision is the number of digits after the decimal point to show.
	// PrecisionSet tells 0 from unset.
	Precision    int
	PrecisionSet bool
	Control      Range // what a put may ask for
	States       []State
}

// DefaultMaxLength is the longest string or bytes value where a type sets no limit, in bytes.
const DefaultMaxLength = 1024

// IsArray reports whether values of the type are arrays.
func (t *Type) IsArray() bool { return len(t.Shape) > 0 }

// MaxElements returns the largest number of elements, 1 for a scalar.
func (t *Type) MaxElements() int {
	n := 1
	for _, extent := range t.Shape {
		n *= extent
	}
	return n
}

// Capacity returns MaxLength or its default, in bytes.
func (t *Type) Capacity() int {
	if t.MaxLength > 0 {
		return t.MaxLength
	}
	return DefaultMaxLength
}

// Label returns the label of state index, or false if there is no such state.
func (t *Type) Label(index int) (string, bool) {
	if index < 0 || index >= len(t.States) {
		return "", false
	}
	return t.States[index].Label, true
}

// Access says what can be done with an attribute.
type Access uint8

// The bits of Access. A command has AccessExecute alone.
const (
	AccessRead Access = 1 << iota
	AccessWrite
	AccessExecute
	AccessReadWrite = AccessRead | AccessWrite
)

// String returns "r", "w", "rw" or "x".
func (a Access) String() string {
	switch a {
	case AccessRead:
		return "r"
	case AccessWrite:
		return "w"
	case AccessReadWrite:
		return "rw"
	case AccessExecute:
		return "x"
	default:
		return ""
	}
}

// A Descriptor is what an attribute or command is. It is immutable and shared;
// a change is a new Descriptor with a higher Revision.
type Descriptor struct {
	Path        Path
	Revision    uint64
	Description string
	// Annotations carry what single frontends want to know, such as "ca.name".
	Annotations map[string]string
	*Traits
}

// Traits are the part of a Descriptor that many attributes have in common, which
// is kept once for all of them. They are never nil, and never changed: a
// Descriptor with others has Traits of its own.
//
// A command's own Type is Bool: its only sample is a setpoint that is true
// while the command runs, and that carries the alarm of how it last ended.
type Traits struct {
	Access Access
	Type
	Display Range
	Alarm   AlarmLevels
	// Deadband and LogDeadband: a value must move by more than this from
	// the one last published to count as a change (EPICS MDEL and ADEL).
	Deadband, LogDeadband float64
	// Always makes every poll a change, even if the value stayed.
	Always bool
	// Poll is the wanted period; 0 means that the device speaks by itself or is never read.
	Poll time.Duration
	// Argument and Result are the types of a command's argument and result; nil where it has none.
	Argument, Result *Type
}

// IsCommand reports whether this is a command.
func (t *Traits) IsCommand() bool { return t.Access&AccessExecute != 0 }

// CanRead reports whether there is a readback.
func (t *Traits) CanRead() bool { return t.Access&AccessRead != 0 }

// CanWrite reports whether there is a setpoint to put.
func (t *Traits) CanWrite() bool { return t.Access&AccessWrite != 0 }

// Roles returns the roles that have a sample.
func (t *Traits) Roles() Role {
	var roles Role
	if t.CanRead() {
		roles |= Readback
	}
	if t.CanWrite() || t.IsCommand() {
		roles |= Setpoint
	}
	return roles
}
