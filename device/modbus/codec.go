package modbus

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/polygate/gateway"
)

// A codec turns registers or bits into values of a type, and values into
// registers or bits.
type codec struct {
	typ     gateway.Type // without control limits, which only puts have to keep
	element gateway.Type // typ itself, or that of one element of an array
	raw     gateway.Type // what one element is in the unit; Bool for a coil

	registers            int // of one element; 0 for a coil
	swapBytes, swapWords bool
	bit, width           int // the part of an unsigned number; width 0 is all of it

	scaled        bool
	scale, offset float64
	divisor       float64 // 1/scale where that is whole, or 0
	states        []int64 // the unit's own numbers
}

// size is how many addresses one element has.
func (c *codec) size() int { return max(c.registers, 1) }

// failure makes the alarm of a reading without a value.
func failure(status gateway.Status, format string, args ...any) gateway.Alarm {
	return gateway.Alarm{Severity: gateway.Invalid, Status: status, Text: fmt.Sprintf(format, args...)}
}

// decode makes a value of a reply's data. first is the attribute's address,
// counted from that of the request. The zero Value comes with the alarm that
// says why.
func (c *codec) decode(data []byte, first int) (gateway.Value, gateway.Alarm) {
	switch kind := c.typ.Kind; {
	case !c.typ.IsArray():
		return c.decodeScalar(c.element0(data, first, 0))
	case kind == gateway.Bool:
		return decodeAll(c, data, first, gateway.Value.Bool)
	case kind.IsFloat():
		return decodeAll(c, data, first, gateway.Value.Float)
	case kind.IsUnsigned():
		return decodeAll(c, data, first, gateway.Value.Uint)
	}
	return decodeAll(c, data, first, gateway.Value.Int)
}

// decodeAll decodes the elements of an array, all or none.
func decodeAll[T gateway.Scalar](c *codec, data []byte, first int, get func(gateway.Value) T) (gateway.Value, gateway.Alarm) {
	elements := make([]T, c.typ.MaxElements())
	for i := range elements {
		v, alarm := c.decodeScalar(c.element0(data, first, i))
		if !v.Known() {
			alarm.Text = fmt.Sprintf("element %d: %s", i, alarm.Text)
			return v, alarm
		}
		elements[i] = get(v)
	}
	return checked(c.typ.Convert(gateway.ArrayOf(elements)))
}

// element0 reads what the unit holds for element i.
func (c *codec) element0(data []byte, first, i int) gateway.Value {
	if c.registers == 0 {
		at := first + i
		return gateway.Of(data[at/8]>>(at%8)&1 == 1)
	}
	at := 2 * (first + i*c.registers)
	return c.number(data[at : at+2*c.registers])
}

// number reads one element's registers, as they came.
func (c *codec) number(registers []byte) gateway.Value {
	var buf [8]byte
	if c.raw.Kind == gateway.String {
		text := make([]byte, len(registers))
		c.reorder(text, registers)
		s, _, _ := strings.Cut(string(text), "\x00")
		return gateway.Of(strings.TrimRight(s, " "))
	}
	b := buf[8-len(registers):]
	c.reorder(b, registers)
	bits := binary.BigEndian.Uint64(buf[:])
	if c.width > 0 {
		return gateway.Of(bits >> c.bit & (1<<c.width - 1))
	}
	switch c.raw.Kind {
	case gateway.Int16:
		return gateway.Of(int16(bits))
	case gateway.Uint16:
		return gateway.Of(uint16(bits))
	case gateway.Int32:
		return gateway.Of(int32(bits))
	case gateway.Uint32:
		return gateway.Of(uint32(bits))
	case gateway.Int64:
		return gateway.Of(int64(bits))
	case gateway.Float32:
		return gateway.Of(math.Float32frombits(uint32(bits)))
	case gateway.Float64:
		return gateway.Of(math.Float64frombits(bits))
	}
	return gateway.Of(bits)
}

// reorder copies registers from the unit's order to high byte first, or back.
func (c *codec) reorder(to, from []byte) {
	n := len(from)
	for i := 0; i < n; i += 2 {
		at := i
		if c.swapWords && c.raw.Kind != gateway.String {
			at = n - 2 - i
		}
		high, low := from[i], from[i+1]
		if c.swapBytes {
			high, low = low, high
		}
		to[at], to[at+1] = high, low
	}
}

