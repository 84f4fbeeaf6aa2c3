package stream

import "fmt"

// stringConv is %s.
type stringConv struct{ spec spec }

func buildString(_ *parser, it *item) error {
	it.op, it.conv = opValue, &stringConv{it.spec}
	return nil
}

func (c *stringConv) kind() Kind { return KindText }

func (c *stringConv) skipsSpace() bool { return !c.spec.space }

// scan reads up to the next white space, or with the flag # to the end.
// Leading white space is skipped, or with the blank flag belongs to the text.
// The empty text matches.
func (c *stringConv) scan(in []byte) (Value, int, int, problem) {
	space := skipSpace(in)
	start, i := space, space
	if c.spec.space {
		start = 0
	}
	end := len(in)
	if c.spec.width > 0 && end > start+c.spec.width {
		end = start + c.spec.width
	}
	i = min(i, end)
	for i < end && (c.spec.alt || !isSpace(in[i])) {
		i++
	}
	return Text(string(in[start:i])), start, i, problem{}
}

// print pads to the width with blanks, or with NUL bytes with the flag 0, and
// cuts to the precision.
func (c *stringConv) print(dst []byte, v Value) ([]byte, error) {
	if v.kind != KindText {
		return dst, fmt.Errorf("a text is needed for %%s, not %s", v)
	}
	text := v.text
	if c.spec.prec >= 0 && len(text) > c.spec.prec {
		text = text[:c.spec.prec]
	}
	fill := byte(' ')
	if c.spec.zero {
		fill = 0
	}
	return c.spec.padText(dst, text, fill), nil
}

// padText appends a text in its width.
func (s *spec) padText(dst []byte, text string, fill byte) []byte {
	n := s.width - len(text)
	if !s.left {
		dst = appendN(dst, fill, n)
	}
	dst = append(dst, text...)
	if s.left {
		dst = appendN(dst, fill, n)
	}
	return dst
}

// charConv is %c: some bytes of input, one byte in output.
type charConv struct{ spec spec }

func buildChar(_ *parser, it *item) error {
	it.op, it.conv = opValue, &charConv{it.spec}
	return nil
}

func (c *charConv) kind() Kind { return KindText }

func (c *charConv) skipsSpace() bool { return false }

// scan reads up to width bytes, whatever they are, and at least one.
func (c *charConv) scan(in []byte) (Value, int, int, problem) {
	n := min(len(in), max(c.spec.width, 1))
	if n == 0 {
		return Value{}, 0, 0, problem{reason: NoMatch, want: "a character for %c"}
	}
	return Text(string(in[:n])), 0, n, problem{}
}

// print writes the byte with that number. A text is written as it is, so that
// what was read by %c can be written again.
func (c *charConv) print(dst []byte, v Value) ([]byte, error) {
	if v.kind == KindText {
		if len(v.text) == 0 || len(v.text) > max(c.spec.width, 1) {
			return dst, fmt.Errorf("%d bytes where %%c writes at most %d", len(v.text), max(c.spec.width, 1))
		}
		return c.spec.padText(dst, v.text, ' '), nil
	}
	n, ok := v.Uint64()
	if !ok || n > 0xff {
		return dst, fmt.Errorf("%s is no byte (0 to 255) for %%c", v)
	}
	return c.spec.padText(dst, string([]byte{byte(n)}), ' '), nil
}

// byteSet is a set of byte values.
type byteSet [256 / 64]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// charsetConv is %[set].
type charsetConv struct {
	spec spec
	set  byteSet
}

// buildCharset reads the set: single characters and ranges, all but these
// after ^. A ] in first place and a - in first or last place are themselves.
func buildCharset(p *parser, it *item) error {
	c := &charsetConv{spec: it.spec}
	negate := p.peek() == '^'
	if negate {
		p.pos++
	}
	low, ranged := -1, false // low: the last character, if a range may start there
	for first := true; ; first = false {
		if p.pos >= len(p.text) {
			return fail(it.spec.offset, "the ] at the end of the set is missing; a ] inside is written \\]")
		}
		at := p.pos
		b, escaped, err := p.setByte()
		if err != nil {
			return err
		}
		if b == ']' && !escaped && !first {
			break
		}
		switch {
		case ranged:
			if int(b) < low {
				return fail(at-2, "the range %s is backwards", quote([]byte{byte(low), '-', b}))
			}
			for v := low; v <= int(b); v++ {
				c.set.add(byte(v))
			}
			low, ranged = -1, false
		case b == '-' && !escaped && low >= 0 && p.peek() != ']':
			ranged = true
		default:
			c.set.add(b)
			low = int(b)
			if b == ']' && first {
				low = -1
			}
		}
	}
	if negate {
		for i := range c.set {
			c.set[i] = ^c.set[i]
		}
	}
	it.op, it.conv = opValue, c
	return nil
}

// setByte reads one character of a set.
func (p *parser) setByte() (b byte, escaped bool, err error) {
	if p.text[p.pos] != '\\' {
		p.pos++
		return p.text[p.pos-1], false, nil
	}
	e, next, err := readEscape(p.text, p.pos)
	if err != nil {
		return 0, false, err
	}
	p.pos = next
	return e.b, true, nil
}

func (c *charsetConv) kind() Kind { return KindText }

func (c *charsetConv) skipsSpace() bool { return false }

// scan reads characters of the set. None at all matches, too.
func (c *charsetConv) scan(in []byte) (Value, int, int, problem) {
	end := len(in)
	if c.spec.width > 0 && end > c.spec.width {
		end = c.spec.width
	}
	i := 0
	for i < end && c.set.has(in[i]) {
		i++
	}
	return Text(string(in[:i])), 0, i, problem{}
}

// print writes a text that scan would read.
func (c *charsetConv) print(dst []byte, v Value) ([]byte, error) {
	if v.kind != KindText {
		return dst, fmt.Errorf("a text is needed for %%[, not %s", v)
	}
	if c.spec.width > 0 && len(v.text) > c.spec.width {
		return dst, fmt.Errorf("%d bytes are more than the width %d", len(v.text), c.spec.width)
	}
	for i := range len(v.text) {
		if !c.set.has(v.text[i]) {
			return dst, fmt.Errorf("%s is not in the set of %%[", quote(v.text[i:i+1]))
		}
	}
	return append(dst, v.text...), nil
}
