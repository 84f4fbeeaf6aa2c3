package cawire

// Frame is one message as it stands in a buffer: its header and its payload.
// Payload aliases the buffer that the frame was read from.
type Frame struct {
	Header
	Payload []byte
}

// Next takes the first message off buf, what a circuit has received so far.
// It allocates nothing and never reads beyond buf. n is
//
//   - with no error: the length of the message, to be dropped from buf when
//     the frame has been dealt with;
//   - with ErrIncomplete: how long buf must be before it is worth another
//     call, at least one more than it is, and at most LongHeaderLen+limit;
//   - with ErrMisaligned or ErrTooLarge: the length of the header alone. The
//     frame holds the header, for an answer. Its payload is not looked at: to
//     go on after ErrTooLarge, skip f.PayloadSize further bytes.
//
// limit is the largest payload that the caller wants to hold. (Base has
// EPICS_CA_MAX_ARRAY_BYTES for that, and by default holds whatever comes.)
func Next(buf []byte, limit uint32) (f Frame, n int, err error) {
	h, n, err := DecodeHeader(buf)
	if err != nil {
		return Frame{}, n, err
	}
	f.Header = h
	if h.PayloadSize%8 != 0 {
		return f, n, ErrMisaligned
	}
	if h.PayloadSize > limit || h.PayloadSize > maxPayload {
		return f, n, ErrTooLarge
	}
	end := n + int(h.PayloadSize)
	if end < n { // int has 32 bits
		return f, n, ErrTooLarge
	}
	if len(buf) < end {
		return Frame{}, end, ErrIncomplete
	}
	f.Payload = buf[n:end:end]
	return f, end, nil
}

// NextDatagram takes the first message off a datagram, or off what is left of
// it. A datagram is complete by nature: here a message that does not end within
// it is broken, which is ErrShortPayload. Padding is not insisted upon, because
// base's client does not either and old servers left it out.
func NextDatagram(buf []byte) (f Frame, n int, err error) {
	h, n, err := DecodeHeader(buf)
	if err != nil {
		return Frame{}, n, ErrShortPayload
	}
	if uint64(h.PayloadSize) > uint64(len(buf)-n) {
		return Frame{}, n, ErrShortPayload
	}
	end := n + int(h.PayloadSize)
	return Frame{Header: h, Payload: buf[n:end:end]}, end, nil
}
