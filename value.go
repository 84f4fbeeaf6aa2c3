package gateway

import (
	"bytes"
	"math"
	"slices"
)

// A Value is one immutable value: a scalar, an array, or the zero Value that
// says nothing is known. It does not know its type's limits or labels; those
// are in Type.
type Value struct {
	kind Kind
	bits uint64 // bool, integers in two's complement, float64 bits, enum index
	// more is what has no room in bits, nil for most scalars: the string of a
	// string or bytes value; []bool, []int8 ... []float64, []string of an array.
	more any
}

// Scalar lists the Go types whose values Of and ArrayOf take.
type Scalar interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | string
}

// KindFor returns the kind that Of gives to a Go type.
func KindFor[T Scalar]() Kind {
	var zero T
	switch any(zero).(type) {
	case bool:
		return Bool
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	case float64:
		return Float64
	default:
		return String
	}
}

// Of makes a scalar of the kind that belongs to v's Go type.
func Of[T Scalar](v T) Value {
	switch v := any(v).(type) {
	case bool:
		return boolValue(v)
	case int8:
		return Value{kind: Int8, bits: uint64(v)}
	case int16:
		return Value{kind: Int16, bits: uint64(v)}
	case int32:
		return Value{kind: Int32, bits: uint64(v)}
	case int64:
		return Value{kind: Int64, bits: uint64(v)}
	case uint8:
		return Value{kind: Uint8, bits: uint64(v)}
	case uint16:
		return Value{kind: Uint16, bits: uint64(v)}
	case uint32:
		return Value{kind: Uint32, bits: uint64(v)}
	case uint64:
		return Value{kind: Uint64, bits: v}
	case float32:
		return Value{kind: Float32, bits: math.Float64bits(float64(v))}
	case float64:
		return Value{kind: Float64, bits: math.Float64bits(v)}
	case string:
		return Value{kind: String, more: v}
	}
	return Value{}
}

func boolValue(b bool) Value {
	if b {
		return Value{kind: Bool, bits: 1}
	}
	return Value{kind: Bool}
}

// ArrayOf makes an array. It keeps v: the caller must not change it afterwards.
// A nil v is the empty array.
func ArrayOf[T Scalar](v []T) Value {
	if v == nil {
		v = []T{}
	}
	return Value{kind: KindFor[T](), more: v}
}

// BytesOf makes a value of kind Bytes from a copy of b.
func BytesOf(b []byte) Value { return Value{kind: Bytes, more: string(b)} }

// EnumOf makes an enum value: the index of a state, from 0.
func EnumOf(index int) Value { return Value{kind: Enum, bits: uint64(index)} }

// Kind returns the value's kind, or that of its elements; NoKind for the zero Value.
func (v Value) Kind() Kind { return v.kind }

// Known reports whether the value is anything but the zero Value.
func (v Value) Known() bool { return v.kind != NoKind }

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool {
	switch v.more.(type) {
	case nil, string:
		return false
	}
	return true
}

// Bool returns a bool scalar, or whether a number or enum index is not 0.
func (v Value) Bool() bool {
	if v.kind.IsFloat() {
		return v.Float() != 0
	}
	return v.bits != 0
}

// Int returns a signed integer or an enum's index; unsigned and float scalars
// are converted as Go does, so check the kind first.
func (v Value) Int() int64 {
	if v.kind.IsFloat() {
		return int64(v.Float())
	}
	return int64(v.bits)
}

// Uint returns an unsigned integer; others are converted as Go does.
func (v Value) Uint() uint64 {
	if v.kind.IsFloat() {
		return uint64(v.Float())
	}
	return v.bits
}

// Float returns a number as float64: exact for all kinds but 64-bit integers
// beyond 2^53, which are rounded.
func (v Value) Float() float64 {
	switch {
	case v.kind.IsFloat():
		return math.Float64frombits(v.bits)
	case v.kind.IsSigned():
		return float64(int64(v.bits))
	default:
		return float64(v.bits)
	}
}

