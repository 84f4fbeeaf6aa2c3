package stream

import (
	"math"
	"strconv"
)

// Kind says what a converter reads or writes.
type Kind uint8

// The kinds of values. The zero Kind is no kind.
const (
	KindInt   Kind = iota + 1 // a signed integer; Uint where only uint64 can hold it
	KindUint                  // an unsigned integer
	KindFloat                 // a float64
	KindText                  // bytes, not necessarily valid UTF-8
	KindEnum                  // the number of one of the listed texts
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case KindInt:
		return "Int"
	case KindUint:
		return "Uint"
	case KindFloat:
		return "Float"
	case KindText:
		return "Text"
	case KindEnum:
		return "Enum"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Value is one value that goes into or comes out of a format. It is immutable
// and comparable with ==, which also looks at the kind and the declared size.
// The zero Value has no kind and fits no converter.
type Value struct {
	kind Kind
	bits uint8 // declared size of an integer, for two's complement
	num  uint64
	text string
}

// Int returns a signed integer of 64 bits.
func Int(v int64) Value { return Value{kind: KindInt, bits: 64, num: uint64(v)} }

// IntN returns a signed integer that was declared with 8, 16, 32 or 64 bits.
// The size matters only where a negative number is written by an unsigned
// converter: %x writes IntN(-1, 16) as ffff.
func IntN(v int64, bits int) Value {
	if bits < 1 || bits > 64 {
		bits = 64
	}
	return Value{kind: KindInt, bits: uint8(bits), num: uint64(v)}
}

// Uint returns an unsigned integer.
func Uint(v uint64) Value { return Value{kind: KindUint, bits: 64, num: v} }

// Float returns a floating point number.
func Float(v float64) Value { return Value{kind: KindFloat, num: math.Float64bits(v)} }

// Text returns bytes, kept in a string.
func Text(s string) Value { return Value{kind: KindText, text: s} }

// Enum returns the number of a state.
func Enum(n int64) Value { return Value{kind: KindEnum, bits: 64, num: uint64(n)} }

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind }

// Int64 returns the value as int64. It is false if the value is no integer,
// has a fraction or does not fit.
func (v Value) Int64() (int64, bool) {
	switch v.kind {
	case KindInt, KindEnum:
		return int64(v.num), true
	case KindUint:
		return int64(v.num), v.num <= math.MaxInt64
	case KindFloat:
		f := math.Float64frombits(v.num)
		// 2^63 itself is a float64 and does not fit.
		if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
			return 0, false
		}
		return int64(f), true
	}
	return 0, false
}

// Uint64 returns the value as uint64. It is false if the value is no integer,
// is negative, has a fraction or does not fit.
func (v Value) Uint64() (uint64, bool) {
	switch v.kind {
	case KindInt, KindEnum:
		return v.num, int64(v.num) >= 0
	case KindUint:
		return v.num, true
	case KindFloat:
		f := math.Float64frombits(v.num)
		if f != math.Trunc(f) || f < 0 || f >= 1<<64 {
			return 0, false
		}
		return uint64(f), true
	}
	return 0, false
}

// Float64 returns a number as float64, rounded where it has more than 53
// significant bits. It is false for text.
func (v Value) Float64() (float64, bool) {
	switch v.kind {
	case KindInt, KindEnum:
		return float64(int64(v.num)), true
	case KindUint:
		return float64(v.num), true
	case KindFloat:
		return math.Float64frombits(v.num), true
	}
	return 0, false
}

// Text returns the bytes of a text, and "" for every other kind.
func (v Value) Text() string { return v.text }

// SignExtend reads an unsigned number as two's complement of the given size:
// the reply FFE0 to %x, declared as int16, is -32. Values that are no integer,
// are negative already or need more than bits bits are returned unchanged.
func (v Value) SignExtend(bits int) Value {
	u, ok := v.Uint64()
	if !ok || v.kind == KindFloat || bits < 1 || bits > 64 || bits < 64 && u>>bits != 0 {
		return v
	}
	shift := 64 - bits
	return IntN(int64(u<<shift)>>shift, bits)
}

// String describes the value for messages.
func (v Value) String() string {
	switch v.kind {
	case KindInt, KindEnum:
		return strconv.FormatInt(int64(v.num), 10)
	case KindUint:
		return strconv.FormatUint(v.num, 10)
	case KindFloat:
		return strconv.FormatFloat(math.Float64frombits(v.num), 'g', -1, 64)
	case KindText:
		return quote(v.text)
	}
	return "no value"
}

// pattern returns the bits of an integer as an unsigned converter writes
// them: a negative number in two's complement of its declared size.
func (v Value) pattern() (uint64, bool) {
	if u, ok := v.Uint64(); ok {
		return u, true
	}
	i, ok := v.Int64()
	if !ok {
		return 0, false
	}
	if v.bits > 0 && v.bits < 64 {
		return uint64(i) & (1<<v.bits - 1), true
	}
	return uint64(i), true
}
