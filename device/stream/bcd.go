package stream

import (
	"fmt"
	"math"
)

// bcdConv is %D: packed decimal digits, two in a byte.
type bcdConv struct {
	spec   spec
	size   int // bytes of input
	digits int // of output
	total  int // bytes of output
	want   string
}

// bcdDigits is how many digits %D writes if neither width nor precision says.
const bcdDigits = 16

func buildBCD(_ *parser, it *item) error {
	c := &bcdConv{spec: it.spec, size: max(it.spec.width, 1)}
	sign := 0 // half bytes
	if it.spec.plus {
		sign = 1
	}
	switch {
	case it.spec.prec == 0:
		return fail(it.spec.offset, "the precision of %%D is the number of digits and at least 1")
	case it.spec.prec > 0:
		c.digits = it.spec.prec
	case it.spec.width > 0:
		c.digits = 2*it.spec.width - sign
	default:
		c.digits = bcdDigits
	}
	c.total = max(it.spec.width, (c.digits+sign+1)/2)
	c.want = fmt.Sprintf("%d bytes of two decimal digits for %%D", c.size)
	it.op, it.conv = opValue, c
	return nil
}

func (c *bcdConv) kind() Kind {
	if c.spec.plus {
		return KindInt
	}
	return KindUint
}

// scan reads bytes until one is no pair of digits or the width is reached.
// With the flag +, the upper half of the most significant byte is the sign.
func (c *bcdConv) scan(in []byte) (Value, int, int, problem) {
	fields := in[:min(len(in), c.size)]
	n := 0 // how many bytes are digits
	negative := false
	for ; n < len(fields); n++ {
		high, low := fields[n]>>4, fields[n]&0x0f
		if c.isSign(n) {
			negative, high = high >= 8, 0
			if s := fields[n] >> 4; s != 0 && s < 8 {
				break
			}
		}
		if high > 9 || low > 9 {
			break
		}
	}
	switch {
	case len(fields) < c.size && n == len(fields):
		return Value{}, 0, 0, problem{reason: Short, at: len(in), want: c.want}
	case n == 0, c.spec.plus && c.spec.alt && n < c.size:
		return Value{}, 0, 0, problem{reason: NoMatch, at: n, want: c.want}
	}
	var v uint64
	for i := range n {
		at := i
		if c.spec.alt {
			at = n - 1 - i
		}
		high, low := uint64(fields[at]>>4), uint64(fields[at]&0x0f)
		if c.isSign(at) {
			high = 0
		}
		pair := 10*high + low
		if v > (math.MaxUint64-pair)/100 {
			return Value{}, 0, 0, problem{reason: OutOfRange, want: "a number of at most 64 bits for %D"}
		}
		v = v*100 + pair
	}
	if !c.spec.plus {
		return Uint(v), 0, n, problem{}
	}
	if v > math.MaxInt64 {
		return Value{}, 0, 0, problem{reason: OutOfRange, want: "a number of at most 64 bits for %D"}
	}
	if negative {
		return Int(-int64(v)), 0, n, problem{}
	}
	return Int(int64(v)), 0, n, problem{}
}

// isSign tells whether the upper half of byte i of the input is the sign.
func (c *bcdConv) isSign(i int) bool {
	if !c.spec.plus {
		return false
	}
	if c.spec.alt {
		return i == c.size-1
	}
	return i == 0
}

// print writes the precision's least significant digits, with zeros up to the
// width and 0xF in the topmost half byte of a negative number.
func (c *bcdConv) print(dst []byte, v Value) ([]byte, error) {
	i, isInt := v.Int64()
	n, isUint := v.Uint64()
	negative := isInt && i < 0
	if negative {
		n = uint64(-i)
	}
	switch {
	case !isInt && !isUint:
		return dst, fmt.Errorf("%s is no integer for %%D", v)
	case negative && !c.spec.plus:
		return dst, fmt.Errorf("%d is negative and %%D without the flag + is unsigned", i)
	}
	base := len(dst)
	dst = appendN(dst, 0, c.total)
	out := dst[base:]
	place := func(i int) *byte { // the i-th byte from the least significant on
		if c.spec.alt {
			return &out[i]
		}
		return &out[c.total-1-i]
	}
	for d := 0; d < c.digits && n > 0; d++ {
		*place(d / 2) |= byte(n%10) << (4 * (d % 2))
		n /= 10
	}
	if negative {
		*place(c.total - 1) |= 0xf0
	}
	return dst, nil
}
