package cawire

import (
	"encoding/binary"
	"math"
)

// reader takes values from a payload. Its first failure sticks: from then on
// every read gives zero, so a decoder checks err once, at its end.
type reader struct {
	buf []byte
	err error
}

// take returns the next n bytes, which alias the buffer, or nil.
func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.buf) {
		r.err, r.buf = ErrShortPayload, nil
		return nil
	}
	b := r.buf[:n:n]
	r.buf = r.buf[n:]
	return b
}

func (r *reader) uint8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) int16() int16     { return int16(r.uint16()) }
func (r *reader) int32() int32     { return int32(r.uint32()) }
func (r *reader) float32() float32 { return math.Float32frombits(r.uint32()) }

func (r *reader) float64() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}

// skip passes over padding, whose content has no meaning: base leaves old
// bytes of its buffer there.
func (r *reader) skip(n int) { r.take(n) }

// untilNUL returns the bytes before the first NUL, or all.
func untilNUL(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			return b[:i:i]
		}
	}
	return b
}
