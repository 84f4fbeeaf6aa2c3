package proto

import (
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

// The wire types, to be added to a field number that is shifted left by 3.
const (
	varintType  = uint64(protowire.VarintType)
	fixed64Type = uint64(protowire.Fixed64Type)
	lenType     = uint64(protowire.BytesType)
	fixed32Type = uint64(protowire.Fixed32Type)
)

// A writer appends fields. As in every proto3 encoder, fields with their zero
// value are left out. The first failure sticks.
type writer struct {
	b   []byte
	err error
}

func (w *writer) key(num, wireType uint64) {
	if key := num<<3 | wireType; key < 0x80 {
		w.b = append(w.b, byte(key))
	} else {
		w.b = protowire.AppendVarint(w.b, key)
	}
}

func (w *writer) varint(num, v uint64) {
	switch {
	case v == 0:
	case num < 16 && v < 0x80:
		w.b = append(w.b, byte(num<<3|varintType), byte(v))
	default:
		w.key(num, varintType)
		w.b = protowire.AppendVarint(w.b, v)
	}
}

func (w *writer) bool(num uint64, v bool) {
	if v {
		w.varint(num, 1)
	}
}

func (w *writer) fixed64(num, v uint64) {
	if v != 0 {
		w.key(num, fixed64Type)
		w.b = protowire.AppendFixed64(w.b, v)
	}
}

func (w *writer) double(num uint64, v float64) { w.fixed64(num, math.Float64bits(v)) }

func (w *writer) stamp(num uint64, t gateway.Time) {
	if !t.IsZero() {
		w.fixed64(num, uint64(t))
	}
}

func (w *writer) time(num uint64, t time.Time) { w.stamp(num, gateway.TimeOf(t)) }

func (w *writer) text(num uint64, s string) {
	if s != "" {
		w.textAlways(num, s)
	}
}

// textAlways writes also the empty text: for oneof members, repeated fields and map entries.
func (w *writer) textAlways(num uint64, s string) {
	if !utf8.ValidString(s) && w.err == nil {
		w.err = fmt.Errorf("text %q is not valid UTF-8", gateway.Quotable(s))
	}
	w.key(num, lenType)
	if len(s) < 0x80 {
		w.b = append(append(w.b, byte(len(s))), s...)
		return
	}
	w.b = protowire.AppendString(w.b, s)
}

// A mark is the place of a message that has been begun.
type mark struct {
	start int // of the content
	width int // reserved for the length before it
}

// begin starts an embedded message of about guess bytes. The better the guess,
// the less end has to move.
func (w *writer) begin(num uint64, guess int) mark {
	w.key(num, lenType)
	if guess < 0x80 {
		w.b = append(w.b, 0)
		return mark{start: len(w.b), width: 1}
	}
	width := protowire.SizeVarint(uint64(guess))
	w.b = append(w.b, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"[:width]...)
	return mark{start: len(w.b), width: width}
}

// end fills in the length of the message that m began.
func (w *writer) end(m mark) {
	size := len(w.b) - m.start
	if size < 0x80 && m.width == 1 {
		w.b[m.start-1] = byte(size)
		return
	}
	width := protowire.SizeVarint(uint64(size))
	switch {
	case width > m.width:
		w.b = slices.Insert(w.b, m.start, make([]byte, width-m.width)...)
	case width < m.width:
		w.b = slices.Delete(w.b, m.start-(m.width-width), m.start)
	}
	protowire.AppendVarint(w.b[:m.start-m.width], uint64(size))
}

// short is the guess for messages that are nearly always below 128 bytes.
const short = 64
