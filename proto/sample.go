package proto

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/polygate/gateway"
)

// sample writes s as field num; a nil s is left out, a zero one is not.
func (w *writer) sample(num uint64, s *gateway.Sample) {
	if s == nil {
		return
	}
	m := w.begin(num, short+s.Value.Size())
	if isPlain(s) {
		w.plainSample(s)
	} else {
		w.value(1, s.Value)
		w.stamp(2, s.Time)
		w.stamp(3, s.LastGood)
	}
	w.alarm(&s.Alarm)
	w.varint(5, s.Seq)
	w.varint(6, uint64(s.Mask))
	w.end(m)
}

// A plain sample is what most are: a good number with its times. It is written
// and read in one step, with the same bytes as any other.
func isPlain(s *gateway.Sample) bool {
	return s.Value.Kind() == gateway.Float64 && !s.Value.IsArray() && !s.Time.IsZero() && !s.LastGood.IsZero()
}

// The fields of a plain sample: the value in a message of its own, and two times.
const (
	plainSize  = 3 + 8 + 1 + 8 + 1 + 8
	plainValue = 3
	plainTime  = plainValue + 8 + 1
	plainGood  = plainTime + 8 + 1
)

// plainSample writes value and times of a plain sample.
func (w *writer) plainSample(s *gateway.Sample) {
	b := slices.Grow(w.b, plainSize)
	b = append(b, byte(1<<3|lenType), 1+8, byte(uint64(gateway.Float64)<<3|fixed64Type))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.Value.Float()))
	b = append(b, byte(2<<3|fixed64Type))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Time))
	b = append(b, byte(3<<3|fixed64Type))
	w.b = binary.LittleEndian.AppendUint64(b, uint64(s.LastGood))
}

// plain reads value and times of a sample that begins as plainSample writes
// them, and returns what follows.
func plain(b []byte, s *gateway.Sample) []byte {
	if len(b) < plainSize || b[0] != byte(1<<3|lenType) || b[1] != 1+8 || b[2] != byte(uint64(gateway.Float64)<<3|fixed64Type) ||
		b[plainTime-1] != byte(2<<3|fixed64Type) || b[plainGood-1] != byte(3<<3|fixed64Type) {
		return b
	}
	s.Value = gateway.Of(math.Float64frombits(binary.LittleEndian.Uint64(b[plainValue:])))
	s.Time = gateway.Time(binary.LittleEndian.Uint64(b[plainTime:]))
	s.LastGood = gateway.Time(binary.LittleEndian.Uint64(b[plainGood:]))
	return b[plainSize:]
}

func (d *Decoder) sample(b []byte, s *gateway.Sample) error {
	r := reader{b: plain(b, s)}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(d.value(r.bytes(), &s.Value))
		case 2<<3 | fixed64Type:
			s.Time = r.stamp()
		case 3<<3 | fixed64Type:
			s.LastGood = r.stamp()
		case 4<<3 | lenType:
			r.fail(d.alarm(r.bytes(), &s.Alarm))
		case 5<<3 | varintType:
			s.Seq = r.varint()
		case 6<<3 | varintType:
			s.Mask = gateway.Mask(r.uint32()) & gateway.MaskAll
		default:
			r.skip(key)
		}
	}
	return r.err
}

// newSample reads into s, or into a new sample if s is nil.
func (d *Decoder) newSample(r *reader, s **gateway.Sample) {
	if *s == nil {
		*s = new(gateway.Sample)
	}
	r.fail(d.sample(r.bytes(), *s))
}

// alarm writes the alarm of a sample, unless there is none.
func (w *writer) alarm(a *gateway.Alarm) {
	if a.Severity == gateway.NoAlarm && a.Status == gateway.StatusNone && a.Text == "" {
		return
	}
	m := w.begin(4, len(a.Text)+8)
	w.varint(1, uint64(a.Severity))
	w.varint(2, uint64(a.Status))
	w.text(3, a.Text)
	w.end(m)
}

func (d *Decoder) alarm(b []byte, a *gateway.Alarm) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | varintType:
			a.Severity = r.severity()
		case 2<<3 | varintType:
			// A status that a newer peer may have invented is still an alarm.
			a.Status = gateway.StatusUDF
			if status := r.enum(int32(gateway.StatusWriteAccess)); status >= 0 {
				a.Status = gateway.Status(status)
			}
		case 3<<3 | lenType:
			a.Text = d.again(&r)
		default:
			r.skip(key)
		}
	}
	return r.err
}

// severity takes what it does not know for the worst.
func (r *reader) severity() gateway.Severity {
	if severity := r.enum(int32(gateway.Invalid)); severity >= 0 {
		return gateway.Severity(severity)
	}
	return gateway.Invalid
}
