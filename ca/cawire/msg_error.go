package cawire

// NoChannel is the channel id in an ErrorReply that concerns no channel, or an
// unknown one.
const NoChannel = 0xFFFFFFFF

// maxErrorPayload is rsrv's limit for an ERROR message's payload.
const maxErrorPayload = 512

// ErrorReply says that a request failed whose own reply cannot say so.
type ErrorReply struct {
	CID     uint32 // the client's id of the channel, or NoChannel
	Status  Status
	Request Header // of the request; base's client finds the right call back by it
	Text    []byte // what is wrong, without NUL; often the name of the channel
}

// Kind returns KindError.
func (*ErrorReply) Kind() Kind { return KindError }

// Append appends the message. Its text is cut at the 512 bytes that base's
// server allows the payload, between two characters of UTF-8.
func (m *ErrorReply) Append(dst []byte, minor Minor) ([]byte, error) {
	out := dst
	h := Header{Command: CmdError, Param1: m.CID, Param2: uint32(m.Status)}
	// A request that was too big for the client's own revision cannot have
	// come from it, so its size is cut down to 16 bits as rsrv does.
	long := (m.Request.PayloadSize >= longMark || m.Request.Count >= longMark) && minor.LongHeaders()
	size := ShortHeaderLen
	if long {
		size = LongHeaderLen
	}
	text := cutText(m.Text, maxErrorPayload-size-1)
	h.PayloadSize = uint32(size + len(text) + 1)
	out, err := h.Append(out, minor)
	if err != nil {
		return dst, err
	}
	start := len(out)
	out = m.Request.appendAsIs(out, long)
	return appendPad(append(append(out, text...), 0), start), nil
}

// Decode sets m from a frame. The text may be absent.
func (m *ErrorReply) Decode(f Frame) error {
	*m = ErrorReply{CID: f.Param1, Status: Status(f.Param2)}
	h, n, err := DecodeHeader(f.Payload)
	if err != nil {
		return ErrShortPayload
	}
	m.Request, m.Text = h, untilNUL(f.Payload[n:])
	return nil
}

func (m *ErrorReply) fields(dst []byte) []byte {
	dst = fieldStatus(dst, m.Status)
	if m.CID != NoChannel {
		dst = fieldInt(dst, "cid", int64(m.CID))
	}
	dst = append(append(dst, " request="...), m.Request.Command.String()...)
	return fieldText(dst, "text", m.Text)
}
