package cawire

// Echo asks whether the other side is alive. The answer repeats the request,
// payload included; libca asks after 30 s of silence, with all fields zero.
type Echo struct {
	Type           uint16
	Count          uint32
	Param1, Param2 uint32
	Payload        []byte
}

// Kind returns KindEcho.
func (*Echo) Kind() Kind { return KindEcho }

// Append appends the message.
func (m *Echo) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdEcho, Type: m.Type, Count: m.Count, Param1: m.Param1, Param2: m.Param2,
	}, m.Payload)
}

// Decode sets m from a frame.
func (m *Echo) Decode(f Frame) error {
	*m = Echo{Type: f.Type, Count: f.Count, Param1: f.Param1, Param2: f.Param2, Payload: f.Payload}
	return nil
}

func (m *Echo) fields(dst []byte) []byte {
	if len(m.Payload) > 0 {
		dst = fieldInt(dst, "bytes", int64(len(m.Payload)))
	}
	return dst
}

// ReadSync was how clients before 4.3 asked for an echo. The answer repeats
// the header of the request.
type ReadSync struct {
	Type           uint16
	Count          uint32
	Param1, Param2 uint32
}

// Kind returns KindReadSync.
func (*ReadSync) Kind() Kind { return KindReadSync }

// Append appends the message.
func (m *ReadSync) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdReadSync, Type: m.Type, Count: m.Count, Param1: m.Param1, Param2: m.Param2,
	}, nil)
}

// Decode sets m from a frame.
func (m *ReadSync) Decode(f Frame) error {
	*m = ReadSync{Type: f.Type, Count: f.Count, Param1: f.Param1, Param2: f.Param2}
	return nil
}

func (m *ReadSync) fields(dst []byte) []byte { return dst }

// EventsOff asks the server to send no events for now. Events that happen
// meanwhile may be merged; the newest of each subscription must survive.
type EventsOff struct{}

// Kind returns KindEventsOff.
func (*EventsOff) Kind() Kind { return KindEventsOff }

// Append appends the message.
func (*EventsOff) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdEventsOff}, nil)
}

// Decode does nothing: the message has no fields.
func (*EventsOff) Decode(Frame) error { return nil }

func (*EventsOff) fields(dst []byte) []byte { return dst }

// EventsOn takes EventsOff back.
type EventsOn struct{}

// Kind returns KindEventsOn.
func (*EventsOn) Kind() Kind { return KindEventsOn }

// Append appends the message.
func (*EventsOn) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdEventsOn}, nil)
}

// Decode does nothing: the message has no fields.
func (*EventsOn) Decode(Frame) error { return nil }

func (*EventsOn) fields(dst []byte) []byte { return dst }
