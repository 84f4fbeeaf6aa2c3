package cawire

import (
	"math"
	"net/netip"
	"strconv"
	"time"
)

// AppendTrace appends one readable line for a frame that the given side sent,
// without a line break:
//
//	C> CREATE_CHAN cid=1 minor=4.13 name="CAP:ai"
//	S> CREATE_CHAN reply cid=1 sid=0 DBR_DOUBLE[1]
//
// A frame that cannot be decoded is shown with its header and the error. Text
// from the wire is quoted, so that a line stays one. Long data is cut.
func AppendTrace(dst []byte, f Frame, from Side, on Transport) []byte {
	switch from {
	case Client:
		dst = append(dst, "C> "...)
	default:
		dst = append(dst, "S> "...)
	}
	m, err := Decode(f, from, on)
	if err != nil {
		dst = append(dst, f.Command.String()...)
		dst = fieldInt(dst, "size", int64(f.PayloadSize))
		dst = fieldInt(fieldInt(dst, "type", int64(f.Type)), "count", int64(f.Count))
		dst = fieldInt(fieldInt(dst, "p1", int64(f.Param1)), "p2", int64(f.Param2))
		return append(append(dst, " !"...), err.Error()...)
	}
	return m.fields(append(dst, m.Kind().String()...))
}

// Trace returns what AppendTrace appends.
func Trace(f Frame, from Side, on Transport) string {
	return string(AppendTrace(nil, f, from, on))
}

func field(dst []byte, name string) []byte {
	return append(append(append(dst, ' '), name...), '=')
}

func fieldInt(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(field(dst, name), n, 10)
}

func fieldText(dst []byte, name string, text []byte) []byte {
	return strconv.AppendQuote(field(dst, name), string(text))
}

func fieldMinor(dst []byte, m Minor) []byte { return append(field(dst, "minor"), m.String()...) }

func fieldStatus(dst []byte, s Status) []byte {
	if s == ECANormal {
		return dst
	}
	return append(append(dst, ' '), s.String()...)
}

func fieldAddress(dst []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return dst
	}
	return a.AppendTo(field(dst, "address"))
}

func fieldType(dst []byte, t Type, count uint32) []byte {
	dst = append(append(dst, ' '), t.String()...)
	return append(strconv.AppendUint(append(dst, '['), uint64(count), 10), ']')
}

// traceElements is how many elements of a value a trace shows.
const traceElements = 8

func fieldData(dst []byte, t Type, count uint32, payload []byte) []byte {
	var meta Meta
	var v Values
	if len(payload) == 0 && count == 0 {
		return dst
	}
	if err := DecodeDBR(t, count, payload, &meta, &v); err != nil {
		return append(append(dst, " !"...), err.Error()...)
	}
	if t.Form() != Plain && t.Form() != Special {
		dst = append(append(dst, ' '), meta.Severity.String()...)
		dst = append(append(dst, '/'), meta.Status.String()...)
	}
	if t.Form() == Time {
		dst = meta.Time.Time().AppendFormat(append(dst, ' '), time.RFC3339Nano)
	}
	if meta.Units != "" {
		dst = strconv.AppendQuote(field(dst, "units"), meta.Units)
	}
	dst = append(dst, " ("...)
	for i := range min(int(count), traceElements) {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = v.appendElement(dst, t.Native(), i)
	}
	if count > traceElements {
		dst = append(dst, " ..."...)
	}
	return append(dst, ')')
}

func (v *Values) appendElement(dst []byte, native Type, i int) []byte {
	switch native {
	case DBRString:
		return strconv.AppendQuote(dst, v.Strings[i])
	case DBRShort:
		return strconv.AppendInt(dst, int64(v.Shorts[i]), 10)
	case DBRFloat:
		return strconv.AppendFloat(dst, float64(v.Floats[i]), 'g', -1, 32)
	case DBREnum:
		return strconv.AppendUint(dst, uint64(v.Enums[i]), 10)
	case DBRChar:
		return strconv.AppendUint(dst, uint64(v.Chars[i]), 10)
	case DBRLong:
		return strconv.AppendInt(dst, int64(v.Longs[i]), 10)
	default:
		if d := v.Doubles[i]; !math.IsNaN(d) {
			return strconv.AppendFloat(dst, d, 'g', -1, 64)
		}
		return append(dst, "nan"...)
	}
}
