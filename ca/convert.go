package ca

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// errNoConversion means that a value cannot be told in the type asked for, which
// base answers with ECA_GETFAIL.
var errNoConversion = errors.New("no such conversion")

// convert puts at most n elements of v into the slice of the native type, as
// base does it (dbConvert.c). Fewer are left where there are fewer; the encoder
// fills up with zeros.
func (t *target) convert(dst *cawire.Values, v gateway.Value, native cawire.Type, n int) error {
	if t.long {
		return t.convertLong(dst, v, native, n)
	}
	if !v.Known() {
		return t.convertUnknown(dst, native, n)
	}
	if v.Kind() == gateway.Bytes {
		v = gateway.ArrayOf([]byte(v.Text()[:min(len(v.Text()), n)]))
	}
	n = min(n, v.Len())
	if shared(dst, v, native, n) {
		return nil
	}
	switch native {
	case cawire.DBRString:
		return fill(&dst.Strings, n, func(i int) (string, error) { return t.text(v.At(i)) })
	case cawire.DBRShort:
		return fill(&dst.Shorts, n, func(i int) (int16, error) { x, err := t.integer(v.At(i)); return int16(x), err })
	case cawire.DBRFloat:
		return fill(&dst.Floats, n, func(i int) (float32, error) { x, err := t.float(v.At(i)); return float32Of(x), err })
	case cawire.DBREnum:
		return fill(&dst.Enums, n, func(i int) (uint16, error) { x, err := t.integer(v.At(i)); return uint16(x), err })
	case cawire.DBRChar:
		return fill(&dst.Chars, n, func(i int) (byte, error) { x, err := t.integer(v.At(i)); return byte(x), err })
	case cawire.DBRLong:
		return fill(&dst.Longs, n, func(i int) (int32, error) { return t.integer(v.At(i)) })
	default:
		return fill(&dst.Doubles, n, func(i int) (float64, error) { return t.float(v.At(i)) })
	}
}

// shared uses the elements of an array as they are where its type is the wanted one.
func shared(dst *cawire.Values, v gateway.Value, native cawire.Type, n int) bool {
	switch elements := v.Array().(type) {
	case []float64:
		if native == cawire.DBRDouble {
			*dst = cawire.Values{Doubles: elements[:n]}
			return true
		}
	case []float32:
		if native == cawire.DBRFloat {
			*dst = cawire.Values{Floats: elements[:n]}
			return true
		}
	case []int32:
		if native == cawire.DBRLong {
			*dst = cawire.Values{Longs: elements[:n]}
			return true
		}
	case []int16:
		if native == cawire.DBRShort {
			*dst = cawire.Values{Shorts: elements[:n]}
			return true
		}
	case []byte:
		if native == cawire.DBRChar {
			*dst = cawire.Values{Chars: elements[:n]}
			return true
		}
	case []string:
		if native == cawire.DBRString {
			*dst = cawire.Values{Strings: elements[:n]}
			return true
		}
	}
	return false
}

func fill[T any](into *[]T, n int, element func(int) (T, error)) error {
	list := make([]T, n)
	for i := range list {
		var err error
		if list[i], err = element(i); err != nil {
			return err
		}
	}
	*into = list
	return nil
}

// convertUnknown is the value of a record that was never set: zeros, as the type
// of the field has them.
func (t *target) convertUnknown(dst *cawire.Values, native cawire.Type, n int) error {
	*dst = cawire.Values{}
	if n == 0 || t.rec.isArray() {
		return nil
	}
	var v gateway.Value
	switch {
	case t.field.dbf == dbfString:
		v = empty
	case t.field.dbf == dbfEnum:
		v = none
	case t.field.dbf.isFloat():
		v = gateway.Of(0.0)
	default:
		v = zero
	}
	return t.convert(dst, v, native, n)
}

// convertLong gives a text as characters; where base makes them of a short text
// the last one is a NUL. In any other type they are numbers.
func (t *target) convertLong(dst *cawire.Values, v gateway.Value, native cawire.Type, n int) error {
	ofLong := t.isVal && t.rec.isLong()
	characters := make([]byte, t.field.size)
	if copy(characters[:max(t.field.size-1, 0)], t.rec.label(v)); ofLong {
		characters = characters[:t.available(v, native)]
	}
	characters = characters[:min(n, len(characters))]
	if native == cawire.DBRChar {
		if !ofLong && len(characters) > 0 {
			characters[len(characters)-1] = 0
		}
		*dst = cawire.Values{Chars: characters}
		return nil
	}
	plain := *t
	plain.long = false
	plain.field.dbf = dbfChar
	return plain.convert(dst, gateway.ArrayOf(characters), native, n)
}

