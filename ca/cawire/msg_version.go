package cawire

// Version opens a circuit, from both sides: a client sends it first of all, a
// server as soon as it has accepted, without waiting for the client's. libca
// sends another before each SEARCH on a circuit, in the form of a datagram's:
// with Priority 1, which is not meant as one, and a sequence number.
type Version struct {
	Priority uint16 // wanted by the client, 0 to MaxPriority; servers send 0 (base) or 1 (caproto)
	Minor    Minor
	Sequence uint32 // libca's before a SEARCH, else 0 (base) or 1 (caproto); servers ignore it
}

// Kind returns KindVersion.
func (*Version) Kind() Kind { return KindVersion }

// Append appends the message.
func (m *Version) Append(dst []byte, minor Minor) ([]byte, error) {
	h := Header{Command: CmdVersion, Type: m.Priority, Count: uint32(m.Minor), Param1: m.Sequence}
	return appendMessage(dst, minor, h, nil)
}

// Decode sets m from a frame. It does not judge the priority; base closes the
// circuit of a client whose priority is above MaxPriority.
func (m *Version) Decode(f Frame) error {
	*m = Version{Priority: f.Type, Minor: Minor(f.Count), Sequence: f.Param1}
	return nil
}

func (m *Version) fields(dst []byte) []byte {
	return fieldInt(fieldMinor(dst, m.Minor), "priority", int64(m.Priority))
}

// DatagramVersion opens every datagram with searches or replies. A server's
// reply quotes the sequence number of the request, if it had one.
type DatagramVersion struct {
	Minor       Minor
	HasSequence bool // Sequence counts; from minor revision 11 on
	Sequence    uint32
}

// sequenceValid is the bit in Type that says that Param1 is a sequence number.
const sequenceValid = 1

// Kind returns KindDatagramVersion.
func (*DatagramVersion) Kind() Kind { return KindDatagramVersion }

// Append appends the message.
func (m *DatagramVersion) Append(dst []byte, minor Minor) ([]byte, error) {
	h := Header{Command: CmdVersion, Count: uint32(m.Minor), Param1: m.Sequence}
	if m.HasSequence {
		h.Type = sequenceValid
	}
	return appendMessage(dst, minor, h, nil)
}

// Decode sets m from a frame.
func (m *DatagramVersion) Decode(f Frame) error {
	*m = DatagramVersion{Minor: Minor(f.Count), HasSequence: f.Type&sequenceValid != 0, Sequence: f.Param1}
	return nil
}

func (m *DatagramVersion) fields(dst []byte) []byte {
	dst = fieldMinor(dst, m.Minor)
	if m.HasSequence {
		dst = fieldInt(dst, "sequence", int64(m.Sequence))
	}
	return dst
}