func (c *codec) decodeScalar(raw gateway.Value) (gateway.Value, gateway.Alarm) {
	switch kind := c.element.Kind; {
	case c.scaled:
		return checked(c.element.FromFloat(c.toScale(raw.Float())))
	case kind == gateway.Enum:
		n := number(raw)
		for i, state := range c.states {
			if state == n {
				return gateway.EnumOf(i), gateway.Alarm{}
			}
		}
		return gateway.Value{}, failure(gateway.StatusState, "the device says %d, which is no state", n)
	case kind == gateway.Bool:
		if n := number(raw); n != 0 && n != 1 {
			return gateway.Value{}, failure(gateway.StatusState, "%d is neither 0 nor 1", n)
		}
		return gateway.Of(raw.Bool()), gateway.Alarm{}
	}
	return checked(c.element.Convert(raw))
}

// toScale makes the attribute's number of the unit's. A scale of 0.1 is no exact
// float64, but to divide by 10 is: 3276.7 instead of 3276.7000000000003.
func (c *codec) toScale(raw float64) float64 {
	if c.divisor != 0 {
		return raw/c.divisor + c.offset
	}
	return raw*c.scale + c.offset
}

// fromScale is the inverse of toScale.
func (c *codec) fromScale(f float64) float64 {
	if c.divisor != 0 {
		return (f - c.offset) * c.divisor
	}
	return (f - c.offset) / c.scale
}

// number is an integer or a bit as int64; 64 unsigned bits keep their pattern.
func number(raw gateway.Value) int64 {
	if raw.Bool() && raw.Kind() == gateway.Bool {
		return 1
	}
	return raw.Int()
}

func checked(v gateway.Value, err error) (gateway.Value, gateway.Alarm) {
	if err != nil {
		return gateway.Value{}, failure(gateway.StatusCalc, "%v", err)
	}
	return v, gateway.Alarm{}
}

// encode makes what the unit is to hold: bytes of registers in the unit's order,
// or coils eight to a byte. An array has all its elements.
func (c *codec) encode(v gateway.Value) ([]byte, error) {
	n := c.typ.MaxElements()
	if v.Len() != n {
		return nil, fmt.Errorf("%d elements: the device holds %d, which are written together", v.Len(), n)
	}
	if c.registers == 0 {
		packed := make([]byte, (n+7)/8)
		for i := range n {
			raw, err := c.encodeScalar(v.At(i))
			if err != nil {
				return nil, err
			}
			if raw.Bool() {
				packed[i/8] |= 1 << (i % 8)
			}
		}
		return packed, nil
	}
	out := make([]byte, 0, 2*n*c.registers)
	for i := range n {
		raw, err := c.encodeScalar(v.At(i))
		if err != nil {
			return nil, err
		}
		if out, err = c.appendRegisters(out, raw); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodeScalar makes the unit's own value.
func (c *codec) encodeScalar(v gateway.Value) (gateway.Value, error) {
	switch kind := c.element.Kind; {
	case c.scaled:
		f := c.fromScale(v.Float())
		if c.raw.Kind.IsInteger() {
			f = math.RoundToEven(f)
		}
		return c.raw.FromFloat(f)
	case kind == gateway.Enum:
		if v.Index() >= len(c.states) {
			return gateway.Value{}, fmt.Errorf("there is no state %d", v.Index())
		}
		return c.raw.FromInt(c.states[v.Index()])
	case kind == gateway.Bool && c.raw.Kind != gateway.Bool:
		return c.raw.FromInt(number(v))
	}
	return c.raw.Convert(v)
}

// appendRegisters appends the registers of one element. A part of a number is
// in its place, with zeros around it.
func (c *codec) appendRegisters(dst []byte, raw gateway.Value) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, 2*c.registers)...)
	to := dst[start:]
	if c.raw.Kind == gateway.String {
		text := make([]byte, len(to))
		if copy(text, raw.Text()) < len(raw.Text()) {
			return nil, fmt.Errorf("%d bytes do not fit into %d registers", len(raw.Text()), c.registers)
		}
		c.reorder(to, text)
		return dst, nil
	}
	bits := raw.Uint()
	switch raw.Kind() {
	case gateway.Float32:
		bits = uint64(math.Float32bits(float32(raw.Float())))
	case gateway.Float64:
		bits = math.Float64bits(raw.Float())
	}
	if c.width > 0 {
		if bits>>c.width != 0 {
			return nil, fmt.Errorf("%d does not fit into %d bits", bits, c.width)
		}
		bits <<= c.bit
	}
	var buf [8]byte
	binary.BigEndian.PutUint64(buf[:], bits)
	c.reorder(to, buf[8-len(to):])
	return dst, nil
}

// mask is the part of the registers that belongs to the attribute, in the
// unit's order.
func (c *codec) mask() []byte {
	var buf [8]byte
	binary.BigEndian.PutUint64(buf[:], (1<<c.width-1)<<c.bit)
	out := make([]byte, 2*c.registers)
	c.reorder(out, buf[8-len(out):])
	return out
}
