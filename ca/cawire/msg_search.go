package cawire

import (
	"encoding/binary"
	"net/netip"
)

// ReplyFlag says whether a client wants to hear that a name is not there.
type ReplyFlag uint16

// The reply flags. Servers never answer NOT_FOUND to a datagram, whatever it says.
const (
	DontReply ReplyFlag = 5
	DoReply   ReplyFlag = 10
)

// SearchRequest asks who has a channel, by datagram or on a circuit.
type SearchRequest struct {
	Reply ReplyFlag
	Minor Minor
	CID   uint32 // the client's id of the channel; base reads its second copy
	Name  []byte // without NUL
}

// Kind returns KindSearchRequest.
func (*SearchRequest) Kind() Kind { return KindSearchRequest }

// Append appends the message. The name must not be empty or contain NUL, else
// it fails with ErrBadName.
func (m *SearchRequest) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendName(dst, minor, Header{
		Command: CmdSearch, Type: uint16(m.Reply), Count: uint32(m.Minor), Param1: m.CID, Param2: m.CID,
	}, m.Name)
}

// Decode sets m from a frame. A name that is not terminated ends at the last
// byte but one, as in base; an empty one is ErrBadName, to be ignored.
func (m *SearchRequest) Decode(f Frame) (err error) {
	*m = SearchRequest{Reply: ReplyFlag(f.Type), Minor: Minor(f.Count), CID: f.Param2}
	m.Name, err = channelName(f.Payload)
	return err
}

func (m *SearchRequest) fields(dst []byte) []byte {
	dst = fieldMinor(fieldInt(dst, "cid", int64(m.CID)), m.Minor)
	if m.Reply == DoReply {
		dst = append(dst, " doreply"...)
	}
	return fieldText(dst, "name", m.Name)
}

// channelName reads a channel's name from a request as base does: its last
// byte counts as the NUL even if it is none.
func channelName(payload []byte) ([]byte, error) {
	if len(payload) <= 1 {
		return nil, ErrBadName
	}
	name := untilNUL(payload[:len(payload)-1])
	if len(name) == 0 {
		return nil, ErrBadName
	}
	return name, nil
}

// SearchReply says who has a channel.
type SearchReply struct {
	Port     uint16     // of the server's circuits
	Address  netip.Addr // of the server, IPv4; the zero Addr means whoever sent this
	CID      uint32     // from the request
	HasMinor bool       // the reply has a payload, which datagrams have and circuits do not
	Minor    Minor      // of the server
}

// unknownAddress stands for "the address that this came from".
const unknownAddress = 0xFFFFFFFF

// Kind returns KindSearchReply.
func (*SearchReply) Kind() Kind { return KindSearchReply }

// Append appends the message.
func (m *SearchReply) Append(dst []byte, minor Minor) ([]byte, error) {
	h := Header{Command: CmdSearch, Type: m.Port, Param1: addressOr(m.Address, unknownAddress), Param2: m.CID}
	if !m.HasMinor {
		return appendMessage(dst, minor, h, nil)
	}
	var payload [2]byte
	binary.BigEndian.PutUint16(payload[:], uint16(m.Minor))
	return appendMessage(dst, minor, h, payload[:])
}

// Decode sets m from a frame. The payload may be 2 bytes long or padded.
func (m *SearchReply) Decode(f Frame) error {
	*m = SearchReply{Port: f.Type, CID: f.Param2}
	if f.Param1 != unknownAddress {
		m.Address = address(f.Param1)
	}
	if len(f.Payload) == 0 {
		return nil
	}
	r := reader{buf: f.Payload}
	m.HasMinor, m.Minor = true, Minor(r.uint16())
	return r.err
}

func (m *SearchReply) fields(dst []byte) []byte {
	dst = fieldInt(dst, "cid", int64(m.CID))
	dst = fieldInt(fieldAddress(dst, m.Address), "port", int64(m.Port))
	if m.HasMinor {
		dst = fieldMinor(dst, m.Minor)
	}
	return dst
}

// addressOr returns the number of an IPv4 address, or other for any other.
func addressOr(a netip.Addr, other uint32) uint32 {
	if a = a.Unmap(); !a.Is4() {
		return other
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}

// NotFound says that this server has no such channel. It is sent on circuits
// only, and only to a request with DoReply, from which it repeats the fields.
type NotFound struct {
	Reply ReplyFlag
	Minor Minor
	CID   uint32
}

// Kind returns KindNotFound.
func (*NotFound) Kind() Kind { return KindNotFound }

// Append appends the message.
func (m *NotFound) Append(dst []byte, minor Minor) ([]byte, error) {
	return appendMessage(dst, minor, Header{
		Command: CmdNotFound, Type: uint16(m.Reply), Count: uint32(m.Minor), Param1: m.CID, Param2: m.CID,
	}, nil)
}

// Decode sets m from a frame.
func (m *NotFound) Decode(f Frame) error {
	*m = NotFound{Reply: ReplyFlag(f.Type), Minor: Minor(f.Count), CID: f.Param2}
	return nil
}

func (m *NotFound) fields(dst []byte) []byte {
	return fieldMinor(fieldInt(dst, "cid", int64(m.CID)), m.Minor)
}
