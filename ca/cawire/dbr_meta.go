package cawire

import (
	"encoding/binary"
	"math"
)

// Meta is what travels around a value. Which fields a type carries depends on
// its form and native type; encoding ignores the others, and decoding leaves
// them as they were.
type Meta struct {
	Status    AlarmStatus
	Severity  Severity
	Time      TimeStamp
	AckT      bool     // DBRStsAckString: transient alarms must be acknowledged
	AckS      Severity // DBRStsAckString: severity that waits for an acknowledgement
	Precision int16    // digits after the point; DBRFloat and DBRDouble
	Units     string   // up to 7 bytes travel
	Limits    Limits
	States    []string // up to 16 with up to 25 bytes travel; DBREnum
}

// Limits are the limits of a channel in its own units. A limit beyond the range
// of the type that carries it travels as the nearest number that the type has. In
// the forms of an integer type a fraction is cut off, and NaN travels as 0.
type Limits struct {
	UpperDisplay, LowerDisplay                         float64
	UpperAlarm, UpperWarning, LowerWarning, LowerAlarm float64
	UpperControl, LowerControl                         float64 // Ctrl forms only
}

// array returns the limits in the order of the wire; Gr has the first six.
func (l *Limits) array() [8]float64 {
	return [...]float64{
		l.UpperDisplay, l.LowerDisplay,
		l.UpperAlarm, l.UpperWarning, l.LowerWarning, l.LowerAlarm,
		l.UpperControl, l.LowerControl,
	}
}

// set takes limits in the order of the wire and leaves those that a does not have.
func (l *Limits) set(a []float64) {
	into := [...]*float64{
		&l.UpperDisplay, &l.LowerDisplay,
		&l.UpperAlarm, &l.UpperWarning, &l.LowerWarning, &l.LowerAlarm,
		&l.UpperControl, &l.LowerControl,
	}
	for i, limit := range a {
		*into[i] = limit
	}
}

func limitCount(f Form) int {
	if f == Gr {
		return 6
	}
	return 8
}

// append appends what precedes the value in a payload of type t.
func (m *Meta) append(dst []byte, t Type) []byte {
	start := len(dst)
	if form := t.Form(); form != Plain && (form != Special || t == DBRStsAckString) {
		dst = binary.BigEndian.AppendUint16(dst, uint16(m.Status))
		dst = binary.BigEndian.AppendUint16(dst, uint16(m.Severity))
		switch form {
		case Time:
			stamp := m.Time.Normal()
			dst = binary.BigEndian.AppendUint32(dst, stamp.Seconds)
			dst = binary.BigEndian.AppendUint32(dst, stamp.Nanos)
		case Gr, Ctrl:
			dst = m.appendDisplay(dst, t.Native(), limitCount(form))
		case Special:
			dst = binary.BigEndian.AppendUint16(dst, bit(m.AckT))
			dst = binary.BigEndian.AppendUint16(dst, uint16(m.AckS))
		}
	}
	return appendZeros(dst, t.ValueOffset()-(len(dst)-start))
}

func bit(b bool) uint16 {
	if b {
		return 1
	}
	return 0
}

// appendDisplay appends what Gr and Ctrl have after status and severity.
func (m *Meta) appendDisplay(dst []byte, native Type, limits int) []byte {
	switch native {
	case DBRString:
		return dst
	case DBREnum:
		states := m.States[:min(len(m.States), MaxStates)]
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(states)))
		for _, state := range states {
			dst = appendText(dst, state, StateSize)
		}
		return appendZeros(dst, (MaxStates-len(states))*StateSize)
	case DBRFloat, DBRDouble:
		dst = binary.BigEndian.AppendUint16(dst, uint16(m.Precision))
		dst = append(dst, 0, 0)
	}
	dst = appendText(dst, m.Units, UnitsSize)
	all := m.Limits.array()
	for _, limit := range all[:limits] {
		dst = appendLimit(dst, native, limit)
	}
	return dst
}

func appendLimit(dst []byte, native Type, limit float64) []byte {
	switch native {
	case DBRShort:
		return binary.BigEndian.AppendUint16(dst, uint16(int16(saturate(limit, math.MinInt16, math.MaxInt16))))
	case DBRChar:
		return append(dst, byte(saturate(limit, 0, math.MaxUint8)))
	case DBRLong:
		return binary.BigEndian.AppendUint32(dst, uint32(int32(saturate(limit, math.MinInt32, math.MaxInt32))))
	case DBRFloat:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(narrow(limit)))
	default:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(limit))
	}
}

func saturate(f, low, high float64) int64 {
	if math.IsNaN(f) {
		return 0
	}
	return int64(min(max(f, low), high))
}

// narrow keeps what is beyond the range of the type finite.
func narrow(f float64) float32 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return float32(f)
	}
	return float32(min(max(f, -math.MaxFloat32), math.MaxFloat32))
}

// decode reads what append appends.
func (m *Meta) decode(r *reader, t Type) {
	form := t.Form()
	if form == Plain || form == Special && t != DBRStsAckString {
		return
	}
	m.Status = AlarmStatus(r.uint16())
	m.Severity = Severity(r.uint16())
	switch form {
	case Time:
		m.Time = TimeStamp{Seconds: r.uint32(), Nanos: r.uint32()}
	case Gr, Ctrl:
		m.decodeDisplay(r, t.Native(), limitCount(form))
	case Special:
		m.AckT = r.uint16() != 0
		m.AckS = Severity(r.uint16())
	}
}

func (m *Meta) decodeDisplay(r *reader, native Type, limits int) {
	switch native {
	case DBRString:
		return
	case DBREnum:
		n := min(int(r.uint16()), MaxStates)
		m.States = resize(m.States, n)
		for i := range m.States {
			setText(&m.States[i], r.take(StateSize))
		}
		r.skip((MaxStates - n) * StateSize)
		return
	case DBRFloat, DBRDouble:
		m.Precision = r.int16()
		r.skip(2)
	}
	setText(&m.Units, r.take(UnitsSize))
	var all [8]float64
	for i := range all[:limits] {
		all[i] = readLimit(r, native)
	}
	m.Limits.set(all[:limits])
}

func readLimit(r *reader, native Type) float64 {
	switch native {
	case DBRShort:
		return float64(r.int16())
	case DBRChar:
		return float64(r.uint8())
	case DBRLong:
		return float64(r.int32())
	case DBRFloat:
		return float64(r.float32())
	default:
		return r.float64()
	}
}
