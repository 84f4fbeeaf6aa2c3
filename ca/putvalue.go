package ca

import (
	"bytes"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// putValue makes the value of a put out of what a client sent. The rules are
// those of every protocol (see gateway.Type): what does not fit is refused,
// never rounded, wrapped or clamped. The error has a kind.
func (t *target) putValue(typ cawire.Type, count uint32, raw []byte) (gateway.Value, error) {
	d := t.rec.desc
	wanted := &d.Type
	if d.IsCommand() {
		if wanted = d.Argument; wanted == nil {
			return gateway.Value{}, nil // any write runs it
		}
	}
	if typ == cawire.DBRPutAckT || typ == cawire.DBRPutAckS {
		return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "alarms cannot be acknowledged here")
	}
	if typ.Form() == cawire.Special {
		return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "%s cannot be written", typ)
	}
	if count == 0 && !wanted.IsArray() && wanted.Kind != gateway.Bytes {
		return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "a put without a value")
	}
	if !wanted.IsArray() && !takesCharacters(wanted.Kind, typ) {
		count = min(count, 1) // as base does
	}
	var sent cawire.Values
	if err := cawire.DecodeDBR(typ, count, raw, nil, &sent); err != nil {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "%w", err)
	}
	return convertPut(wanted, typ.Native(), &sent)
}

// takesCharacters tells whether an array of characters is one text.
func takesCharacters(kind gateway.Kind, typ cawire.Type) bool {
	switch kind {
	case gateway.Bytes:
		return true
	case gateway.String, gateway.Enum:
		return typ.Native() == cawire.DBRChar
	}
	return false
}

func convertPut(wanted *gateway.Type, native cawire.Type, sent *cawire.Values) (gateway.Value, error) {
	if !wanted.IsArray() && native == cawire.DBRChar {
		switch wanted.Kind {
		case gateway.Bytes:
			return checked(wanted, gateway.BytesOf(sent.Chars))
		case gateway.String:
			return checked(wanted, gateway.Of(untilNUL(sent.Chars)))
		case gateway.Enum:
			if len(sent.Chars) != 1 { // one alone is a number
				return wanted.Convert(gateway.Of(untilNUL(sent.Chars)))
			}
		}
	}
	var v gateway.Value
	switch native {
	case cawire.DBRString:
		v = gateway.ArrayOf(sent.Strings)
	case cawire.DBRShort:
		v = gateway.ArrayOf(sent.Shorts)
	case cawire.DBRFloat:
		v = gateway.ArrayOf(sent.Floats)
	case cawire.DBREnum:
		v = gateway.ArrayOf(sent.Enums)
	case cawire.DBRChar:
		v = gateway.ArrayOf(sent.Chars)
	case cawire.DBRLong:
		v = gateway.ArrayOf(sent.Longs)
	default:
		v = gateway.ArrayOf(sent.Doubles)
	}
	if wanted.IsArray() {
		if wanted.Kind == gateway.String && native != cawire.DBRString {
			v = written(v)
		}
		return wanted.Convert(v)
	}
	return convertScalarPut(wanted, v)
}

func convertScalarPut(wanted *gateway.Type, v gateway.Value) (gateway.Value, error) {
	switch {
	case wanted.Kind == gateway.Bytes && v.Kind() == gateway.String && v.Len() > 0:
		return checked(wanted, gateway.BytesOf([]byte(v.At(0).Text())))
	case wanted.Kind == gateway.Bytes:
		return bytesOf(wanted, v)
	case wanted.Kind == gateway.String && v.Kind() != gateway.String:
		return checked(wanted, written(v).At(0))
	}
	return wanted.Convert(v.At(0))
}

// written has the text of numbers, which is the same everywhere.
func written(v gateway.Value) gateway.Value {
	number := gateway.Type{Kind: v.Kind()}
	texts := make([]string, v.Len())
	for i := range texts {
		texts[i] = number.Text(v.At(i))
	}
	return gateway.ArrayOf(texts)
}

// bytesOf takes numbers of any type for bytes.
func bytesOf(wanted *gateway.Type, v gateway.Value) (gateway.Value, error) {
	one := gateway.Type{Kind: gateway.Uint8, Shape: []int{max(wanted.Capacity(), 1)}}
	numbers, err := one.Convert(v)
	if err != nil {
		return gateway.Value{}, err
	}
	return checked(wanted, gateway.BytesOf(gateway.Elements[byte](numbers)))
}

func checked(wanted *gateway.Type, v gateway.Value) (gateway.Value, error) {
	if err := wanted.Check(v); err != nil {
		return gateway.Value{}, err
	}
	return v, nil
}

func untilNUL(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

// statusOf says what a client is told of an error.
func statusOf(err error) cawire.Status {
	switch gateway.KindOf(err) {
	case gateway.KindOK:
		return cawire.ECANormal
	case gateway.KindReadOnly, gateway.KindWriteOnly, gateway.KindUnauthenticated, gateway.KindDenied:
		return cawire.ECANoWtAccess
	case gateway.KindMalformed:
		return cawire.ECABadType
	case gateway.KindTooLarge:
		return cawire.ECATooLarge
	case gateway.KindInternal:
		return cawire.ECAInternal
	default:
		return cawire.ECAPutFail
	}
}
