package cawire

// ClientName tells the server who the user is. It belongs before the first
// channel; base answers ECAInternal to one that comes later, and ignores it.
type ClientName struct {
	Name []byte // without NUL
}

// Kind returns KindClientName.
func (*ClientName) Kind() Kind { return KindClientName }

// Append appends the message. The name must not be empty or contain NUL.
func (m *ClientName) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendName(dst, minor, Header{Command: CmdClientName}, m.Name)
}

// Decode sets m from a frame. A name without NUL or above MaxName is
// ErrBadName, to which base answers ECAInternal and closes the circuit.
func (m *ClientName) Decode(f Frame) (err error) {
	m.Name, err = peerName(f.Payload)
	return err
}

func (m *ClientName) fields(dst []byte) []byte { return fieldText(dst, "name", m.Name) }

// HostName tells the server what the client's host calls itself, in the same
// way as ClientName.
type HostName struct {
	Name []byte // without NUL
}

// Kind returns KindHostName.
func (*HostName) Kind() Kind { return KindHostName }

// Append appends the message. The name must not be empty or contain NUL.
func (m *HostName) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendName(dst, minor, Header{Command: CmdHostName}, m.Name)
}

// Decode sets m from a frame, as ClientName does.
func (m *HostName) Decode(f Frame) (err error) {
	m.Name, err = peerName(f.Payload)
	return err
}

func (m *HostName) fields(dst []byte) []byte { return fieldText(dst, "name", m.Name) }

func peerName(payload []byte) ([]byte, error) {
	name := untilNUL(payload)
	if len(name) == len(payload) || len(name)+1 > MaxName {
		return nil, ErrBadName
	}
	return name, nil
}
