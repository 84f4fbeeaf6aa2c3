package model

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/polygate/gateway"
)

// Value is a value on its way out, with the type that it is of, or one on its
// way in, of which only the attribute's type can tell what it means.
type Value struct {
	typ   *gateway.Type
	value gateway.Value
	input []byte // JSON
}

// NewValue returns a value to show, or nil if nothing is known.
func NewValue(t *gateway.Type, v gateway.Value) *Value {
	if !v.Known() {
		return nil
	}
	return &Value{typ: t, value: v}
}

// Parse returns what came in as a value of a type.
func (v Value) Parse(t *gateway.Type) (gateway.Value, error) { return t.ParseJSON(v.input) }

// MarshalGQL writes the value as JSON.
func (v Value) MarshalGQL(w io.Writer) {
	if v.typ == nil {
		_, _ = w.Write(null)
		return
	}
	_, _ = w.Write(v.typ.AppendJSON(nil, v.value, gateway.JSONOptions{}))
}

// UnmarshalGQL takes any JSON value, or what stands in its place in a query.
func (v *Value) UnmarshalGQL(in any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return gateway.Errorf(gateway.KindMalformed, "not a value: %w", err)
	}
	v.input = data
	return nil
}

var null = []byte("null")

// BigInt is a whole number with all its digits.
type BigInt string

// MarshalGQL writes it as a string.
func (n BigInt) MarshalGQL(w io.Writer) { writeQuoted(w, string(n)) }

// UnmarshalGQL is here because the schema's compiler asks for it: no argument is a BigInt.
func (n *BigInt) UnmarshalGQL(in any) error {
	text, ok := in.(string)
	if !ok {
		return gateway.Errorf(gateway.KindMalformed, "a BigInt is a string of digits")
	}
	*n = BigInt(text)
	return nil
}

func bigUint(n uint64) BigInt { return BigInt(strconv.FormatUint(n, 10)) }

// Time is a time as text.
type Time time.Time

// timeOf returns nil for no time.
func timeOf(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return (*Time)(&t)
}

// TimeFormat has all nine digits, so that times sort as text.
const TimeFormat = "2006-01-02T15:04:05.000000000Z"

// MarshalGQL writes it in UTC.
func (t Time) MarshalGQL(w io.Writer) {
	_, _ = w.Write(time.Time(t).UTC().AppendFormat(nil, `"`+TimeFormat+`"`))
}

// UnmarshalGQL is here because the schema's compiler asks for it: no argument is a Time.
func (t *Time) UnmarshalGQL(in any) error {
	text, ok := in.(string)
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if !ok || err != nil {
		return gateway.Errorf(gateway.KindMalformed, "a Time is a string as RFC 3339 has it")
	}
	*t = Time(parsed)
	return nil
}

// JSON is a piece of ready-made JSON, which is written when its turn has come:
// straight into the answer, so that much of it needs no copy.
type JSON struct{ write func(dst []byte) []byte }

// MarshalGQL writes it.
func (j JSON) MarshalGQL(w io.Writer) {
	if buffer, ok := w.(*bytes.Buffer); ok {
		_, _ = buffer.Write(j.write(buffer.AvailableBuffer()))
		return
	}
	_, _ = w.Write(j.write(nil))
}

// UnmarshalGQL is here because the schema's compiler asks for it: no argument is JSON.
func (*JSON) UnmarshalGQL(any) error {
	return gateway.Errorf(gateway.KindMalformed, "JSON is not taken here")
}

func writeQuoted(w io.Writer, s string) {
	_, _ = w.Write(gateway.AppendJSONString(make([]byte, 0, len(s)+2), s))
}

// finite returns nil for what GraphQL's Float cannot be.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
