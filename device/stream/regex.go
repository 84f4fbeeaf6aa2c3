package stream

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// maxWork limits how many bytes all searches of one application of a pattern
// may read together. A single search is linear in the input; many searches
// that each read to the end of a long line are not.
const maxWork = 4 << 20

// pattern is a compiled regular expression over bytes.
type pattern struct {
	re   *regexp.Regexp
	text string
}

// byteReader hands bytes to the regexp package as the code points 0 to 255,
// so that no byte is special and every offset is one of the input.
type byteReader struct {
	in   []byte
	pos  int
	work *int // what may still be read
}

// ReadRune returns the next byte.
func (r *byteReader) ReadRune() (rune, int, error) {
	if r.pos >= len(r.in) || *r.work <= 0 {
		return 0, 0, io.EOF
	}
	*r.work--
	r.pos++
	return rune(r.in[r.pos-1]), 1, nil
}

// find returns the first match and its groups, as regexp does, or nil. It is
// false if the work ran out.
func (p *pattern) find(in []byte, work *int) ([]int, bool) {
	loc := p.re.FindReaderSubmatchIndex(&byteReader{in: in, work: work})
	return loc, *work > 0
}

// parsePattern reads a pattern up to the closing slash and compiles it. A
// backslash belongs to the regular expression, except where the format
// language gives it a byte: \xhh, \0ooo, \ddd and \e. These bytes, and those
// above 0x7F, are literal.
func (p *parser) parsePattern(s *spec) (*pattern, error) {
	start := p.pos
	var b strings.Builder
	literal := func(c byte) { fmt.Fprintf(&b, `\x{%02x}`, c) }
	for {
		if p.pos >= len(p.text) {
			return nil, fail(s.offset, "the / at the end of the pattern is missing; a / inside is written \\/")
		}
		c := p.text[p.pos]
		if c == '/' {
			break
		}
		if c != '\\' {
			if c >= 0x80 {
				literal(c)
			} else {
				b.WriteByte(c)
			}
			p.pos++
			continue
		}
		e, next, err := readEscape(p.text, p.pos)
		if err != nil {
			if p.pos+1 >= len(p.text) || p.text[p.pos+1] != '$' {
				return nil, err
			}
			e, next = escape{kind: escLiteral, b: '$'}, p.pos+2
		}
		switch c := p.text[p.pos+1]; {
		case c == 'e', isDigit(c), c == 'x':
			literal(e.b)
		case c == '/', c == '_', c >= 0x80, c == '"', c == '\'', c == '%':
			literal(c)
		default: // of the regular expression
			if c == 'Q' {
				return nil, fail(p.pos, `\Q does not exist here: put a backslash in front of each character`)
			}
			b.WriteByte('\\')
			b.WriteByte(c)
		}
		p.pos = next
	}
	text := p.text[start:p.pos]
	p.pos++
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fail(start, "the pattern is no regular expression of the kind used here (RE2: no look-around, no back-references): %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return &pattern{re: re, text: bounded(text)}, nil
}

// regexConv is %/pattern/.
type regexConv struct {
	spec  spec
	pat   *pattern
	group int
	want  string
}

// buildRegex builds %/pattern/ or, with the flag #, %#/pattern/replacement/.
func buildRegex(p *parser, it *item) error {
	s := &it.spec
	if !s.alt && p.opts.Direction == Out {
		return fail(s.offset, "%%/pattern/ only exists in input; %%#/pattern/replacement/ rewrites output")
	}
	if !s.alt && s.left {
		return fail(s.offset, "%%/pattern/ has no flag -")
	}
	pat, err := p.parsePattern(s)
	if err != nil {
		return err
	}
	if s.alt {
		return buildRewrite(p, it, pat)
	}
	group := max(s.prec, 0)
	if group > pat.re.NumSubexp() {
		return fail(s.offset, "the precision asks for group %d and the pattern has only %d", group, pat.re.NumSubexp())
	}
	it.op = opValue
	it.conv = &regexConv{spec: *s, pat: pat, group: group, want: "a match of /" + pat.text + "/"}
	return nil
}

func (c *regexConv) kind() Kind { return KindText }

func (c *regexConv) skipsSpace() bool { return false }

// scan searches the pattern and skips what stands in front of the match.
func (c *regexConv) scan(in []byte) (Value, int, int, problem) {
	field := in
	if c.spec.width > 0 && len(field) > c.spec.width {
		field = field[:c.spec.width]
	}
	work := maxWork
	loc, ok := c.pat.find(field, &work)
	switch {
	case !ok:
		return Value{}, 0, 0, problem{reason: TooMuchWork, want: c.want + " in a shorter input"}
	case loc == nil, loc[2*c.group] < 0:
		return Value{}, 0, 0, problem{reason: NoMatch, want: c.want}
	}
	return Text(string(field[loc[2*c.group]:loc[2*c.group+1]])), loc[0], loc[1], problem{}
}

// print writes a text that scan would read as a whole.
func (c *regexConv) print(dst []byte, v Value) ([]byte, error) {
	if v.kind != KindText {
		return dst, fmt.Errorf("a text is needed for %%/, not %s", v)
	}
	got, _, end, p := c.scan([]byte(v.text))
	if p.reason != 0 || end != len(v.text) || got.text != v.text {
		return dst, fmt.Errorf("%s does not match /%s/ as a whole", v, c.pat.text)
	}
	return append(dst, v.text...), nil
}
