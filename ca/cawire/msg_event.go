package cawire

import (
	"encoding/binary"
	"math"
)

// Mask says which changes of a channel a subscription wants.
type Mask uint16

// The event mask's bits, with base's names.
const (
	DBEValue    Mask = 1 // the value moved by more than MDEL
	DBELog      Mask = 2 // the value moved by more than ADEL; also called DBE_ARCHIVE
	DBEAlarm    Mask = 4 // the alarm changed
	DBEProperty Mask = 8 // limits, units, states or the like changed
)

func (m Mask) String() string {
	const all = "value,log,alarm,property"
	names := [...]string{"value", "log", "alarm", "property"}
	if m&15 == 15 {
		return all
	}
	s := ""
	for i, name := range names {
		if m&(1<<i) != 0 {
			if s != "" {
				s += ","
			}
			s += name
		}
	}
	if s == "" {
		return "none"
	}
	return s
}

// EventAdd subscribes to a channel. The server sends an Event at once, and then
// one for each change that the mask names.
type EventAdd struct {
	Type           Type
	Count          uint32 // elements wanted; 0 means as many as there are, each time
	SID            uint32
	SubscriptionID uint32
	Low, High, To  float32 // never used; clients send 0
	Mask           Mask
}

// eventAddSize is the length of an EventAdd's payload.
const eventAddSize = 16

// Kind returns KindEventAdd.
func (*EventAdd) Kind() Kind { return KindEventAdd }

// Append appends the message.
func (m *EventAdd) Append(dst []byte, minor Minor) ([]byte, error) {
	h := Header{
		Command: CmdEventAdd, PayloadSize: eventAddSize,
		Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.SubscriptionID,
	}
	out, err := h.Append(dst, minor)
	if err != nil {
		return dst, err
	}
	out = binary.BigEndian.AppendUint32(out, math.Float32bits(m.Low))
	out = binary.BigEndian.AppendUint32(out, math.Float32bits(m.High))
	out = binary.BigEndian.AppendUint32(out, math.Float32bits(m.To))
	return append(out, byte(m.Mask>>8), byte(m.Mask), 0, 0), nil
}

// Decode sets m from a frame. Whether the type exists is left to the server.
func (m *EventAdd) Decode(f Frame) error {
	r := reader{buf: f.Payload}
	*m = EventAdd{
		Type: Type(f.Type), Count: f.Count, SID: f.Param1, SubscriptionID: f.Param2,
		Low: r.float32(), High: r.float32(), To: r.float32(), Mask: Mask(r.uint16()),
	}
	return r.err
}

func (m *EventAdd) fields(dst []byte) []byte {
	dst = fieldInt(fieldInt(dst, "sid", int64(m.SID)), "subscription", int64(m.SubscriptionID))
	return append(append(fieldType(dst, m.Type, m.Count), " mask="...), m.Mask.String()...)
}

// Event is one update of a subscription.
//
// An event without payload cannot be told from EventCancelReply: that is what a
// plain type with no elements becomes. Base's client takes neither to its user.
type Event struct {
	Type           Type
	Count          uint32 // elements in the payload
	Status         Status
	SubscriptionID uint32
	Payload        []byte // see AppendDBR
}

// Kind returns KindEvent.
func (*Event) Kind() Kind { return KindEvent }

func (m *Event) header() Header {
	return Header{
		Command: CmdEventAdd, PayloadSize: uint32(len(m.Payload)),
		Type: uint16(m.Type), Count: m.Count, Param1: uint32(m.Status), Param2: m.SubscriptionID,
	}
}

// Append appends the message.
func (m *Event) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, m.header(), m.Payload)
}

// AppendHeader appends the message without its payload, which the caller sends
// after it, padded (as AppendDBR leaves it): so that one payload can serve many
// circuits.
func (m *Event) AppendHeader(dst []byte, minor Minor) ([]byte, error) {
	h := m.header()
	return h.Append(dst, minor)
}

// Decode sets m from a frame. DecodeDBR judges the payload.
func (m *Event) Decode(f Frame) error {
	*m = Event{Type: Type(f.Type), Count: f.Count, Status: Status(f.Param1), SubscriptionID: f.Param2, Payload: f.Payload}
	return nil
}

func (m *Event) fields(dst []byte) []byte {
	dst = fieldStatus(fieldInt(dst, "subscription", int64(m.SubscriptionID)), m.Status)
	return fieldData(fieldType(dst, m.Type, m.Count), m.Type, m.Count, m.Payload)
}

// EventCancel ends a subscription.
type EventCancel struct {
	Type           Type   // of the subscription
	Count          uint32 // of the subscription; libca sends its lower 16 bits
	SID            uint32
	SubscriptionID uint32
}

// Kind returns KindEventCancel.
func (*EventCancel) Kind() Kind { return KindEventCancel }

// Append appends the message.
func (m *EventCancel) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdEventCancel, Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.SubscriptionID,
	}, nil)
}

// Decode sets m from a frame.
func (m *EventCancel) Decode(f Frame) error {
	*m = EventCancel{Type: Type(f.Type), Count: f.Count, SID: f.Param1, SubscriptionID: f.Param2}
	return nil
}

func (m *EventCancel) fields(dst []byte) []byte {
	return fieldInt(fieldInt(dst, "sid", int64(m.SID)), "subscription", int64(m.SubscriptionID))
}

// EventCancelReply confirms EventCancel and is the last message of the
// subscription. It has the command of EventAdd and no payload, and repeats the
// fields of the EventAdd that it ends.
type EventCancelReply struct {
	Type           Type
	Count          uint32
	SID            uint32
	SubscriptionID uint32
}

// Kind returns KindEventCancelReply.
func (*EventCancelReply) Kind() Kind { return KindEventCancelReply }

// Append appends the message.
func (m *EventCancelReply) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdEventAdd, Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.SubscriptionID,
	}, nil)
}

// Decode sets m from a frame.
func (m *EventCancelReply) Decode(f Frame) error {
	*m = EventCancelReply{Type: Type(f.Type), Count: f.Count, SID: f.Param1, SubscriptionID: f.Param2}
	return nil
}

func (m *EventCancelReply) fields(dst []byte) []byte {
	return fieldInt(fieldInt(dst, "sid", int64(m.SID)), "subscription", int64(m.SubscriptionID))
}
