package proto

import (
	"encoding/binary"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

// elementsField is the only field of all messages for arrays.
const elementsField = 1

// array writes a member of the oneof.
func (w *writer) array(v gateway.Value) {
	num := uint64(v.Kind()) + arrayField
	if elements, ok := v.Array().([]uint8); ok {
		w.key(num, lenType)
		w.b = protowire.AppendBytes(w.b, elements)
		return
	}
	outer := w.begin(num, v.Size()+4)
	if texts, ok := v.Array().([]string); ok {
		for _, text := range texts {
			w.textAlways(elementsField, text)
		}
	} else if v.Len() > 0 {
		inner := w.begin(elementsField, v.Size())
		w.b = appendPacked(w.b, v)
		w.end(inner)
	}
	w.end(outer)
}

// appendPacked writes 8 and 16 bits as variable-length integers and wider
// elements with their own width.
func appendPacked(b []byte, v gateway.Value) []byte {
	switch elements := v.Array().(type) {
	case []bool:
		for _, e := range elements {
			b = protowire.AppendVarint(b, protowire.EncodeBool(e))
		}
	case []int8:
		for _, e := range elements {
			b = protowire.AppendVarint(b, protowire.EncodeZigZag(int64(e)))
		}
	case []int16:
		for _, e := range elements {
			b = protowire.AppendVarint(b, protowire.EncodeZigZag(int64(e)))
		}
	case []uint16:
		for _, e := range elements {
			b = protowire.AppendVarint(b, uint64(e))
		}
	case []int32:
		for _, e := range elements {
			b = binary.LittleEndian.AppendUint32(b, uint32(e))
		}
	case []uint32:
		for _, e := range elements {
			b = binary.LittleEndian.AppendUint32(b, e)
		}
	case []float32:
		for _, e := range elements {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(e))
		}
	case []int64:
		for _, e := range elements {
			b = binary.LittleEndian.AppendUint64(b, uint64(e))
		}
	case []uint64:
		for _, e := range elements {
			b = binary.LittleEndian.AppendUint64(b, e)
		}
	case []float64:
		for _, e := range elements {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e))
		}
	}
	return b
}

// arrayKind returns the kind of the elements if key is that of an array's field.
func arrayKind(key uint64) (gateway.Kind, bool) {
	kind := key>>3 - arrayField
	ok := key&7 == lenType && key>>3 > arrayField && kind <= uint64(gateway.String) && gateway.Kind(kind) != gateway.Bytes
	return gateway.Kind(kind), ok
}

var errTwoArrays = errors.New("a value holds two arrays")

// decodeArray reads the message of an array's field. No encoder writes two of
// them, and protobuf would join the two, so that is refused.
func decodeArray(kind gateway.Kind, b []byte, v *gateway.Value) error {
	if v.IsArray() {
		return errTwoArrays
	}
	var err error
	switch kind {
	case gateway.Bool:
		*v, err = varintArray(b, (*reader).bool)
	case gateway.Int8:
		*v, err = varintArray(b, func(r *reader) int8 { return narrow[int8](r, r.sint32()) })
	case gateway.Int16:
		*v, err = varintArray(b, func(r *reader) int16 { return narrow[int16](r, r.sint32()) })
	case gateway.Uint16:
		*v, err = varintArray(b, func(r *reader) uint16 { return narrow[uint16](r, r.uint32()) })
	case gateway.Int32:
		*v, err = fixedArray[int32](b, fixed32Type)
	case gateway.Uint32:
		*v, err = fixedArray[uint32](b, fixed32Type)
	case gateway.Float32:
		*v, err = fixedArray[float32](b, fixed32Type)
	case gateway.Int64:
		*v, err = fixedArray[int64](b, fixed64Type)
	case gateway.Uint64:
		*v, err = fixedArray[uint64](b, fixed64Type)
	case gateway.Float64:
		*v, err = fixedArray[float64](b, fixed64Type)
	case gateway.Uint8:
		*v = gateway.ArrayOf(append([]uint8{}, b...))
	case gateway.String:
		*v, err = textArray(b)
	}
	return err
}

// The elements of a message come packed into one field; a decoder must also
// take them one by one, and several packed fields.

func varintArray[T gateway.Scalar](b []byte, read func(*reader) T) (gateway.Value, error) {
	var elements []T
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case elementsField<<3 | lenType:
			packed := reader{b: r.bytes()}
			elements = grow(elements, countVarints(packed.b))
			for packed.more() {
				elements = append(elements, read(&packed))
			}
			r.fail(packed.err)
		case elementsField<<3 | varintType:
			elements = append(elements, read(&r))
		default:
			r.skip(key)
		}
	}
	return gateway.ArrayOf(elements), r.err
}

func countVarints(b []byte) int {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// grow makes room for n more elements. The first time that is exactly n, as
// slices.Grow does not promise.
func grow[T any](elements []T, n int) []T {
	if elements == nil {
		return make([]T, 0, n)
	}
	return elements
}

func fixedArray[T gateway.Scalar](b []byte, wireType uint64) (gateway.Value, error) {
	width := 4
	if wireType == fixed64Type {
		width = 8
	}
	var elements []T
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		var part []byte
		switch key {
		case elementsField<<3 | lenType:
			part = r.bytes()
		case elementsField<<3 | wireType:
			part = r.take(width)
		default:
			r.skip(key)
			continue
		}
		if len(part)%width != 0 {
			r.fail(errPartElement)
			break
		}
		start := len(elements)
		elements = append(elements, make([]T, len(part)/width)...)
		fill(elements[start:], part)
	}
	return gateway.ArrayOf(elements), r.err
}

// fill reads all elements from b, which has their size. encoding/binary can do
// this, too, with a dynamic call for each element.
func fill[T gateway.Scalar](elements []T, b []byte) {
	switch elements := any(elements).(type) {
	case []int32:
		for i := range elements {
			elements[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case []uint32:
		for i := range elements {
			elements[i] = binary.LittleEndian.Uint32(b[4*i:])
		}
	case []float32:
		for i := range elements {
			elements[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case []int64:
		for i := range elements {
			elements[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case []uint64:
		for i := range elements {
			elements[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case []float64:
		for i := range elements {
			elements[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
}

var errPartElement = errors.New("an array ends within an element")

func textArray(b []byte) (gateway.Value, error) {
	r := reader{b: b}
	elements := make([]string, 0, r.count(elementsField<<3|lenType))
	for key := r.next(); key != 0; key = r.next() {
		if key == elementsField<<3|lenType {
			elements = append(elements, r.text())
		} else {
			r.skip(key)
		}
	}
	return gateway.ArrayOf(elements), r.err
}
