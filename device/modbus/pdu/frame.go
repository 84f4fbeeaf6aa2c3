package pdu

import (
	"encoding/binary"
	"errors"
)

// A Frame is a request or a reply with whom it is for or from.
type Frame struct {
	Transaction uint16 // on TCP alone
	Unit        byte
	PDU         []byte
}

// Errors of what does not begin a frame.
var (
	ErrNoFrame = errors.New("no frame")
	// ErrCheck says that there is a frame but for its check bytes.
	ErrCheck = errors.New("wrong check bytes")
)

// AppendRTU appends a frame for a serial line: unit, PDU and check bytes.
func AppendRTU(dst []byte, unit byte, pdu []byte) []byte {
	start := len(dst)
	dst = append(append(dst, unit), pdu...)
	return binary.LittleEndian.AppendUint16(dst, CRC(dst[start:]))
}

// CutRTU takes the reply off that b begins with. Its length n follows from the
// function code, so that pauses have no meaning; it is 0 if more bytes are
// needed. The error is ErrNoFrame if no reply begins like b, or ErrCheck. The
// frame is a part of b.
func CutRTU(b []byte) (f Frame, n int, err error) {
	if len(b) < 2 {
		return Frame{}, 0, nil
	}
	length := replyLength(b[1:])
	switch {
	case length < 0:
		return Frame{}, 0, ErrNoFrame
	case length == 0 || len(b) < 1+length+2:
		return Frame{}, 0, nil
	}
	n = 1 + length + 2
	if binary.LittleEndian.Uint16(b[n-2:]) != CRC(b[:n-2]) {
		return Frame{}, 0, ErrCheck
	}
	return Frame{Unit: b[0], PDU: b[1 : n-2]}, n, nil
}

// CRC returns the check sum of an RTU frame: polynomial A001, start FFFF; it is
// sent low byte first (serial line, section 6.2.2).
func CRC(b []byte) uint16 {
	sum := uint16(0xFFFF)
	for _, x := range b {
		sum ^= uint16(x)
		for range 8 {
			odd := sum&1 != 0
			if sum >>= 1; odd {
				sum ^= 0xA001
			}
		}
	}
	return sum
}

// headerLength is that of the header in front of a PDU on TCP: transaction,
// protocol (always 0), length of what follows, and unit (TCP/IP, section 3.1.3).
const headerLength = 7

// AppendTCP appends a frame for TCP.
func AppendTCP(dst []byte, transaction uint16, unit byte, pdu []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, transaction)
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(1+len(pdu)))
	return append(append(dst, unit), pdu...)
}

// CutTCP takes the frame off that b begins with. Its length n is 0 if more bytes
// are needed. The error is ErrNoFrame, and where the next frame begins is then
// not known. The frame is a part of b.
func CutTCP(b []byte) (f Frame, n int, err error) {
	if len(b) < headerLength {
		return Frame{}, 0, nil
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if binary.BigEndian.Uint16(b[2:]) != 0 || length < 2 || length > 1+maxPDU {
		return Frame{}, 0, ErrNoFrame
	}
	if n = headerLength - 1 + length; len(b) < n {
		return Frame{}, 0, nil
	}
	return Frame{Transaction: binary.BigEndian.Uint16(b), Unit: b[6], PDU: b[headerLength:n]}, n, nil
}
