package proto

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

var errFieldNumber = errors.New("invalid field number")

// A reader takes fields from one message. The first failure sticks: afterwards
// next returns 0 and all others return zero values, so a decoder tests err once.
type reader struct {
	b   []byte
	at  int // what of b has been read: a number, which needs no write barrier as a slice does
	err error
}

func (r *reader) fail(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.at = len(r.b)
	}
}

// rest is what has not been read.
func (r *reader) rest() []byte { return r.b[r.at:] }

func (r *reader) more() bool { return r.at < len(r.b) }

// next returns the key of the next field, its number shifted left by 3 and its
// wire type, or 0 at the end. A known field that comes with another wire type
// is skipped like an unknown one, as every protobuf decoder does.
func (r *reader) next() uint64 {
	if !r.more() {
		return 0
	}
	key := r.varint()
	if number := key >> 3; r.err == nil && (number == 0 || number > uint64(protowire.MaxValidNumber)) {
		r.fail(errFieldNumber)
	}
	if r.err != nil {
		return 0
	}
	return key
}

// skip passes over the value of a field with that key.
func (r *reader) skip(key uint64) {
	n := protowire.ConsumeFieldValue(protowire.Number(key>>3), protowire.Type(key&7), r.rest())
	r.advance(n)
}

// advance passes over n bytes, where a negative n is protowire's error code.
func (r *reader) advance(n int) bool {
	if n < 0 {
		r.fail(protowire.ParseError(n))
		return false
	}
	r.at += n
	return true
}

func (r *reader) varint() uint64 {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint64(r.b[r.at-1])
	}
	if r.err != nil {
		return 0
	}
	v, n := protowire.ConsumeVarint(r.rest())
	if !r.advance(n) {
		return 0
	}
	return v
}

// uint32 and the like drop bits that do not fit, as the protobuf specification asks.
func (r *reader) uint32() uint32 { return uint32(r.varint()) }

func (r *reader) sint32() int32 { return int32(protowire.DecodeZigZag(r.varint() & math.MaxUint32)) }

func (r *reader) sint64() int64 { return protowire.DecodeZigZag(r.varint()) }

func (r *reader) bool() bool { return r.varint() != 0 }

// enum returns the number of an enum's value, or -1 where that is above highest.
func (r *reader) enum(highest int32) int {
	if v := int32(r.varint()); v >= 0 && v <= highest {
		return int(v)
	}
	return -1
}

// index reads a number that counts things.
func (r *reader) index() uint32 {
	v := r.uint32()
	if v > maxIndex {
		r.fail(fmt.Errorf("%d is too large for an index", v))
	}
	return v
}

func (r *reader) fixed32() uint32 {
	v, n := protowire.ConsumeFixed32(r.rest())
	if r.err != nil || !r.advance(n) {
		return 0
	}
	return v
}

func (r *reader) fixed64() uint64 {
	v, n := protowire.ConsumeFixed64(r.rest())
	if r.err != nil || !r.advance(n) {
		return 0
	}
	return v
}

func (r *reader) double() float64 { return math.Float64frombits(r.fixed64()) }

// stamp reads a time, which is written as it is kept: in nanoseconds since 1970, 0 for none.
func (r *reader) stamp() gateway.Time { return gateway.Time(r.fixed64()) }

func (r *reader) time() time.Time { return r.stamp().Std() }

// bytes returns a part of the input: copy what is kept.
func (r *reader) bytes() []byte {
	if r.err != nil {
		return nil
	}
	b, n := protowire.ConsumeBytes(r.rest())
	if !r.advance(n) {
		return nil
	}
	return b
}

// take returns the next n bytes of the input, or nil if there are fewer.
func (r *reader) take(n int) []byte {
	if n > len(r.b)-r.at {
		r.fail(io.ErrUnexpectedEOF)
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at]
}

func (r *reader) text() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.fail(errUTF8)
		return ""
	}
	return string(b)
}

var errUTF8 = errors.New("text is not valid UTF-8")

// count returns how many fields with that key the message has, without reading
// them; what comes after damage is not counted.
func (r *reader) count(key uint64) int {
	scan := reader{b: r.b, at: r.at}
	n := 0
	for k := scan.next(); k != 0; k = scan.next() {
		if k == key {
			n++
		}
		scan.skip(k)
	}
	return n
}

// A Decoder decodes messages. It keeps nothing of the bytes that it is given.
// It remembers short texts that come again and again, such as the names of
// devices, so that they are allocated once. The zero Decoder is ready for use;
// it is not for two goroutines at a time.
type Decoder struct {
	texts  map[string]string
	common []byte // scratch space
}

const (
	maxRemembered     = 1024 // texts
	maxRememberedText = 64   // bytes of each
)

// again reads a text that is likely to come again.
func (d *Decoder) again(r *reader) string {
	b := r.bytes()
	if len(b) == 0 {
		return ""
	}
	if text, ok := d.texts[string(b)]; ok { // does not allocate
		return text
	}
	if !utf8.Valid(b) {
		r.fail(errUTF8)
		return ""
	}
	text := string(b)
	if len(text) <= maxRememberedText {
		if d.texts == nil || len(d.texts) >= maxRemembered {
			d.texts = make(map[string]string)
		}
		d.texts[text] = text
	}
	return text
}
