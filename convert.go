package gateway

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file is the one place where a value from outside becomes a value of a
// type: from text, from numbers of any width, from another value. JSON is in
// json.go and ends here. The rules are the same for every protocol:
//
//   - integers take integral numbers within their width; fractions, NaN and
//     infinities are out of range or of the wrong type, never rounded or wrapped;
//   - floats take NaN and infinities unless control limits are set;
//   - enums take a label, or an index as a number or as text;
//   - text is valid UTF-8 within the type's capacity.

// Check reports why v cannot be put to the type: wrong kind or shape
// (KindWrongType), beyond width, length or control limits (KindOutOfRange,
// KindTooLarge), no such state (KindNotALabel). It returns nil if v is fine.
func (t *Type) Check(v Value) error {
	if v.Kind() != t.Kind {
		return Errorf(KindWrongType, "want %s, got %s", t.describe(), v.Kind())
	}
	if v.IsArray() != t.IsArray() {
		return Errorf(KindWrongType, "want %s, got %s", t.describe(), scalarOrArray(v))
	}
	if t.IsArray() {
		if err := t.checkShape(v.Len()); err != nil {
			return err
		}
	}
	return t.checkElements(v)
}

func (t *Type) checkElements(v Value) error {
	limited := t.Control.Low.Set || t.Control.High.Set
	if !limited && t.Kind != String && t.Kind != Bytes && t.Kind != Enum {
		return nil
	}
	for i := range v.Len() {
		if err := t.checkScalar(v.At(i), limited); err != nil {
			if t.IsArray() {
				return Errorf(KindOf(err), "element %d: %w", i, err)
			}
			return err
		}
	}
	return nil
}

func (t *Type) checkScalar(v Value, limited bool) error {
	switch t.Kind {
	case String:
		if !utf8.ValidString(v.Text()) {
			return Errorf(KindWrongType, "text is not valid UTF-8")
		}
		fallthrough
	case Bytes:
		if len(v.Text()) > t.Capacity() {
			return Errorf(KindTooLarge, "%d bytes are more than the %d that fit", len(v.Text()), t.Capacity())
		}
	case Enum:
		if _, ok := t.Label(v.Index()); !ok {
			return Errorf(KindNotALabel, "no state %d: %s", v.Index(), t.statesHint())
		}
	default:
		if limited {
			return t.checkLimits(v)
		}
	}
	return nil
}

func (t *Type) checkLimits(v Value) error {
	low, high := t.Control.Low, t.Control.High
	f := v.Float()
	if math.IsNaN(f) || low.Set && f < low.Value || high.Set && f > high.Value {
		return Errorf(KindOutOfRange, "%s is outside %s", v.number(), t.limitsHint())
	}
	return nil
}

func (t *Type) limitsHint() string {
	low, high := t.Control.Low, t.Control.High
	text := func(l Limit) string { return strconv.FormatFloat(l.Value, 'g', -1, 64) }
	var hint string
	switch {
	case low.Set && high.Set:
		hint = text(low) + " ... " + text(high)
	case low.Set:
		hint = "the lower limit " + text(low)
	case high.Set:
		hint = "the upper limit " + text(high)
	default:
		hint = "the range of " + t.Kind.String()
	}
	if t.Units != "" {
		hint += " " + t.Units
	}
	return hint
}

func (t *Type) statesHint() string {
	labels := make([]string, 0, len(t.States))
	for _, s := range t.States {
		if len(labels) == 16 {
			labels = append(labels, "...")
			break
		}
		labels = append(labels, s.Label)
	}
	return "states are " + strings.Join(labels, ", ")
}

func (t *Type) describe() string {
	if !t.IsArray() {
		return t.Kind.String()
	}
	return fmt.Sprintf("%s array of up to %d", t.Kind, t.MaxElements())
}

func scalarOrArray(v Value) string {
	if v.IsArray() {
		return fmt.Sprintf("an array of %d", v.Len())
	}
	return "a single value"
}

