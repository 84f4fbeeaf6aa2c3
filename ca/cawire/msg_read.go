package cawire

// ReadRequest asks for a value, in the old way: failures come as ErrorReply.
type ReadRequest struct {
	Type  Type
	Count uint32 // elements wanted
	SID   uint32
	IOID  uint32 // the client's id for this request
}

// Kind returns KindReadRequest.
func (*ReadRequest) Kind() Kind { return KindReadRequest }

// Append appends the message.
func (m *ReadRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdRead, Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.IOID,
	}, nil)
}

// Decode sets m from a frame. Whether the type exists is left to the server,
// which has to answer.
func (m *ReadRequest) Decode(f Frame) error {
	*m = ReadRequest{Type: Type(f.Type), Count: f.Count, SID: f.Param1, IOID: f.Param2}
	return nil
}

func (m *ReadRequest) fields(dst []byte) []byte {
	return fieldType(fieldInt(fieldInt(dst, "sid", int64(m.SID)), "ioid", int64(m.IOID)), m.Type, m.Count)
}

// ReadReply answers ReadRequest. Unlike ReadNotifyReply it carries the
// channel's id in place of a status.
type ReadReply struct {
	Type    Type
	Count   uint32
	CID     uint32
	IOID    uint32
	Payload []byte // see AppendDBR; base cuts that of one DBR_STRING behind its NUL
}

// Kind returns KindReadReply.
func (*ReadReply) Kind() Kind { return KindReadReply }

// Append appends the message.
func (m *ReadReply) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdRead, Type: uint16(m.Type), Count: m.Count, Param1: m.CID, Param2: m.IOID,
	}, m.Payload)
}

// Decode sets m from a frame. DecodeDBR judges the payload.
func (m *ReadReply) Decode(f Frame) error {
	*m = ReadReply{Type: Type(f.Type), Count: f.Count, CID: f.Param1, IOID: f.Param2, Payload: f.Payload}
	return nil
}

func (m *ReadReply) fields(dst []byte) []byte {
	dst = fieldInt(fieldInt(dst, "cid", int64(m.CID)), "ioid", int64(m.IOID))
	return fieldData(fieldType(dst, m.Type, m.Count), m.Type, m.Count, m.Payload)
}

// ReadNotifyRequest asks for a value.
type ReadNotifyRequest struct {
	Type  Type
	Count uint32 // elements wanted; 0 means as many as there are
	SID   uint32
	IOID  uint32 // the client's id for this request; libca uses that of a subscription to refresh it
}

// Kind returns KindReadNotifyRequest.
func (*ReadNotifyRequest) Kind() Kind { return KindReadNotifyRequest }

// Append appends the message.
func (m *ReadNotifyRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdReadNotify, Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.IOID,
	}, nil)
}

// Decode sets m from a frame. Whether the type exists is left to the server.
func (m *ReadNotifyRequest) Decode(f Frame) error {
	*m = ReadNotifyRequest{Type: Type(f.Type), Count: f.Count, SID: f.Param1, IOID: f.Param2}
	return nil
}

func (m *ReadNotifyRequest) fields(dst []byte) []byte {
	return fieldType(fieldInt(fieldInt(dst, "sid", int64(m.SID)), "ioid", int64(m.IOID)), m.Type, m.Count)
}

// ReadNotifyReply answers ReadNotifyRequest. When Status is not ECANormal base
// sends a payload of zeros of the size that was asked for.
type ReadNotifyReply struct {
	Type    Type
	Count   uint32 // elements in the payload
	Status  Status
	IOID    uint32
	Payload []byte // see AppendDBR
}

// Kind returns KindReadNotifyReply.
func (*ReadNotifyReply) Kind() Kind { return KindReadNotifyReply }

func (m *ReadNotifyReply) header() Header {
	return Header{
		Command: CmdReadNotify, PayloadSize: uint32(len(m.Payload)),
		Type: uint16(m.Type), Count: m.Count, Param1: uint32(m.Status), Param2: m.IOID,
	}
}

// Append appends the message.
func (m *ReadNotifyReply) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, m.header(), m.Payload)
}

// AppendHeader appends the message without its payload, which the caller sends
// after it, padded (as AppendDBR leaves it): so that one payload can serve many.
func (m *ReadNotifyReply) AppendHeader(dst []byte, minor Minor) ([]byte, error) {
	h := m.header()
	return h.Append(dst, minor)
}

// Decode sets m from a frame. DecodeDBR judges the payload.
func (m *ReadNotifyReply) Decode(f Frame) error {
	*m = ReadNotifyReply{Type: Type(f.Type), Count: f.Count, Status: Status(f.Param1), IOID: f.Param2, Payload: f.Payload}
	return nil
}

func (m *ReadNotifyReply) fields(dst []byte) []byte {
	dst = fieldType(fieldStatus(fieldInt(dst, "ioid", int64(m.IOID)), m.Status), m.Type, m.Count)
	return fieldData(dst, m.Type, m.Count, m.Payload)
}