// Text returns a string, or the bytes of a Bytes value as they are.
func (v Value) Text() string {
	text, _ := v.more.(string)
	return text
}

// Index returns the index of an enum's state.
func (v Value) Index() int { return int(v.bits) }

// Elements returns the elements of an array of T, or nil if v is none. The
// slice is shared and must not be changed.
func Elements[T Scalar](v Value) []T {
	elements, _ := v.more.([]T)
	return elements
}

// Array returns the typed slice of an array, nil for a scalar. It is shared
// and must not be changed.
func (v Value) Array() any {
	if !v.IsArray() {
		return nil
	}
	return v.more
}

// Len returns the number of elements of an array, 1 for a scalar and 0 for the zero Value.
func (v Value) Len() int {
	switch a := v.more.(type) {
	case nil:
		if v.kind == NoKind {
			return 0
		}
		return 1
	case string:
		return 1
	case []bool:
		return len(a)
	case []int8:
		return len(a)
	case []int16:
		return len(a)
	case []int32:
		return len(a)
	case []int64:
		return len(a)
	case []uint8:
		return len(a)
	case []uint16:
		return len(a)
	case []uint32:
		return len(a)
	case []uint64:
		return len(a)
	case []float32:
		return len(a)
	case []float64:
		return len(a)
	case []string:
		return len(a)
	}
	return 0
}

// At returns element i of an array as a scalar; a scalar is its own element 0.
// It panics if i is out of range, as indexing does.
func (v Value) At(i int) Value {
	switch a := v.more.(type) {
	case []bool:
		return Of(a[i])
	case []int8:
		return Of(a[i])
	case []int16:
		return Of(a[i])
	case []int32:
		return Of(a[i])
	case []int64:
		return Of(a[i])
	case []uint8:
		return Of(a[i])
	case []uint16:
		return Of(a[i])
	case []uint32:
		return Of(a[i])
	case []uint64:
		return Of(a[i])
	case []float32:
		return Of(a[i])
	case []float64:
		return Of(a[i])
	case []string:
		return Of(a[i])
	}
	return v
}

// Equal reports whether two values are the same in kind and content. NaN
// equals NaN, so that a device that keeps saying NaN does not count as changing.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.IsArray() != w.IsArray() {
		return false
	}
	switch a := v.more.(type) {
	case nil:
		return v.bits == w.bits || v.kind.IsFloat() && sameFloat(v.Float(), w.Float())
	case string:
		return a == w.Text()
	case []bool:
		return slices.Equal(a, Elements[bool](w))
	case []int8:
		return slices.Equal(a, Elements[int8](w))
	case []int16:
		return slices.Equal(a, Elements[int16](w))
	case []int32:
		return slices.Equal(a, Elements[int32](w))
	case []int64:
		return slices.Equal(a, Elements[int64](w))
	case []uint8:
		return bytes.Equal(a, Elements[uint8](w))
	case []uint16:
		return slices.Equal(a, Elements[uint16](w))
	case []uint32:
		return slices.Equal(a, Elements[uint32](w))
	case []uint64:
		return slices.Equal(a, Elements[uint64](w))
	case []float32:
		return slices.EqualFunc(a, Elements[float32](w), func(x, y float32) bool { return sameFloat(float64(x), float64(y)) })
	case []float64:
		return slices.EqualFunc(a, Elements[float64](w), sameFloat)
	case []string:
		return slices.Equal(a, Elements[string](w))
	}
	return false
}

func sameFloat(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

// Size returns the bytes that the value's content takes beyond the Value itself.
func (v Value) Size() int {
	switch more := v.more.(type) {
	case nil:
		return 0
	case string:
		return len(more)
	case []string:
		size := 0
		for _, s := range more {
			size += 16 + len(s)
		}
		return size
	}
	return v.Len() * max(v.kind.Bits()/8, 1)
}