// checkShape accepts up to the largest number of elements, in whole rows.
func (t *Type) checkShape(n int) error {
	if n > t.MaxElements() {
		return Errorf(KindTooLarge, "%d elements are more than the %d that fit", n, t.MaxElements())
	}
	row := t.MaxElements() / max(t.Shape[0], 1)
	if row > 1 && n%row != 0 {
		return Errorf(KindWrongType, "%d elements are not whole rows of %d", n, row)
	}
	return nil
}

// Parse makes a value of the type from text, as a person or a text protocol
// writes it. Arrays are written as JSON arrays. It also applies Check.
func (t *Type) Parse(text string) (Value, error) {
	if t.IsArray() {
		return t.ParseJSON([]byte(text))
	}
	v, err := t.parseScalar(text)
	if err != nil {
		return Value{}, err
	}
	return v, t.Check(v)
}

func (t *Type) parseScalar(text string) (Value, error) {
	switch t.Kind {
	case Bool:
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true", "1":
			return boolValue(true), nil
		case "false", "0":
			return boolValue(false), nil
		}
		return Value{}, Errorf(KindWrongType, "%q is not true or false", Quotable(text))
	case String:
		return Of(text), nil
	case Bytes:
		return Value{kind: Bytes, more: text}, nil
	case Enum:
		return t.parseState(text)
	}
	return t.parseNumber(strings.TrimSpace(text))
}

// parseState takes a label first, so that a state labelled "1" wins over the index 1.
func (t *Type) parseState(text string) (Value, error) {
	for i, s := range t.States {
		if s.Label == text {
			return EnumOf(i), nil
		}
	}
	trimmed := strings.TrimSpace(text)
	if index, err := strconv.ParseUint(trimmed, 10, 16); err == nil && int(index) < len(t.States) {
		return EnumOf(int(index)), nil
	}
	for i, s := range t.States {
		if s.Label == trimmed {
			return EnumOf(i), nil
		}
	}
	return Value{}, Errorf(KindNotALabel, "no state %q: %s", Quotable(text), t.statesHint())
}

// parseNumber takes decimal numbers, hexadecimal integers with 0x, and for
// floats NaN, Inf and Infinity with a sign, in any case.
func (t *Type) parseNumber(text string) (Value, error) {
	if strings.ContainsAny(text, "_pP") {
		return Value{}, Errorf(KindWrongType, "%q is not a number", Quotable(text))
	}
	digits, negative := strings.CutPrefix(text, "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return Value{}, t.numberError(text, err)
		}
		return t.fromMagnitude(n, negative)
	}
	if !t.Kind.IsFloat() {
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			return t.fromMagnitude(n, negative)
		} else if isRange(err) {
			return Value{}, t.numberError(text, err)
		}
	}
	// At float32's own width, so that the text is rounded once.
	f, err := strconv.ParseFloat(text, t.floatBits())
	if err != nil {
		return Value{}, t.numberError(text, err)
	}
	return t.fromFloat(f)
}

// floatBits is the width at which text is rounded; other kinds need all digits.
func (t *Type) floatBits() int {
	if t.Kind == Float32 {
		return 32
	}
	return 64
}

func (t *Type) numberError(text string, err error) error {
	if isRange(err) {
		return t.outOfRange(Quotable(text))
	}
	return Errorf(KindWrongType, "%q is not a number", Quotable(text))
}

func isRange(err error) bool {
	return errors.Is(err, strconv.ErrRange)
}

func (t *Type) outOfRange(text string) error {
	return Errorf(KindOutOfRange, "%s does not fit %s", text, t.Kind)
}

func (t *Type) fromMagnitude(n uint64, negative bool) (Value, error) {
	switch {
	case !negative:
		return t.fromUint(n)
	case n <= 1<<63:
		return t.fromInt(-int64(n))
	case t.Kind.IsFloat():
		return t.fromFloat(-float64(n))
	default:
		return Value{}, t.outOfRange("-" + strconv.FormatUint(n, 10))
	}
}

