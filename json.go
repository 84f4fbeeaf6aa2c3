package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// JSONOptions choose between forms that a JSON client may want.
type JSONOptions struct {
	// IntsAsText writes 64-bit integers as strings, since many clients
	// (every browser) round numbers beyond 2^53.
	IntsAsText bool
}

// AppendJSON appends v as JSON: numbers with their exact digits, NaN and the
// infinities as the strings "NaN", "Infinity" and "-Infinity", enums as their
// label, bytes as base64, arrays with nested rows if the type has more than
// one dimension, and null if nothing is known.
func (t *Type) AppendJSON(dst []byte, v Value, opts JSONOptions) []byte {
	if !v.Known() {
		return append(dst, "null"...)
	}
	if !v.IsArray() {
		return t.appendScalarJSON(dst, v, opts)
	}
	shape := t.Shape
	if len(shape) == 0 {
		shape = []int{v.Len()}
	}
	next := 0
	return t.appendDimension(dst, v, shape, v.Len(), &next, opts)
}

// appendDimension writes the n elements from *next on, as rows of the inner shape.
func (t *Type) appendDimension(dst []byte, v Value, shape []int, n int, next *int, opts JSONOptions) []byte {
	dst = append(dst, '[')
	if len(shape) == 1 {
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = t.appendScalarJSON(dst, v.At(*next), opts)
			*next++
		}
		return append(dst, ']')
	}
	row := 1
	for _, extent := range shape[1:] {
		row *= extent
	}
	for i := 0; row > 0 && i < n/row; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.appendDimension(dst, v, shape[1:], row, next, opts)
	}
	return append(dst, ']')
}

func (t *Type) appendScalarJSON(dst []byte, v Value, opts JSONOptions) []byte {
	switch kind := v.Kind(); {
	case kind == Bool:
		return strconv.AppendBool(dst, v.Bool())
	case kind == String:
		return AppendJSONString(dst, v.Text())
	case kind == Bytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.Text()))
		return append(dst, '"')
	case kind == Enum:
		if label, ok := t.Label(v.Index()); ok {
			return AppendJSONString(dst, label)
		}
		return strconv.AppendInt(dst, int64(v.Index()), 10)
	case kind.IsFloat():
		return appendFloatJSON(dst, v.Float(), kind.Bits())
	case opts.IntsAsText && kind.Bits() == 64:
		dst = append(dst, '"')
		dst = v.appendNumber(dst)
		return append(dst, '"')
	default:
		return v.appendNumber(dst)
	}
}

func appendFloatJSON(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst = append(dst, '"')
		dst = append(dst, formatFloat(f, bits)...)
		return append(dst, '"')
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// AppendJSONString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, so the result is always valid JSON.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&':
			// The last three keep a reply harmless where a page shows it as HTML.
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}

// ParseJSON makes a value of the type from one JSON value, with the forms that
// AppendJSON writes, and applies Check. Numbers may also come as strings. JSON
// that cannot be read is KindMalformed.
func (t *Type) ParseJSON(data []byte) (Value, error) {
	if !t.IsArray() {
		return t.checked(t.parseScalarJSON(bytes.TrimSpace(data)))
	}
	elements, err := t.flattenJSON(data)
	if err != nil {
		return Value{}, err
	}
	return t.buildArray(len(elements), func(i int) (Value, error) { return t.parseScalarJSON(elements[i]) })
}

// flattenJSON reads nested arrays of the type's dimensions into one list.
func (t *Type) flattenJSON(data []byte) ([]json.RawMessage, error) {
	level := []json.RawMessage{data}
	for depth := range t.Shape {
		var below []json.RawMessage
		for _, item := range level {
			if trimmed := bytes.TrimSpace(item); len(trimmed) == 0 || trimmed[0] != '[' {
				if !json.Valid(item) {
					return nil, malformedJSON(item)
				}
				return nil, Errorf(KindWrongType, "want %s, got %s", t.describe(), jsonName(trimmed))
			}
			var rows []json.RawMessage
			if err := json.Unmarshal(item, &rows); err != nil {
				return nil, malformedJSON(item)
			}
			if depth > 0 && len(rows) != t.Shape[depth] {
				return nil, Errorf(KindWrongType, "a row has %d elements, want %d", len(rows), t.Shape[depth])
			}
			below = append(below, rows...)
		}
		level = below
	}
	return level, nil
}

func (t *Type) parseScalarJSON(data []byte) (Value, error) {
	if !json.Valid(data) {
		return Value{}, malformedJSON(data)
	}
	switch data[0] {
	case 't', 'f':
		if t.Kind != Bool {
			return Value{}, Errorf(KindWrongType, "want %s, got a bool", t.describe())
		}
		return boolValue(data[0] == 't'), nil
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return Value{}, malformedJSON(data)
		}
		return t.parseTextJSON(text)
	case 'n', '[', '{':
		return Value{}, Errorf(KindWrongType, "want %s, got %s", t.describe(), jsonName(data))
	}
	if t.Kind == String || t.Kind == Bytes {
		return Value{}, t.wrongNumber()
	}
	if t.Kind == Enum || t.Kind == Bool {
		// A number is an index here, even if a label reads like it.
		if n, err := strconv.ParseInt(string(data), 10, 64); err == nil {
			return t.fromInt(n)
		}
		f, err := strconv.ParseFloat(string(data), 64)
		if err != nil {
			return Value{}, t.outOfRange(Quotable(string(data)))
		}
		return t.fromFloat(f)
	}
	return t.parseNumber(string(data))
}

func (t *Type) parseTextJSON(text string) (Value, error) {
	if t.Kind == Bytes {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return Value{}, Errorf(KindWrongType, "bytes must be base64: %w", err)
		}
		return Value{kind: Bytes, more: string(raw)}, nil
	}
	return t.parseScalar(text)
}

func malformedJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var any json.RawMessage
	err := decoder.Decode(&any)
	if err == nil || errors.Is(err, io.EOF) {
		return Errorf(KindMalformed, "not one JSON value: %q", Quotable(string(data)))
	}
	return Errorf(KindMalformed, "not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func jsonName(data []byte) string {
	switch {
	case len(data) == 0:
		return "nothing"
	case data[0] == '[':
		return "an array"
	case data[0] == '{':
		return "an object"
	case data[0] == 'n':
		return "null"
	case data[0] == '"':
		return "a string"
	case data[0] == 't' || data[0] == 'f':
		return "a bool"
	default:
		return "a number"
	}
}
