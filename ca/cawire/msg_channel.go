package cawire

// Rights says what a client may do with a channel.
type Rights uint32

// The access rights.
const (
	MayRead  Rights = 1
	MayWrite Rights = 2
)

func (r Rights) String() string {
	return [...]string{"none", "read", "write", "read,write"}[r&3]
}

// CreateChanRequest opens a channel.
type CreateChanRequest struct {
	CID   uint32 // the client's id for the channel
	Minor Minor  // of the client, for servers that have not seen its Version
	Name  []byte // without NUL
}

// Kind returns KindCreateChanRequest.
func (*CreateChanRequest) Kind() Kind { return KindCreateChanRequest }

// Append appends the message. The name must not be empty or contain NUL.
func (m *CreateChanRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendName(dst, minor, Header{Command: CmdCreateChan, Param1: m.CID, Param2: uint32(m.Minor)}, m.Name)
}

// Decode sets m from a frame. A name that is not terminated ends at the last
// byte but one, as in base; an empty one is ErrBadName, which base ignores.
func (m *CreateChanRequest) Decode(f Frame) (err error) {
	*m = CreateChanRequest{CID: f.Param1, Minor: Minor(f.Param2)}
	m.Name, err = channelName(f.Payload)
	return err
}

func (m *CreateChanRequest) fields(dst []byte) []byte {
	return fieldText(fieldMinor(fieldInt(dst, "cid", int64(m.CID)), m.Minor), "name", m.Name)
}

// CreateChanReply opens a channel on the server's side. AccessRights for the
// same channel go before it.
type CreateChanReply struct {
	CID   uint32
	SID   uint32 // the server's id for the channel, which requests quote
	Type  Type   // native type
	Count uint32 // the most elements that the channel can have; clients below 4.9 are told at most 0xFFFE
}

// Kind returns KindCreateChanReply.
func (*CreateChanReply) Kind() Kind { return KindCreateChanReply }

// Append appends the message; to a peer below 4.9 it tells at most 0xFFFE elements.
func (m *CreateChanReply) Append(dst []byte, minor Minor) ([]byte, error) {
	count := m.Count
	if count >= longMark && !minor.LongHeaders() {
		count = longMark - 1
	}
	return appendMessage(dst, minor, Header{
		Command: CmdCreateChan, Type: uint16(m.Type), Count: count, Param1: m.CID, Param2: m.SID,
	}, nil)
}

// Decode sets m from a frame.
func (m *CreateChanReply) Decode(f Frame) error {
	*m = CreateChanReply{CID: f.Param1, SID: f.Param2, Type: Type(f.Type), Count: f.Count}
	return nil
}

func (m *CreateChanReply) fields(dst []byte) []byte {
	dst = fieldInt(fieldInt(dst, "cid", int64(m.CID)), "sid", int64(m.SID))
	return fieldType(dst, m.Type, m.Count)
}

// CreateChFail says that a channel cannot be opened: there is no such name.
type CreateChFail struct {
	CID uint32
}

// Kind returns KindCreateChFail.
func (*CreateChFail) Kind() Kind { return KindCreateChFail }

// Append appends the message.
func (m *CreateChFail) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdCreateChFail, Param1: m.CID}, nil)
}

// Decode sets m from a frame.
func (m *CreateChFail) Decode(f Frame) error {
	m.CID = f.Param1
	return nil
}

func (m *CreateChFail) fields(dst []byte) []byte { return fieldInt(dst, "cid", int64(m.CID)) }

// AccessRights tells a client what it may do, before CreateChanReply and
// whenever it changes.
type AccessRights struct {
	CID    uint32
	Rights Rights
}

// Kind returns KindAccessRights.
func (*AccessRights) Kind() Kind { return KindAccessRights }

// Append appends the message.
func (m *AccessRights) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdAccessRights, Param1: m.CID, Param2: uint32(m.Rights)}, nil)
}

// Decode sets m from a frame.
func (m *AccessRights) Decode(f Frame) error {
	*m = AccessRights{CID: f.Param1, Rights: Rights(f.Param2)}
	return nil
}

func (m *AccessRights) fields(dst []byte) []byte {
	return append(append(fieldInt(dst, "cid", int64(m.CID)), " rights="...), m.Rights.String()...)
}

// ClearRequest closes a channel. The client quotes both ids.
type ClearRequest struct {
	SID, CID uint32
}

// Kind returns KindClearRequest.
func (*ClearRequest) Kind() Kind { return KindClearRequest }

// Append appends the message.
func (m *ClearRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdClearChannel, Param1: m.SID, Param2: m.CID}, nil)
}

// Decode sets m from a frame.
func (m *ClearRequest) Decode(f Frame) error {
	*m = ClearRequest{SID: f.Param1, CID: f.Param2}
	return nil
}

func (m *ClearRequest) fields(dst []byte) []byte {
	return fieldInt(fieldInt(dst, "cid", int64(m.CID)), "sid", int64(m.SID))
}

// ClearReply confirms ClearRequest and repeats its ids. It is the last message
// about the channel.
type ClearReply struct {
	SID, CID uint32
}

// Kind returns KindClearReply.
func (*ClearReply) Kind() Kind { return KindClearReply }

// Append appends the message.
func (m *ClearReply) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdClearChannel, Param1: m.SID, Param2: m.CID}, nil)
}

// Decode sets m from a frame.
func (m *ClearReply) Decode(f Frame) error {
	*m = ClearReply{SID: f.Param1, CID: f.Param2}
	return nil
}

func (m *ClearReply) fields(dst []byte) []byte {
	return fieldInt(fieldInt(dst, "cid", int64(m.CID)), "sid", int64(m.SID))
}

// ServerDisconn says that the server has closed a channel by itself. The
// client searches for the name again, and clears nothing.
type ServerDisconn struct {
	CID uint32
}

// Kind returns KindServerDisconn.
func (*ServerDisconn) Kind() Kind { return KindServerDisconn }

// Append appends the message.
func (m *ServerDisconn) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{Command: CmdServerDisconn, Param1: m.CID}, nil)
}

// Decode sets m from a frame.
func (m *ServerDisconn) Decode(f Frame) error {
	m.CID = f.Param1
	return nil
}

func (m *ServerDisconn) fields(dst []byte) []byte { return fieldInt(dst, "cid", int64(m.CID)) }
