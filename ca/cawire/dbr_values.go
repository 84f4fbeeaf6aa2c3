package cawire

import (
	"encoding/binary"
	"math"
)

// Values is the value of a channel: a slice for each native type, of which a
// conversation uses one. A scalar is a slice of one element.
type Values struct {
	Strings []string
	Shorts  []int16
	Floats  []float32
	Enums   []uint16
	Chars   []byte
	Longs   []int32
	Doubles []float64
}

// Len returns the number of elements of a native type, or of t's native type.
func (v *Values) Len(t Type) int {
	switch t.Native() {
	case DBRString:
		return len(v.Strings)
	case DBRShort:
		return len(v.Shorts)
	case DBRFloat:
		return len(v.Floats)
	case DBREnum:
		return len(v.Enums)
	case DBRChar:
		return len(v.Chars)
	case DBRLong:
		return len(v.Longs)
	default:
		return len(v.Doubles)
	}
}

// append appends at most count elements of the native type.
func (v *Values) append(dst []byte, native Type, count int) []byte {
	count = min(count, v.Len(native))
	switch native {
	case DBRString:
		for _, s := range v.Strings[:count] {
			dst = appendText(dst, s, StringSize)
		}
	case DBRShort:
		for _, n := range v.Shorts[:count] {
			dst = binary.BigEndian.AppendUint16(dst, uint16(n))
		}
	case DBRFloat:
		for _, n := range v.Floats[:count] {
			dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(n))
		}
	case DBREnum:
		for _, n := range v.Enums[:count] {
			dst = binary.BigEndian.AppendUint16(dst, n)
		}
	case DBRChar:
		dst = append(dst, v.Chars[:count]...)
	case DBRLong:
		for _, n := range v.Longs[:count] {
			dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		}
	case DBRDouble:
		for _, n := range v.Doubles[:count] {
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(n))
		}
	}
	return dst
}

// decode sets the slice of the native type to count elements, reusing its
// capacity. The caller has checked that b has that many.
func (v *Values) decode(b []byte, native Type, count int) {
	switch native {
	case DBRString:
		v.Strings = resize(v.Strings, count)
		for i := range v.Strings {
			setText(&v.Strings[i], b[i*StringSize:min((i+1)*StringSize, len(b))])
		}
	case DBRShort:
		v.Shorts = resize(v.Shorts, count)
		for i := range v.Shorts {
			v.Shorts[i] = int16(binary.BigEndian.Uint16(b[2*i:]))
		}
	case DBRFloat:
		v.Floats = resize(v.Floats, count)
		for i := range v.Floats {
			v.Floats[i] = math.Float32frombits(binary.BigEndian.Uint32(b[4*i:]))
		}
	case DBREnum:
		v.Enums = resize(v.Enums, count)
		for i := range v.Enums {
			v.Enums[i] = binary.BigEndian.Uint16(b[2*i:])
		}
	case DBRChar:
		v.Chars = append(v.Chars[:0], b[:count]...)
	case DBRLong:
		v.Longs = resize(v.Longs, count)
		for i := range v.Longs {
			v.Longs[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
		}
	case DBRDouble:
		v.Doubles = resize(v.Doubles, count)
		for i := range v.Doubles {
			v.Doubles[i] = math.Float64frombits(binary.BigEndian.Uint64(b[8*i:]))
		}
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	return append(s[:cap(s)], make([]T, n-cap(s))...)
}