func (t *Type) fromUint(n uint64) (Value, error) {
	if n <= math.MaxInt64 {
		return t.fromInt(int64(n))
	}
	switch {
	case t.Kind == Uint64:
		return Of(n), nil
	case t.Kind.IsFloat():
		return t.fromFloat(float64(n))
	case t.Kind == Enum:
		return Value{}, Errorf(KindNotALabel, "no state %d: %s", n, t.statesHint())
	case t.Kind.IsInteger():
		return Value{}, t.outOfRange(strconv.FormatUint(n, 10))
	}
	return Value{}, t.wrongNumber()
}

func (t *Type) fromInt(n int64) (Value, error) {
	switch {
	case t.Kind == Bool:
		if n == 0 || n == 1 {
			return boolValue(n == 1), nil
		}
		return Value{}, Errorf(KindOutOfRange, "%d is not 0 or 1", n)
	case t.Kind == Enum:
		if _, ok := t.Label(int(n)); !ok || n > math.MaxInt32 {
			return Value{}, Errorf(KindNotALabel, "no state %d: %s", n, t.statesHint())
		}
		return EnumOf(int(n)), nil
	case t.Kind.IsSigned():
		shift := 64 - t.Kind.Bits()
		if n<<shift>>shift != n {
			return Value{}, t.outOfRange(strconv.FormatInt(n, 10))
		}
		return Value{kind: t.Kind, bits: uint64(n)}, nil
	case t.Kind.IsUnsigned():
		if n < 0 || uint64(n)>>(t.Kind.Bits()-1)>>1 != 0 {
			return Value{}, t.outOfRange(strconv.FormatInt(n, 10))
		}
		return Value{kind: t.Kind, bits: uint64(n)}, nil
	case t.Kind.IsFloat():
		return t.fromFloat(float64(n))
	}
	return Value{}, t.wrongNumber()
}

func (t *Type) fromFloat(f float64) (Value, error) {
	switch {
	case t.Kind == Float64:
		return Of(f), nil
	case t.Kind == Float32:
		narrow := float32(f)
		if math.IsInf(float64(narrow), 0) && !math.IsInf(f, 0) {
			return Value{}, t.outOfRange(formatFloat(f, 64))
		}
		return Of(narrow), nil
	case t.Kind == Bool || t.Kind == Enum || t.Kind.IsInteger():
		switch {
		case math.IsNaN(f) || math.IsInf(f, 0):
			return Value{}, t.outOfRange(formatFloat(f, 64))
		case f != math.Trunc(f):
			return Value{}, Errorf(KindWrongType, "%s is not a whole number", formatFloat(f, 64))
		case f >= -1<<63 && f < 1<<63:
			return t.fromInt(int64(f))
		case f >= 0 && f < 1<<64:
			return t.fromUint(uint64(f))
		}
		return Value{}, t.outOfRange(formatFloat(f, 64))
	}
	return Value{}, t.wrongNumber()
}

func (t *Type) wrongNumber() error {
	return Errorf(KindWrongType, "want %s, got a number", t.describe())
}

// FromInt makes a value of a scalar type from an integer and applies Check.
func (t *Type) FromInt(n int64) (Value, error) { return t.checked(t.fromInt(n)) }

// FromUint makes a value of a scalar type from an unsigned integer and applies Check.
func (t *Type) FromUint(n uint64) (Value, error) { return t.checked(t.fromUint(n)) }

// FromFloat makes a value of a scalar type from a float and applies Check.
func (t *Type) FromFloat(f float64) (Value, error) { return t.checked(t.fromFloat(f)) }

func (t *Type) checked(v Value, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	if err := t.Check(v); err != nil {
		return Value{}, err
	}
	return v, nil
}

// Convert makes a value of the type from any other value: numbers between
// widths, text to anything that Parse takes, element by element for arrays. A
// scalar becomes an array of one; an array of one becomes a scalar. It also
// applies Check.
func (t *Type) Convert(v Value) (Value, error) {
	if v.Kind() == t.Kind && v.IsArray() == t.IsArray() {
		return t.checked(v, nil)
	}
	if !t.IsArray() {
		if v.Len() != 1 {
			return Value{}, Errorf(KindWrongType, "want %s, got %s", t.describe(), scalarOrArray(v))
		}
		return t.checked(t.convertScalar(v.At(0)))
	}
	return t.buildArray(v.Len(), func(i int) (Value, error) { return t.convertScalar(v.At(i)) })
}

