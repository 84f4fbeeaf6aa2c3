package gateway

// A Role tells the two samples of an attribute apart.
type Role uint8

// The roles. RoleBoth is for selections only; a sample has one role.
const (
	Readback Role = 1 << iota // what the device says
	Setpoint                  // what was last asked for
	RoleBoth = Readback | Setpoint
)

// String returns "readback" or "setpoint".
func (r Role) String() string {
	switch r {
	case Readback:
		return "readback"
	case Setpoint:
		return "setpoint"
	default:
		return "both"
	}
}

// A Mask says in which respect a sample differs from the one before, with the
// numbers of EPICS's DBE_VALUE, DBE_LOG, DBE_ALARM and DBE_PROPERTY.
type Mask uint8

// The bits of a Mask.
const (
	MaskValue    Mask = 1 << iota // moved by more than the dead-band
	MaskLog                       // moved by more than the archive dead-band
	MaskAlarm                     // severity, status or text changed
	MaskProperty                  // the descriptor changed
	MaskAll      = MaskValue | MaskLog | MaskAlarm | MaskProperty
)

// A Sample is one value of one role. It is immutable once published and shared
// by all readers.
type Sample struct {
	// Value is the kind-less zero Value as long as nothing is known.
	Value Value
	// Time is when the last byte of the device's reply arrived, or for a
	// setpoint when the put was accepted. A sample without a reply (alarm
	// COMM or TIMEOUT) has the time at which that was noticed. It is zero for
	// a sample that was never read. Times of one role strictly rise.
	Time Time
	// LastGood is the time of the last value that came without an INVALID
	// alarm. It equals Time in a good sample.
	LastGood Time
	Alarm    Alarm
	// Seq counts changes: (path, role, Seq) identifies a sample on every
	// protocol and every hub. A poll that changed nothing keeps it.
	Seq uint64
	// Mask says what changed against the sample before; 0 when only time
	// moved on.
	Mask Mask
}

// NeverRead is the sample of a role that nothing is known of yet.
var NeverRead = &Sample{Alarm: Undefined}

// Size is the sample's share of memory in bytes, roughly: what a bounded queue counts.
func (s *Sample) Size() int { return 128 + s.Value.Size() }
