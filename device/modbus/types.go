package modbus

import (
	"math"
	"strconv"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
)

// typeNames are the types that registers can have.
var typeNames = []string{"int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string"}

// codec compiles how values of a type look in the unit.
func (k *compiler) codec(a *Attribute, t *gateway.Type, in table, at describe.Place) codec {
	c := codec{typ: *t, scale: a.Scale.Or(1), offset: a.Offset.Or(0), scaled: a.Scale.Set || a.Offset.Set}
	c.typ.Control = gateway.Range{}
	c.element = c.typ
	c.element.Shape = nil
	if in.bits() {
		k.bits(a, &c, at)
	} else {
		k.registers(a, &c, at)
	}
	if c.scaled && (!t.Kind.IsNumber() || in.bits()) {
		at.In("scale").Errorf("only a number in registers has scale and offset")
	}
	if c.scale == 0 || math.IsNaN(c.scale) || math.IsInf(c.scale, 0) || math.IsNaN(c.offset) || math.IsInf(c.offset, 0) {
		at.In("scale").Errorf("scale %v and offset %v make no number", c.scale, c.offset)
	}
	if inverse := 1 / c.scale; c.scaled && inverse == math.Trunc(inverse) {
		c.divisor = inverse
	}
	k.states(&c, at)
	return c
}

// bits compiles an attribute in a table of single bits.
func (k *compiler) bits(a *Attribute, c *codec, at describe.Place) {
	c.raw = gateway.Type{Kind: gateway.Bool}
	if c.typ.Kind != gateway.Bool && c.typ.Kind != gateway.Enum {
		at.In("kind").Errorf("a bit is a bool or an enum, not %s", c.typ.Kind)
	}
	for _, s := range []struct {
		key string
		set bool
	}{
		{"type", a.Type != ""},
		{"bit", a.Bit != nil},
		{"width", a.Width != 0},
		{"byte_order", a.ByteOrder != ""},
		{"word_order", a.WordOrder != ""},
	} {
		if s.set {
			at.In(s.key).Errorf("this is for registers, and the table %s holds single bits", a.Table)
		}
	}
}

// registers compiles an attribute in a table of registers.
func (k *compiler) registers(a *Attribute, c *codec, at describe.Place) {
	c.raw = gateway.Type{Kind: k.rawKind(a, c, at)}
	c.swapBytes = k.order(a.ByteOrder, k.config.ByteOrder, "byte_order", at)
	c.swapWords = k.order(a.WordOrder, k.config.WordOrder, "word_order", at)
	switch raw := c.raw.Kind; {
	case raw == gateway.String:
		if a.MaxLength <= 0 {
			at.In("max_length").Errorf("a text needs max_length: its bytes in the device, two to a register")
		}
		c.registers = (a.MaxLength + 1) / 2
		c.raw.MaxLength = 2 * c.registers
		if c.typ.IsArray() {
			at.In("shape").Errorf("texts cannot be the elements of an array here")
		}
	case raw != gateway.NoKind:
		c.registers = raw.Bits() / 16
	}
	if (c.typ.Kind == gateway.String) != (c.raw.Kind == gateway.String) && c.raw.Kind != gateway.NoKind {
		at.In("type").Errorf("the type is %s and the kind %s: both are string, or none", c.raw.Kind, c.typ.Kind)
	}
	if c.typ.Kind == gateway.Bytes {
		at.In("kind").Errorf("bytes are not offered here: take an array of uint16")
	}
	if (c.typ.Kind == gateway.Bool || c.typ.Kind == gateway.Enum) && c.raw.Kind.IsFloat() {
		at.In("type").Errorf("%s needs an integer type", c.typ.Kind)
	}
	k.part(a, c, at)
}

// rawKind is the type in the registers: what the file says, or what follows
// from the kind.
func (k *compiler) rawKind(a *Attribute, c *codec, at describe.Place) gateway.Kind {
	if a.Type != "" {
		for _, name := range typeNames {
			if name == a.Type {
				kind, _ := gateway.ParseKind(name)
				return kind
			}
		}
		at.In("type").Errorf("there is no type %q%s", a.Type, describe.DidYouMean(a.Type, typeNames))
		return gateway.NoKind
	}
	switch kind := c.typ.Kind; {
	case kind == gateway.Bool || kind == gateway.Enum || kind == gateway.Bytes:
		return gateway.Uint16
	case kind == gateway.String:
		return kind
	case a.Bit != nil && kind.IsNumber():
		return gateway.Uint16
	case kind.IsInteger() && kind.Bits() >= 16 && !c.scaled, kind == gateway.Float32 && !c.scaled:
		return kind
	}
	at.Errorf("type is missing: what the registers hold, such as int16 or float32")
	return gateway.NoKind
}

// part compiles bit and width.
func (k *compiler) part(a *Attribute, c *codec, at describe.Place) {
	if a.Bit == nil {
		if a.Width != 0 {
			at.In("width").Errorf("a width needs bit: the lowest bit of the part")
		}
		return
	}
	c.bit, c.width = *a.Bit, orDefault(a.Width, 1)
	here := at.In("bit")
	switch bits := c.raw.Kind.Bits(); {
	case c.raw.Kind == gateway.NoKind:
	case !c.raw.Kind.IsUnsigned():
		here.Errorf("a part of a number needs an unsigned type, this is %s", c.raw.Kind)
	case c.bit < 0 || c.width < 1 || c.bit+c.width > bits || c.width == 64:
		here.Errorf("%d bits from %d on: %s has bits 0 to %d", c.width, c.bit, c.raw.Kind, bits-1)
	case c.typ.IsArray():
		here.Errorf("a part of a number cannot be the element of an array")
	case c.typ.Kind.IsFloat() && !c.scaled:
		here.Errorf("a part of a number is an integer")
	}
}

// order reports whether something stands low part first. The device's own
// setting has been looked at.
func (k *compiler) order(own, devices, key string, at describe.Place) bool {
	switch own {
	case "":
		return devices == "little"
	case "big":
		return false
	case "little":
		return true
	}
	at.In(key).Errorf("%q is neither big nor little", own)
	return false
}

// states finds the unit's own numbers of an enum's states.
func (k *compiler) states(c *codec, at describe.Place) {
	if c.typ.Kind != gateway.Enum {
		return
	}
	holds := c.raw
	if c.width > 0 {
		holds = gateway.Type{Kind: gateway.Uint64, Control: gateway.Range{High: gateway.At(float64(uint64(1)<<c.width - 1))}}
	}
	for i, s := range c.typ.States {
		n := int64(i)
		here := at.In("states", strconv.Itoa(i))
		if s.Raw != "" {
			var err error
			if n, err = strconv.ParseInt(s.Raw, 0, 64); err != nil {
				here.In("raw").Errorf("%q is no whole number", s.Raw)
			}
		}
		if holds.Kind.IsInteger() || holds.Kind == gateway.Bool {
			if _, err := holds.FromInt(n); err != nil {
				here.Errorf("the device cannot hold it: %v", err)
			}
		}
		c.states = append(c.states, n)
	}
}
