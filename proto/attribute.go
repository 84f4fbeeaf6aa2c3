package proto

import (
	"github.com/polygate/gateway"
)

// This file writes what gRPC clients are shown of attributes. In contrast to the
// bus, a sample carries the alarm that a client goes by, which is the worse of
// its own and that of the attribute's availability, and the label of a state.

// AppendAttribute appends one attribute to a GetResponse.
func AppendAttribute(dst []byte, a *gateway.Attribute, describe bool) ([]byte, error) {
	w := writer{b: dst}
	w.attribute(1, a, describe)
	return w.b, w.err
}

// AppendDevice appends one device to a DescribeResponse.
func AppendDevice(dst []byte, d *gateway.Device) ([]byte, error) {
	w := writer{b: dst}
	m := w.begin(1, 2*short)
	w.text(1, d.Name)
	w.deviceInfo(2, &d.DeviceInfo)
	w.varint(3, uint64(d.Availability))
	w.time(4, d.Since)
	w.text(5, d.Words)
	w.varint(6, uint64(d.Attributes))
	w.varint(7, uint64(d.Stale))
	w.text(8, d.Owner.Instance)
	w.varint(9, d.Owner.Term)
	w.end(m)
	return w.b, w.err
}

// AppendDescriptor appends one descriptor to a DescribeResponse.
func AppendDescriptor(dst []byte, d *gateway.Descriptor) ([]byte, error) {
	w := writer{b: dst}
	w.descriptor(2, d)
	return w.b, w.err
}

// AppendVerdict appends the verdict on a put to, an execution or a refresh of a
// as a PutResponse, an ExecuteResponse or a RefreshResponse has it.
func AppendVerdict(dst []byte, a *gateway.Attribute, v *gateway.Verdict) ([]byte, error) {
	w := writer{b: dst}
	m := w.begin(1, 2*short+sizeOf(v.Setpoint)+sizeOf(v.Readback)+v.Result.Size())
	w.varint(1, uint64(v.Stage))
	w.error(2, v.Err)
	w.shown(3, a, v.Setpoint)
	w.shown(4, a, v.Readback)
	w.value(5, v.Result)
	w.end(m)
	return w.b, w.err
}

func (w *writer) attribute(num uint64, a *gateway.Attribute, describe bool) {
	guess := 2*short + sizeOf(a.Readback) + sizeOf(a.Setpoint)
	if describe {
		guess += 2 * short
	}
	m := w.begin(num, guess)
	w.text(1, string(a.Path))
	w.shown(2, a, a.Readback)
	w.shown(3, a, a.Setpoint)
	w.varint(4, uint64(a.Availability))
	w.time(5, a.AvailableSince)
	w.text(6, a.Words)
	if describe {
		w.descriptor(7, a.Descriptor)
	}
	w.end(m)
}

func sizeOf(s *gateway.Sample) int {
	if s == nil {
		return 0
	}
	return s.Value.Size()
}

// shown writes a sample of a as clients see it; a nil one is left out.
func (w *writer) shown(num uint64, a *gateway.Attribute, s *gateway.Sample) {
	if s != nil {
		w.shownSample(num, a, s, s.Mask)
	}
}

func (w *writer) shownSample(num uint64, a *gateway.Attribute, s *gateway.Sample, mask gateway.Mask) {
	m := w.begin(num, short+s.Value.Size())
	w.value(1, s.Value)
	w.stamp(2, s.Time)
	w.stamp(3, s.LastGood)
	if a.Availability == gateway.Available {
		w.alarm(&s.Alarm)
	} else {
		alarm := s.Alarm.Worse(a.Availability.Alarm(a.Words))
		w.alarm(&alarm)
	}
	w.varint(5, s.Seq)
	w.varint(6, uint64(mask))
	if s.Value.Kind() == gateway.Enum {
		label, _ := a.Label(s.Value.Index())
		w.text(7, label)
	}
	w.end(m)
}

// DecodeValue decodes a Value. A message with no field set is the zero Value.
func DecodeValue(b []byte) (gateway.Value, error) {
	var d Decoder
	var v gateway.Value
	err := d.value(b, &v)
	return v, err
}