// float returns a number as base converts it.
func (t *target) float(v gateway.Value) (float64, error) {
	if v.Kind() != gateway.String && !t.isLabel(v) {
		return v.Float(), nil
	}
	text := strings.TrimSpace(t.rec.label(v))
	if text == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errNoConversion
	}
	return x, nil
}

// integer returns a number as an IOC on this kind of machine does: floats beyond
// 32 bits become the smallest integer, smaller types take the lower bits of
// larger ones. Only a number of 64 bits that does not fit is refused, since a
// wrapped one would pass for a good one.
func (t *target) integer(v gateway.Value) (int32, error) {
	switch kind := v.Kind(); {
	case kind == gateway.String || t.isLabel(v):
		text := strings.TrimSpace(t.rec.label(v))
		if text == "" {
			return 0, nil
		}
		x, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, errNoConversion
		}
		return int32(x), nil
	case kind.IsFloat():
		f := math.Trunc(v.Float())
		if !(f >= math.MinInt32 && f <= math.MaxInt32) {
			return math.MinInt32, nil
		}
		return int32(f), nil
	case kind == gateway.Int64 && int64(int32(v.Int())) != v.Int(),
		kind == gateway.Uint64 && v.Uint() > math.MaxUint32:
		return 0, errNoConversion
	default:
		return int32(v.Int()), nil
	}
}

// isLabel tells whether an enum is served as the text of its state, because it
// has more of them than fit.
func (t *target) isLabel(v gateway.Value) bool {
	return v.Kind() == gateway.Enum && t.field.dbf == dbfString
}

// text returns a scalar as base writes it.
func (t *target) text(v gateway.Value) (string, error) {
	switch kind := v.Kind(); {
	case kind == gateway.String:
		return v.Text(), nil
	case t.isLabel(v):
		return t.rec.label(v), nil
	case t.field.dbf == dbfMenu:
		if i := v.Index(); i < len(t.field.menu) {
			return t.field.menu[i], nil
		}
		return "", errNoConversion
	case t.field.dbf == dbfEnum:
		return t.stateText(v), nil
	case t.field.dbf == dbfFloat:
		return formatFloat(float32(v.Float()), int(t.textPrecision())), nil
	case t.field.dbf == dbfDouble:
		return formatDouble(v.Float(), int(t.textPrecision())), nil
	case kind.IsFloat():
		return strconv.FormatInt(int64(v.Float()), 10), nil
	case kind.IsUnsigned():
		return strconv.FormatUint(v.Uint(), 10), nil
	default:
		return strconv.FormatInt(v.Int(), 10), nil
	}
}

// stateText is a state's name, or what base says where there is none.
func (t *target) stateText(v gateway.Value) string {
	i := int(v.Int())
	switch {
	case i >= 0 && i < len(t.rec.meta.States):
		return t.rec.meta.States[i]
	case groups[t.rec.rtyp] == "two":
		return "Illegal_Value"
	case i >= 0 && i < maxStates:
		return ""
	default:
		return "Illegal Value"
	}
}

// textPrecision is PREC where the record has it.
func (t *target) textPrecision() int16 {
	switch t.rec.rtyp {
	case "ai", "ao", "aai", "aao":
		if t.isVal {
			return t.rec.meta.Precision
		}
		return min(t.rec.meta.Precision, 15)
	}
	return defaultPrecision
}

// float32Of narrows as base does: what is too large or too small becomes the
// nearest number that is not (epicsConvert.c).
func float32Of(f float64) float32 {
	const smallest = 1.17549435e-38
	abs := math.Abs(f)
	switch {
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0):
		return float32(f)
	case abs >= math.MaxFloat32:
		return float32(math.Copysign(math.MaxFloat32, f))
	case abs <= smallest:
		return float32(math.Copysign(smallest, f))
	}
	return float32(f)
}
