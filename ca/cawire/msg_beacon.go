package cawire

import "net/netip"

// Beacon says that a server is up. It is sent at intervals from 0.02 s that
// double up to 15 s, to the repeaters' port.
type Beacon struct {
	Minor   Minor
	Port    uint16     // of the server's circuits
	ID      uint32     // rises by one with each beacon, and wraps
	Address netip.Addr // of the server, IPv4; the zero Addr means whoever sent this
}

// Kind returns KindBeacon.
func (*Beacon) Kind() Kind { return KindBeacon }

// Append appends the message.
func (m *Beacon) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdBeacon, Type: uint16(m.Minor), Count: uint32(m.Port), Param1: m.ID, Param2: addressOr(m.Address, 0),
	}, nil)
}

// Decode sets m from a frame.
func (m *Beacon) Decode(f Frame) error {
	*m = Beacon{Minor: Minor(f.Type), Port: uint16(f.Count), ID: f.Param1}
	if f.Param2 != 0 {
		m.Address = address(f.Param2)
	}
	return nil
}

func (m *Beacon) fields(dst []byte) []byte {
	dst = fieldInt(fieldAddress(dst, m.Address), "port", int64(m.Port))
	return fieldInt(fieldMinor(dst, m.Minor), "id", int64(m.ID))
}

// RepeaterRegister asks the repeater of this host for its datagrams. (A
// datagram of no bytes asks the same, from clients of old.)
type RepeaterRegister struct {
	Address netip.Addr // of the client, IPv4; base's repeater goes by the datagram's source
}

// Kind returns KindRepeaterRegister.
func (*RepeaterRegister) Kind() Kind { return KindRepeaterRegister }

// Append appends the message.
func (m *RepeaterRegister) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdRepeaterRegister, Param2: addressOr(m.Address, 0)}, nil)
}

// Decode sets m from a frame.
func (m *RepeaterRegister) Decode(f Frame) error {
	*m = RepeaterRegister{}
	if f.Param2 != 0 {
		m.Address = address(f.Param2)
	}
	return nil
}

func (m *RepeaterRegister) fields(dst []byte) []byte { return fieldAddress(dst, m.Address) }

// RepeaterConfirm answers RepeaterRegister.
type RepeaterConfirm struct {
	Address netip.Addr // of the client, as in RepeaterRegister
}

// Kind returns KindRepeaterConfirm.
func (*RepeaterConfirm) Kind() Kind { return KindRepeaterConfirm }

// Append appends the message.
func (m *RepeaterConfirm) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdRepeaterConfirm, Param2: addressOr(m.Address, 0)}, nil)
}

// Decode sets m from a frame.
func (m *RepeaterConfirm) Decode(f Frame) error {
	*m = RepeaterConfirm{}
	if f.Param2 != 0 {
		m.Address = address(f.Param2)
	}
	return nil
}

func (m *RepeaterConfirm) fields(dst []byte) []byte { return fieldAddress(dst, m.Address) }
