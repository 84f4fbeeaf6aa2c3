package proto

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

// arrayField is what is added to the number of an element's kind to make the
// number of the array's field in Value.
const arrayField = 16

// value writes v as field num; the zero Value is left out.
func (w *writer) value(num uint64, v gateway.Value) {
	if !v.Known() {
		return
	}
	m := w.begin(num, v.Size()+8)
	if v.IsArray() {
		w.array(v)
	} else {
		w.scalar(v)
	}
	w.end(m)
}

// scalar writes a member of the oneof, which is there even if it is zero.
func (w *writer) scalar(v gateway.Value) {
	num := uint64(v.Kind())
	switch kind := v.Kind(); {
	case kind.IsSigned():
		w.key(num, varintType)
		w.b = protowire.AppendVarint(w.b, protowire.EncodeZigZag(v.Int()))
	case kind == gateway.Float32:
		w.key(num, fixed32Type)
		w.b = protowire.AppendFixed32(w.b, math.Float32bits(float32(v.Float())))
	case kind == gateway.Float64:
		w.key(num, fixed64Type)
		w.b = protowire.AppendFixed64(w.b, math.Float64bits(v.Float()))
	case kind == gateway.String:
		w.textAlways(num, v.Text())
	case kind == gateway.Bytes:
		w.key(num, lenType)
		w.b = protowire.AppendString(w.b, v.Text())
	default: // bool, unsigned and enum
		w.key(num, varintType)
		w.b = protowire.AppendVarint(w.b, v.Uint())
	}
}

// value reads a Value into v, so that fields of a repeated message are merged
// as protobuf asks.
func (d *Decoder) value(b []byte, v *gateway.Value) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case uint64(gateway.Bool)<<3 | varintType:
			*v = gateway.Of(r.bool())
		case uint64(gateway.Int8)<<3 | varintType:
			*v = gateway.Of(narrow[int8](&r, r.sint32()))
		case uint64(gateway.Int16)<<3 | varintType:
			*v = gateway.Of(narrow[int16](&r, r.sint32()))
		case uint64(gateway.Int32)<<3 | varintType:
			*v = gateway.Of(r.sint32())
		case uint64(gateway.Int64)<<3 | varintType:
			*v = gateway.Of(r.sint64())
		case uint64(gateway.Uint8)<<3 | varintType:
			*v = gateway.Of(narrow[uint8](&r, r.uint32()))
		case uint64(gateway.Uint16)<<3 | varintType:
			*v = gateway.Of(narrow[uint16](&r, r.uint32()))
		case uint64(gateway.Uint32)<<3 | varintType:
			*v = gateway.Of(r.uint32())
		case uint64(gateway.Uint64)<<3 | varintType:
			*v = gateway.Of(r.varint())
		case uint64(gateway.Float32)<<3 | fixed32Type:
			*v = gateway.Of(math.Float32frombits(r.fixed32()))
		case uint64(gateway.Float64)<<3 | fixed64Type:
			*v = gateway.Of(r.double())
		case uint64(gateway.String)<<3 | lenType:
			*v = gateway.Of(r.text())
		case uint64(gateway.Bytes)<<3 | lenType:
			*v = gateway.BytesOf(r.bytes())
		case uint64(gateway.Enum)<<3 | varintType:
			*v = gateway.EnumOf(int(r.index()))
		default:
			if kind, ok := arrayKind(key); ok {
				r.fail(decodeArray(kind, r.bytes(), v))
			} else {
				r.skip(key)
			}
		}
	}
	return r.err
}

// narrow fails the reader if n does not fit T.
func narrow[T, N int8 | int16 | int32 | uint8 | uint16 | uint32](r *reader, n N) T {
	if N(T(n)) != n {
		r.fail(fmt.Errorf("%d does not fit its kind", n))
	}
	return T(n)
}
