package cawire

// WriteRequest writes a value and wants no answer, except an ErrorReply.
type WriteRequest struct {
	Type    Type
	Count   uint32
	SID     uint32
	IOID    uint32 // libca puts the channel's cid here
	Payload []byte // see AppendDBR; clients cut that of one DBR_STRING behind its NUL
}

// Kind returns KindWriteRequest.
func (*WriteRequest) Kind() Kind { return KindWriteRequest }

// Append appends the message.
func (m *WriteRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdWrite, Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.IOID,
	}, m.Payload)
}

// Decode sets m from a frame. DecodeDBR judges the payload, and the server the
// type, because it has to answer.
func (m *WriteRequest) Decode(f Frame) error {
	*m = WriteRequest{Type: Type(f.Type), Count: f.Count, SID: f.Param1, IOID: f.Param2, Payload: f.Payload}
	return nil
}

func (m *WriteRequest) fields(dst []byte) []byte {
	dst = fieldInt(fieldInt(dst, "sid", int64(m.SID)), "ioid", int64(m.IOID))
	return fieldData(fieldType(dst, m.Type, m.Count), m.Type, m.Count, m.Payload)
}

// WriteNotifyRequest writes a value and wants to know when that is done.
type WriteNotifyRequest struct {
	Type    Type
	Count   uint32
	SID     uint32
	IOID    uint32 // the client's id for this request
	Payload []byte // as in WriteRequest
}

// Kind returns KindWriteNotifyRequest.
func (*WriteNotifyRequest) Kind() Kind { return KindWriteNotifyRequest }

// Append appends the message.
func (m *WriteNotifyRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdWriteNotify, Type: uint16(m.Type), Count: m.Count, Param1: m.SID, Param2: m.IOID,
	}, m.Payload)
}

// Decode sets m from a frame, as WriteRequest does.
func (m *WriteNotifyRequest) Decode(f Frame) error {
	*m = WriteNotifyRequest{Type: Type(f.Type), Count: f.Count, SID: f.Param1, IOID: f.Param2, Payload: f.Payload}
	return nil
}

func (m *WriteNotifyRequest) fields(dst []byte) []byte {
	dst = fieldInt(fieldInt(dst, "sid", int64(m.SID)), "ioid", int64(m.IOID))
	return fieldData(fieldType(dst, m.Type, m.Count), m.Type, m.Count, m.Payload)
}

// WriteNotifyReply answers WriteNotifyRequest and repeats its type and count.
type WriteNotifyReply struct {
	Type   Type
	Count  uint32
	Status Status
	IOID   uint32
}

// Kind returns KindWriteNotifyReply.
func (*WriteNotifyReply) Kind() Kind { return KindWriteNotifyReply }

// Append appends the message.
func (m *WriteNotifyReply) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdWriteNotify, Type: uint16(m.Type), Count: m.Count, Param1: uint32(m.Status), Param2: m.IOID,
	}, nil)
}

// Decode sets m from a frame.
func (m *WriteNotifyReply) Decode(f Frame) error {
	*m = WriteNotifyReply{Type: Type(f.Type), Count: f.Count, Status: Status(f.Param1), IOID: f.Param2}
	return nil
}

func (m *WriteNotifyReply) fields(dst []byte) []byte {
	return fieldType(fieldStatus(fieldInt(dst, "ioid", int64(m.IOID)), m.Status), m.Type, m.Count)
}
