package stream

import (
	"fmt"
	"math/bits"
)

// bitsConv is %b and %Bxy: one character for each bit.
type bitsConv struct {
	spec      spec
	zero, one byte
	skipWhite bool // not where white space is one of the two characters
}

func buildBinary(p *parser, it *item) error {
	c := &bitsConv{spec: it.spec, zero: '0', one: '1'}
	if it.spec.verb == 'B' {
		at := p.pos
		for _, b := range []*byte{&c.zero, &c.one} {
			if p.pos >= len(p.text) {
				return fail(it.spec.offset, "%%B needs the characters for zero and one, as in %%B.!")
			}
			var err error
			if *b, _, err = p.setByte(); err != nil {
				return err
			}
		}
		if c.zero == c.one {
			return fail(at, "the characters for zero and one are the same")
		}
	}
	if it.spec.prec == 0 || it.spec.prec > 64 {
		return fail(it.spec.offset, "the precision of %%%c is the number of bits, 1 to 64", it.spec.verb)
	}
	c.skipWhite = !isSpace(c.zero) && !isSpace(c.one)
	it.op, it.conv = opValue, c
	return nil
}

func (c *bitsConv) kind() Kind { return KindUint }

func (c *bitsConv) scan(in []byte) (Value, int, int, problem) {
	start := 0
	if c.skipWhite {
		start = skipSpace(in)
	}
	end := len(in)
	if c.spec.width > 0 && end > start+c.spec.width {
		end = start + c.spec.width
	}
	var v uint64
	i := start
	for ; i < end && (in[i] == c.zero || in[i] == c.one); i++ {
		n := i - start
		switch {
		case c.spec.alt && in[i] == c.one && n >= 64, !c.spec.alt && v>>63 != 0:
			return Value{}, 0, 0, problem{reason: OutOfRange, at: start, want: "at most 64 bits"}
		case c.spec.alt && in[i] == c.one:
			v |= 1 << n
		case !c.spec.alt:
			v <<= 1
			if in[i] == c.one {
				v |= 1
			}
		}
	}
	if i == start {
		want := fmt.Sprintf("bits, written as %s", quote([]byte{c.zero, c.one}))
		return Value{}, 0, 0, problem{reason: NoMatch, at: start, want: want}
	}
	return Uint(v), start, i, problem{}
}

// print writes as many bits as the precision says, or else up to the highest
// 1 bit. The flag 0 fills the width with zero bits, which belong to the most
// significant end: on the left, or with # on the right.
func (c *bitsConv) print(dst []byte, v Value) ([]byte, error) {
	n, ok := v.pattern()
	if !ok {
		return dst, fmt.Errorf("%s is no integer for %%%c", v, c.spec.verb)
	}
	count := c.spec.prec
	if count < 0 {
		count = max(bits.Len64(n), 1)
	}
	fill := max(c.spec.width-count, 0)
	zeros := 0
	if c.spec.zero {
		zeros, fill = fill, 0
	}
	if !c.spec.left {
		dst = appendN(dst, ' ', fill)
	}
	if !c.spec.alt {
		dst = appendN(dst, c.zero, zeros)
	}
	for i := range count {
		shift := count - 1 - i
		if c.spec.alt {
			shift = i
		}
		if n>>shift&1 != 0 {
			dst = append(dst, c.one)
		} else {
			dst = append(dst, c.zero)
		}
	}
	if c.spec.alt {
		dst = appendN(dst, c.zero, zeros)
	}
	if c.spec.left {
		dst = appendN(dst, ' ', fill)
	}
	return dst, nil
}
