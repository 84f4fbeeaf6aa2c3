package serial

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/stream"
)

// A codec turns what the instrument says into values of a type, and values
// into what the instrument understands.
type codec struct {
	typ     gateway.Type // without control limits, which only puts have to keep
	element gateway.Type // typ itself, or that of one element of an array
	// signBits is how many bits a number has whose topmost is its sign; 0 where
	// the kind tells.
	signBits int
	scaled   bool
	scale    float64
	offset   float64
	special  []special
	states   []rawState
}

// A rawState is the instrument's own name of an enum's state.
type rawState struct {
	text      string // bytes, for text converters
	number    int64
	hasNumber bool
}

// A special is a reply that stands for no ordinary value. The zero value is
// none: the reading has failed.
type special struct {
	text         string
	above, below gateway.Limit
	value        gateway.Value
	alarm        gateway.Alarm
}

// failure makes the alarm of a reading without a value.
func failure(status gateway.Status, format string, args ...any) gateway.Alarm {
	return gateway.Alarm{Severity: gateway.Invalid, Status: status, Text: fmt.Sprintf(format, args...)}
}

// decode makes a value of what a converter read: one element for a scalar, any
// number for an array. The zero Value comes with the alarm that says why.
func (c *codec) decode(field *stream.Field, read []stream.Value) (gateway.Value, gateway.Alarm) {
	if !c.typ.IsArray() {
		return c.decodeScalar(field, read[0])
	}
	var list gateway.Value
	var alarm gateway.Alarm
	switch {
	case c.typ.Kind == gateway.String:
		list, alarm = decodeAll(c, field, read, gateway.Value.Text)
	case c.typ.Kind.IsFloat():
		list, alarm = decodeAll(c, field, read, gateway.Value.Float)
	case c.typ.Kind.IsUnsigned():
		list, alarm = decodeAll(c, field, read, gateway.Value.Uint)
	case c.typ.Kind == gateway.Bool:
		list, alarm = decodeAll(c, field, read, gateway.Value.Bool)
	default:
		list, alarm = decodeAll(c, field, read, gateway.Value.Int)
	}
	if !list.Known() {
		return list, alarm
	}
	value, err := c.typ.Convert(list)
	if err != nil {
		return gateway.Value{}, failure(gateway.StatusCalc, "%v", err)
	}
	return value, alarm
}

// decodeAll decodes elements, all or none. The alarm is the worst of theirs.
func decodeAll[T gateway.Scalar](c *codec, field *stream.Field, read []stream.Value, get func(gateway.Value) T) (gateway.Value, gateway.Alarm) {
	elements := make([]T, len(read))
	worst := gateway.Alarm{}
	for i, r := range read {
		v, alarm := c.decodeScalar(field, r)
		if !v.Known() {
			alarm.Text = fmt.Sprintf("element %d: %s", i, alarm.Text)
			return v, alarm
		}
		worst = worst.Worse(alarm)
		elements[i] = get(v)
	}
	return gateway.ArrayOf(elements), worst
}

func (c *codec) decodeScalar(field *stream.Field, read stream.Value) (gateway.Value, gateway.Alarm) {
	if read.Kind() == stream.KindText {
		return c.decodeText(read.Text())
	}
	if c.signBits > 0 && isBitPattern(field.Verb) {
		read = read.SignExtend(c.signBits)
	}
	if f, ok := read.Float64(); ok {
		for i := range c.special {
			s := &c.special[i]
			if s.above.Set && f > s.above.Value || s.below.Set && f < s.below.Value {
				return s.value, s.alarm
			}
		}
		if c.scaled {
			return c.checked(c.element.FromFloat(c.fromDevice(f)))
		}
	}
	switch {
	case c.element.Kind == gateway.Enum:
		return c.decodeState(read)
	case c.element.Kind == gateway.Bool:
		n, ok := read.Int64()
		if !ok || n != 0 && n != 1 {
			return gateway.Value{}, failure(gateway.StatusState, "%s is neither 0 nor 1", read)
		}
		return gateway.Of(n == 1), gateway.Alarm{}
	case read.Kind() == stream.KindFloat:
		f, _ := read.Float64()
		return c.checked(c.element.FromFloat(f))
	}
	if c.element.Kind.IsSigned() && isBitPattern(field.Verb) {
		read = read.SignExtend(c.element.Kind.Bits())
	}
	if n, ok := read.Int64(); ok {
		return c.checked(c.element.FromInt(n))
	}
	n, _ := read.Uint64()
	return c.checked(c.element.FromUint(n))
}

// fromDevice applies scale and offset. A scale of 0.1 divides by 10: 3 times
// 0.1 would be 0.30000000000000004.
func (c *codec) fromDevice(f float64) float64 {
	if by := math.Round(1 / c.scale); by != 0 && 1/by == c.scale {
		return f/by + c.offset
	}
	return f*c.scale + c.offset
}

// toDevice is the inverse of fromDevice.
func (c *codec) toDevice(f float64) float64 { return (f - c.offset) / c.scale }

// isBitPattern tells converters that read bits, which a signed type takes as
// two's complement, from those that read decimal numbers.
func isBitPattern(verb byte) bool { return verb != 'd' && verb != 'i' && verb != 'u' }

func (c *codec) checked(v gateway.Value, err error) (gateway.Value, gateway.Alarm) {
	if err != nil {
		return gateway.Value{}, failure(gateway.StatusCalc, "%v", err)
	}
	return v, gateway.Alarm{}
}

