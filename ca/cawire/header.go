package cawire

import (
	"encoding/binary"
	"slices"
)

const (
	// ShortHeaderLen is the length of the usual header.
	ShortHeaderLen = 16
	// LongHeaderLen is the length of the header with 32-bit size and count.
	LongHeaderLen = 24
	// longMark stands in the 16-bit size field of a long header; a padded size
	// or a count from here on needs one.
	longMark = 0xFFFF
	// maxShortPayload is the largest payload that is below longMark when padded.
	maxShortPayload = longMark &^ 7
)

// Header is what every message starts with. What Type, Count and the two
// parameters mean depends on the command; the message types name them.
type Header struct {
	Command     Command
	PayloadSize uint32 // bytes that follow the header, padding included
	Type        uint16
	Count       uint32
	Param1      uint32
	Param2      uint32
}

// Long tells whether h needs the 24-byte form: when its padded payload size or
// its count is 0xFFFF or more. (Base may use that form for less, see
// SPEC-NOTES.md, so a decoder must not conclude from the size.)
func (h *Header) Long() bool {
	return h.PayloadSize > maxShortPayload || h.Count >= longMark
}

// Append appends h, with its payload size rounded up to a multiple of 8. For a
// peer that knows no long headers (minor below 9) it fails with ErrLongHeader,
// and dst is unchanged; a server tells its client so with ECA16KArrayClient.
func (h *Header) Append(dst []byte, minor Minor) ([]byte, error) {
	if h.PayloadSize > maxPayload {
		return dst, ErrTooLarge
	}
	if h.Long() && !minor.LongHeaders() {
		return dst, ErrLongHeader
	}
	padded := *h
	padded.PayloadSize = (h.PayloadSize + 7) &^ 7
	return padded.appendAsIs(dst, h.Long()), nil
}

// maxPayload leaves room for padding and a header in 32 bits, as rsrv does.
const maxPayload = 0xFFFFFFFF - LongHeaderLen - 7

// appendAsIs appends h in the form asked for, without rounding its size: an
// ERROR message quotes the header of a request that may be wrong in just that.
func (h *Header) appendAsIs(dst []byte, long bool) []byte {
	size, count := uint16(h.PayloadSize), uint16(h.Count)
	if long {
		size, count = longMark, 0
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Command))
	dst = binary.BigEndian.AppendUint16(dst, size)
	dst = binary.BigEndian.AppendUint16(dst, h.Type)
	dst = binary.BigEndian.AppendUint16(dst, count)
	dst = binary.BigEndian.AppendUint32(dst, h.Param1)
	dst = binary.BigEndian.AppendUint32(dst, h.Param2)
	if long {
		dst = binary.BigEndian.AppendUint32(dst, h.PayloadSize)
		dst = binary.BigEndian.AppendUint32(dst, h.Count)
	}
	return dst
}

// DecodeHeader reads the header at the start of buf, in either form, and
// returns its length. It fails with ErrIncomplete when buf ends before the
// header does; then n is the number of bytes that are needed.
func DecodeHeader(buf []byte) (h Header, n int, err error) {
	r := reader{buf: buf}
	h.Command = Command(r.uint16())
	size := r.uint16()
	h.PayloadSize = uint32(size)
	h.Type = r.uint16()
	h.Count = uint32(r.uint16())
	h.Param1 = r.uint32()
	h.Param2 = r.uint32()
	if r.err != nil {
		return Header{}, ShortHeaderLen, ErrIncomplete
	}
	if size != longMark {
		return h, ShortHeaderLen, nil
	}
	h.PayloadSize = r.uint32()
	h.Count = r.uint32()
	if r.err != nil {
		return Header{}, LongHeaderLen, ErrIncomplete
	}
	return h, LongHeaderLen, nil
}

// Pad rounds n up to the next multiple of 8, to which payloads are padded.
func Pad(n int) int { return (n + 7) &^ 7 }

// appendPad appends zero bytes until the length beyond start is a multiple of 8.
func appendPad(dst []byte, start int) []byte {
	n := len(dst) - start
	return appendZeros(dst, Pad(n)-n)
}

func appendZeros(dst []byte, n int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, n)[:start+n]
	clear(dst[start:])
	return dst
}
