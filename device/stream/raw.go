package stream

import (
	"encoding/binary"
	"fmt"
	"math"
)

// rawConv is %r: the bytes of an integer.
type rawConv struct {
	spec spec
	size int // bytes of input
	want string
}

func buildRaw(_ *parser, it *item) error {
	if it.spec.prec == 0 {
		return fail(it.spec.offset, "the precision of %%r is the number of bytes of the value and at least 1")
	}
	size := max(it.spec.width, 1)
	it.op = opValue
	it.conv = &rawConv{spec: it.spec, size: size, want: fmt.Sprintf("%d bytes for %%r", size)}
	return nil
}

func (c *rawConv) kind() Kind {
	if c.spec.zero {
		return KindUint
	}
	return KindInt
}

// scan reads the bytes, most significant first, or last with the flag #.
// Where there are more than eight, those above must only extend the value.
func (c *rawConv) scan(in []byte) (Value, int, int, problem) {
	if len(in) < c.size {
		return Value{}, 0, 0, problem{reason: Short, at: len(in), want: c.want}
	}
	at := func(i int) byte { // the i-th byte from the most significant on
		if c.spec.alt {
			return in[c.size-1-i]
		}
		return in[i]
	}
	fill := byte(0)
	if !c.spec.zero && at(max(c.size-8, 0))&0x80 != 0 {
		fill = 0xff
	}
	v := uint64(int64(int8(fill)))
	for i := range c.size {
		b := at(i)
		if i < c.size-8 && b != fill && !c.spec.skip {
			return Value{}, 0, 0, problem{reason: OutOfRange, want: "a number of at most 64 bits for %r"}
		}
		v = v<<8 | uint64(b)
	}
	if c.spec.zero {
		return Uint(v), 0, c.size, problem{}
	}
	return Int(int64(v)), 0, c.size, problem{}
}

// print writes the precision's least significant bytes of the value, extended
// to the width with its sign, or with zero bytes with the flag 0.
func (c *rawConv) print(dst []byte, v Value) ([]byte, error) {
	n, ok := v.pattern()
	if i, signed := v.Int64(); signed && i < 0 {
		n, ok = uint64(i), true
	}
	if !ok {
		return dst, fmt.Errorf("%s is no integer for %%r", v)
	}
	size := max(c.spec.prec, 1) // bytes of the value
	total := max(c.spec.width, size)
	size = min(size, 8)
	fill := byte(0)
	if !c.spec.zero && n>>(8*size-1)&1 != 0 {
		fill = 0xff
	}
	if c.spec.alt {
		for i := range size {
			dst = append(dst, byte(n>>(8*i)))
		}
		return appendN(dst, fill, total-size), nil
	}
	dst = appendN(dst, fill, total-size)
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(n>>(8*i)))
	}
	return dst, nil
}

// rawFloatConv is %R: an IEEE 754 number of four or eight bytes.
type rawFloatConv struct {
	spec  spec
	size  int
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
}

func buildRawFloat(_ *parser, it *item) error {
	c := &rawFloatConv{spec: it.spec, size: it.spec.width, order: binary.BigEndian}
	if it.spec.alt {
		c.order = binary.LittleEndian
	}
	switch it.spec.width {
	case 0:
		c.size = 4
	case 4, 8:
	default:
		return fail(it.spec.offset, "the width of %%R is 4 or 8 bytes")
	}
	it.op, it.conv = opValue, c
	return nil
}

func (c *rawFloatConv) kind() Kind { return KindFloat }

func (c *rawFloatConv) scan(in []byte) (Value, int, int, problem) {
	if len(in) < c.size {
		want := "4 bytes for %R"
		if c.size == 8 {
			want = "8 bytes for %8R"
		}
		return Value{}, 0, 0, problem{reason: Short, at: len(in), want: want}
	}
	if c.size == 8 {
		return Float(math.Float64frombits(c.order.Uint64(in))), 0, 8, problem{}
	}
	return Float(float64(math.Float32frombits(c.order.Uint32(in)))), 0, 4, problem{}
}

func (c *rawFloatConv) print(dst []byte, v Value) ([]byte, error) {
	f, ok := v.Float64()
	if !ok {
		return dst, fmt.Errorf("%w for %%R, not %s", errNoNumber, v)
	}
	if c.size == 8 {
		return c.order.AppendUint64(dst, math.Float64bits(f)), nil
	}
	single := float32(f)
	if math.IsInf(float64(single), 0) && !math.IsInf(f, 0) {
		return dst, fmt.Errorf("%s is too large for the four bytes of %%R", v)
	}
	return c.order.AppendUint32(dst, math.Float32bits(single)), nil
}