func (t *Type) convertScalar(v Value) (Value, error) {
	switch {
	case v.Kind() == t.Kind:
		return v, nil
	case v.Kind() == String || v.Kind() == Bytes:
		return t.parseScalar(v.Text())
	case v.Kind().IsSigned() || v.Kind() == Bool || v.Kind() == Enum:
		return t.fromInt(v.Int())
	case v.Kind().IsUnsigned():
		return t.fromUint(v.Uint())
	case v.Kind().IsFloat():
		return t.fromFloat(v.Float())
	}
	return Value{}, Errorf(KindWrongType, "want %s, got nothing", t.describe())
}

// buildArray checks the number of elements before it allocates.
func (t *Type) buildArray(n int, element func(i int) (Value, error)) (Value, error) {
	if err := t.checkShape(n); err != nil {
		return Value{}, err
	}
	v, err := arrayOfKind(t.Kind, n, element)
	if err != nil {
		return Value{}, err
	}
	return t.checked(v, t.checkElements(v))
}

func arrayOfKind(kind Kind, n int, element func(i int) (Value, error)) (Value, error) {
	switch kind {
	case Bool:
		return fill(n, element, Value.Bool)
	case Int8:
		return fill(n, element, func(v Value) int8 { return int8(v.bits) })
	case Int16:
		return fill(n, element, func(v Value) int16 { return int16(v.bits) })
	case Int32:
		return fill(n, element, func(v Value) int32 { return int32(v.bits) })
	case Int64:
		return fill(n, element, func(v Value) int64 { return int64(v.bits) })
	case Uint8:
		return fill(n, element, func(v Value) uint8 { return uint8(v.bits) })
	case Uint16:
		return fill(n, element, func(v Value) uint16 { return uint16(v.bits) })
	case Uint32:
		return fill(n, element, func(v Value) uint32 { return uint32(v.bits) })
	case Uint64:
		return fill(n, element, func(v Value) uint64 { return v.bits })
	case Float32:
		return fill(n, element, func(v Value) float32 { return float32(v.Float()) })
	case Float64:
		return fill(n, element, Value.Float)
	case String:
		return fill(n, element, Value.Text)
	}
	return Value{}, Errorf(KindWrongType, "%s cannot be the element of an array", kind)
}

func fill[T Scalar](n int, element func(i int) (Value, error), get func(Value) T) (Value, error) {
	out := make([]T, n)
	for i := range out {
		v, err := element(i)
		if err != nil {
			return Value{}, Errorf(KindOf(err), "element %d: %w", i, err)
		}
		out[i] = get(v)
	}
	return ArrayOf(out), nil
}

// number writes a numeric scalar exactly, for messages and JSON.
func (v Value) number() string { return string(v.appendNumber(nil)) }

func (v Value) appendNumber(dst []byte) []byte {
	switch {
	case v.kind.IsFloat():
		return append(dst, formatFloat(v.Float(), v.kind.Bits())...)
	case v.kind.IsUnsigned():
		return strconv.AppendUint(dst, v.bits, 10)
	default:
		return strconv.AppendInt(dst, int64(v.bits), 10)
	}
}

func formatFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// Text writes a scalar as text that Parse reads back: labels for enums, exact
// digits for numbers. Arrays are written as JSON.
func (t *Type) Text(v Value) string {
	switch {
	case !v.Known():
		return ""
	case v.IsArray():
		return string(t.AppendJSON(nil, v, JSONOptions{}))
	case v.Kind() == String || v.Kind() == Bytes:
		return v.Text()
	case v.Kind() == Bool:
		return strconv.FormatBool(v.Bool())
	case v.Kind() == Enum:
		if label, ok := t.Label(v.Index()); ok {
			return label
		}
		return strconv.Itoa(v.Index())
	}
	return v.number()
}
