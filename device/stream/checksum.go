package stream

import (
	"fmt"
	"strconv"
	"strings"
)

// checksum is %<name>: check bytes over what was written or read so far.
type checksum struct {
	spec   spec
	name   string // for messages
	alg    algorithm
	negate bool
	invert bool
	mod    uint64 // 0, or the modulus of %<sum mod N>
	bytes  int    // size of the value
	digits int    // of the decimal form; of the hexadecimal form if it is set by hand, else 0
}

// buildChecksum reads the name up to the >. Behind it may stand two
// extensions of this package: "mod N", for sums, and "digits D".
func buildChecksum(p *parser, it *item) error {
	end := strings.IndexByte(p.text[p.pos:], '>')
	if end < 0 {
		return fail(it.spec.offset, "the > at the end of the checksum is missing, as in %%<sum>")
	}
	at := p.pos
	words := strings.Fields(p.text[at : at+end])
	p.pos += end + 1
	s := &it.spec
	if s.prec < 0 {
		s.prec = 0
	}
	if s.zero && s.left || s.zero && s.plus || s.left && s.plus {
		return fail(s.offset, "a checksum has one form: choose one of the flags 0 (hexadecimal), - (0x30 to 0x3f) and + (decimal)")
	}
	if s.plus && s.alt {
		return fail(s.offset, "the flag # (byte order) has no meaning in a decimal checksum")
	}
	if len(words) == 0 {
		return fail(at, "the name of a checksum is expected, as in %%<sum>")
	}
	c := &checksum{spec: *s, name: words[0]}
	if err := c.find(at); err != nil {
		return err
	}
	if err := c.extensions(words[1:], at); err != nil {
		return err
	}
	it.op, it.sum = opChecksum, c
	return nil
}

// find looks the name up, with the prefixes neg, n and - for the negative sum
// and not and ~ for the bitwise inverse.
func (c *checksum) find(at int) error {
	name := strings.ToLower(c.name)
	if c.lookup(name) {
		return nil
	}
	for _, prefix := range []string{"neg", "-", "not", "~", "n"} {
		base, ok := strings.CutPrefix(name, prefix)
		if !ok || !c.lookup(base) {
			continue
		}
		c.invert = prefix == "not" || prefix == "~"
		c.negate = !c.invert
		if c.negate && !c.alg.additive {
			return fail(at, "%s is no sum and has no negative; the bitwise inverse is written ~%s", base, base)
		}
		return nil
	}
	return fail(at, "%q is no checksum; there are %s", c.name, strings.Join(checksumNames(), " "))
}

func (c *checksum) lookup(name string) bool {
	for _, a := range algorithms() {
		for _, n := range a.names {
			if strings.ToLower(n) == name {
				c.alg = a
				return true
			}
		}
	}
	return false
}

// checksumNames lists all names, without the prefixes.
func checksumNames() []string {
	var names []string
	for _, a := range algorithms() {
		names = append(names, a.names...)
	}
	return names
}

// extensions reads "mod N" and "digits D", which follow the name.
func (c *checksum) extensions(words []string, at int) error {
	var digits uint64
	for len(words) > 0 {
		n := uint64(0) // Refused below, as is a number that cannot be read.
		if len(words) > 1 {
			if v, err := strconv.ParseUint(words[1], 10, 32); err == nil {
				n = v
			}
		}
		switch {
		case words[0] == "mod" && n >= 2:
			c.mod = n
		case words[0] == "digits" && n >= 1 && n <= 10:
			digits = n
		default:
			return fail(at, "%q is not understood: mod N (N from 2 on) and digits D (D from 1 to 10) are known, as in %%+<sum mod 100 digits 2>", strings.Join(words, " "))
		}
		words = words[2:]
	}
	if c.mod > 0 && (!c.alg.additive || c.invert) {
		return fail(at, "mod needs a sum, not %s", c.name)
	}
	return c.size(int(digits), at)
}

// size sets how many bytes and digits the largest value needs, or checks that
// the wanted number of digits is enough for it.
func (c *checksum) size(digits, at int) error {
	largest := uint64(1)<<(8*c.alg.bytes) - 1
	if c.mod > 0 {
		largest = c.mod - 1
	}
	for c.bytes = 1; largest>>(8*c.bytes) != 0; c.bytes++ {
	}
	base := 10
	switch {
	case c.spec.plus && digits == 0:
		c.digits = len(strconv.FormatUint(largest, 10))
		return nil
	case digits == 0:
		return nil
	case c.spec.zero && !c.spec.alt:
		base = 16
	case !c.spec.plus:
		return fail(at, "digits needs the decimal form (flag +) or the hexadecimal one (flag 0) without #")
	}
	if len(strconv.FormatUint(largest, base)) > digits {
		return fail(at, "%d digits are too few for checksums up to %d", digits, largest)
	}
	c.digits = digits
	return nil
}

// value computes the checksum over data, from byte width of the message to
// precision bytes before its end.
func (c *checksum) value(data []byte) (uint64, bool) {
	if c.spec.width+c.spec.prec > len(data) {
		return 0, false
	}
	n := c.alg.compute(data[c.spec.width : len(data)-c.spec.prec])
	if c.mod > 0 {
		n %= c.mod
		if c.negate && n > 0 {
			n = c.mod - n
		}
		return n, true
	}
	if c.negate {
		n = -n
	}
	if c.invert {
		n = ^n
	}
	return n & (1<<(8*c.alg.bytes) - 1), true
}

// form appends the check bytes.
func (c *checksum) form(dst []byte, n uint64) []byte {
	switch {
	case c.spec.plus:
		return fmt.Appendf(dst, "%0*d", c.digits, n)
	case c.digits > 0:
		return fmt.Appendf(dst, "%0*X", c.digits, n)
	}
	for i := range c.bytes {
		shift := 8 * (c.bytes - 1 - i)
		if c.spec.alt {
			shift = 8 * i
		}
		b := byte(n >> shift)
		switch {
		case c.spec.zero:
			dst = append(dst, hexDigits[b>>4], hexDigits[b&0x0f])
		case c.spec.left:
			dst = append(dst, 0x30|b>>4, 0x30|b&0x0f)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

const hexDigits = "0123456789ABCDEF"

// append writes the check bytes of out[base:].
func (c *checksum) append(out []byte, base int) ([]byte, error) {
	n, ok := c.value(out[base:])
	if !ok {
		return out, c.rangeError(len(out) - base)
	}
	return c.form(out, n), nil
}

func (c *checksum) rangeError(n int) error {
	return fmt.Errorf("the checksum %%<%s> leaves out %d bytes in front and %d behind, and there are only %d", c.name, c.spec.width, c.spec.prec, n)
}

// match compares the bytes at an index of the raw input with the checksum of
// what stands before them. The case of hexadecimal digits does not matter.
func (c *checksum) match(raw []byte, at int) (int, problem) {
	n, ok := c.value(raw[:at])
	if !ok {
		return 0, problem{reason: Short, want: c.rangeError(at).Error()}
	}
	var buf [16]byte
	want := c.form(buf[:0], n)
	got := raw[at:]
	if len(got) < len(want) {
		return 0, problem{reason: Short, want: fmt.Sprintf("%d bytes of checksum %%<%s>", len(want), c.name)}
	}
	for i, w := range want {
		g := got[i]
		if c.spec.zero && 'a' <= g && g <= 'f' {
			g -= 'a' - 'A'
		}
		if g != w {
			return 0, problem{reason: BadChecksum, want: fmt.Sprintf("the checksum %s of %%<%s>", quote(want), c.name)}
		}
	}
	return len(want), problem{}
}