func (c *codec) decodeState(read stream.Value) (gateway.Value, gateway.Alarm) {
	n, ok := read.Int64()
	for i, s := range c.states {
		if ok && s.hasNumber && s.number == n {
			return gateway.EnumOf(i), gateway.Alarm{}
		}
	}
	return gateway.Value{}, failure(gateway.StatusState, "the device says %s, which is no state", read)
}

func (c *codec) decodeText(text string) (gateway.Value, gateway.Alarm) {
	switch c.element.Kind {
	case gateway.Enum:
		for i, s := range c.states {
			if s.text == text {
				return gateway.EnumOf(i), gateway.Alarm{}
			}
		}
		return gateway.Value{}, failure(gateway.StatusCalc, "the device says %q, which is no state", gateway.Quotable(toUTF8(text)))
	case gateway.Bytes:
		v := gateway.BytesOf([]byte(text))
		return c.checked(v, c.element.Check(v))
	}
	v := gateway.Of(toUTF8(text))
	return c.checked(v, c.element.Check(v))
}

// toUTF8 returns text with every byte that is not part of valid UTF-8 taken as Latin-1.
func toUTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			r = rune(text[i])
		}
		b.WriteRune(r)
		i += size
	}
	return b.String()
}

// matchSpecial returns what a whole reply stands for, if it is a special text.
func (c *codec) matchSpecial(reply []byte) (*special, bool) {
	for i := range c.special {
		if s := &c.special[i]; s.text != "" && strings.TrimSpace(string(reply)) == s.text {
			return s, true
		}
	}
	return nil, false
}

// encode appends what a converter is to write for v.
func (c *codec) encode(dst []stream.Value, field *stream.Field, v gateway.Value) ([]stream.Value, error) {
	for i := range v.Len() {
		x, err := c.encodeScalar(field, v.At(i))
		if err != nil {
			return dst, err
		}
		dst = append(dst, x)
	}
	return dst, nil
}

func (c *codec) encodeScalar(field *stream.Field, v gateway.Value) (stream.Value, error) {
	switch kind := c.typ.Kind; {
	case kind == gateway.String || kind == gateway.Bytes:
		return stream.Text(v.Text()), nil
	case kind == gateway.Enum:
		if v.Index() >= len(c.states) {
			return stream.Value{}, fmt.Errorf("there is no state %d", v.Index())
		}
		s := &c.states[v.Index()]
		if field.Kind == stream.KindText {
			return stream.Text(s.text), nil
		}
		return stream.Enum(s.number), nil
	case c.scaled:
		f := c.toDevice(v.Float())
		if field.Kind == stream.KindFloat {
			return stream.Float(f), nil
		}
		if f = math.RoundToEven(f); math.Abs(f) >= 1<<63 || math.IsNaN(f) {
			return stream.Value{}, fmt.Errorf("%v does not fit an integer", f)
		}
		return stream.IntN(int64(f), 64), nil
	case field.Kind == stream.KindFloat:
		return stream.Float(v.Float()), nil
	case kind.IsSigned():
		return stream.IntN(v.Int(), kind.Bits()), nil
	}
	return stream.Uint(v.Uint()), nil
}

// check reports why a converter does not go with the type, or nil.
func (c *codec) check(field *stream.Field, d stream.Direction) error {
	kind, bad := c.typ.Kind, false
	switch {
	case kind == gateway.NoKind:
		return nil // Reported already.
	case kind == gateway.String || kind == gateway.Bytes:
		bad = field.Kind != stream.KindText
	case kind == gateway.Enum:
		if field.Kind == stream.KindFloat {
			bad = true
		} else if field.Kind != stream.KindText {
			return c.checkNumbers(field)
		}
	case kind == gateway.Bool:
		bad = field.Kind == stream.KindText || field.Kind == stream.KindFloat
	case kind.IsFloat() && d == stream.Out && !c.scaled:
		bad = field.Kind != stream.KindFloat
	default:
		bad = field.Kind == stream.KindText
	}
	if !bad {
		return nil
	}
	does := map[stream.Direction]string{stream.In: "reads", stream.Out: "writes"}[d]
	return fmt.Errorf("%%%c %s %s, and this is %s: try %s", field.Verb, does, kindWords[field.Kind], kind, suggestion(kind))
}

// checkNumbers reports a state whose raw value is no number where one is needed.
func (c *codec) checkNumbers(field *stream.Field) error {
	for i, s := range c.states {
		if !s.hasNumber {
			return fmt.Errorf("%%%c needs numbers, and the raw value %q of state %d is none: try %%[...] or %%s", field.Verb, s.text, i)
		}
	}
	return nil
}

var kindWords = map[stream.Kind]string{
	stream.KindInt: "an integer", stream.KindUint: "an unsigned integer", stream.KindFloat: "a number with a fraction",
	stream.KindText: "text", stream.KindEnum: "one of several texts",
}

func suggestion(kind gateway.Kind) string {
	switch {
	case kind == gateway.String || kind == gateway.Bytes:
		return "%s or %c"
	case kind == gateway.Enum:
		return "%d, %s or %{...|...}"
	case kind.IsFloat():
		return "%f"
	}
	return "%d"
}

// rawStates finds the instrument's names of the states: what the file calls
// raw, and otherwise the index as number and the label as text.
func rawStates(states []gateway.State, unescape func(i int, raw string) string) []rawState {
	raws := make([]rawState, len(states))
	for i, s := range states {
		if s.Raw == "" {
			raws[i] = rawState{text: s.Label, number: int64(i), hasNumber: true}
			continue
		}
		raws[i].text = unescape(i, s.Raw)
		n, err := strconv.ParseInt(s.Raw, 0, 64)
		raws[i].number, raws[i].hasNumber = n, err == nil
	}
	return raws
}
