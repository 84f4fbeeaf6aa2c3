package cawire

import "fmt"

// Side is one of the two ends of a conversation.
type Side uint8

// The sides. On datagrams a repeater counts as a server.
const (
	Client Side = iota + 1
	Server
)

// Other returns the opposite side.
func (s Side) Other() Side { return Client + Server - s }

func (s Side) String() string {
	switch s {
	case Client:
		return "client"
	case Server:
		return "server"
	}
	return "nobody"
}

// Transport is how a message travels.
type Transport uint8

// The transports: TCP circuits and UDP datagrams.
const (
	OnCircuit Transport = iota + 1
	OnDatagram
)

func (t Transport) String() string {
	if t == OnDatagram {
		return "datagram"
	}
	return "circuit"
}

// Message is one message of the protocol, a pointer to one of this package's
// structs; there are no others. Its byte slices are borrowed: Decode lets them alias the frame's
// payload, so they last as long as the buffer does.
type Message interface {
	// Kind says which message this is, and so who may send it.
	Kind() Kind
	// Append appends the whole message with its padding, in the form that a
	// peer of the given minor revision understands. On an error dst is
	// returned as it was.
	Append(dst []byte, minor Minor) ([]byte, error)
	// Decode sets the message from a frame of its command. It keeps no
	// reference except to f.Payload, and allocates nothing.
	Decode(f Frame) error

	// fields appends the message's fields for a trace: " name=value ...".
	fields(dst []byte) []byte
}

// Decode returns the message in a frame that the given side sent. It allocates
// the message; to allocate nothing, switch on KindOf and use Decode of a struct
// of your own.
func Decode(f Frame, from Side, on Transport) (Message, error) {
	k, err := KindOf(f, from, on)
	if err != nil {
		return nil, err
	}
	m := kinds[k].make()
	if err := m.Decode(f); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", k, err)
	}
	return m, nil
}

// appendMessage appends a header and its padded payload.
func appendMessage(dst []byte, minor Minor, h Header, payload []byte) ([]byte, error) {
	if uint64(len(payload)) > maxPayload {
		return dst, ErrTooLarge
	}
	h.PayloadSize = uint32(len(payload))
	out, err := h.Append(dst, minor)
	if err != nil {
		return dst, err
	}
	start := len(out)
	return appendPad(append(out, payload...), start), nil
}

// appendName appends a header and a text with its NUL.
func appendName(dst []byte, minor Minor, h Header, name []byte) ([]byte, error) {
	if len(name) == 0 || len(untilNUL(name)) < len(name) || uint64(len(name)) >= maxPayload {
		return dst, ErrBadName
	}
	h.PayloadSize = uint32(len(name)) + 1
	out, err := h.Append(dst, minor)
	if err != nil {
		return dst, err
	}
	start := len(out)
	return appendPad(append(append(out, name...), 0), start), nil
}
