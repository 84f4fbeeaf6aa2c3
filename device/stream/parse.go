package stream

import (
	"errors"
	"fmt"
	"strings"
)

// Limits that keep one format from asking for unbounded memory. StreamDevice
// has the second one; its widths go up to the size of a long.
const (
	maxText      = 64 << 10
	maxWidth     = 1<<16 - 1
	maxPrecision = 1<<15 - 1
)

// Parse compiles a format text. Errors are *SyntaxError.
func Parse(text string, o Options) (*Format, error) {
	if len(text) > maxText {
		return nil, &SyntaxError{Offset: maxText, Msg: fmt.Sprintf("the text is longer than %d bytes", maxText)}
	}
	sep, err := parseSeparator(o.Separator)
	if err != nil {
		var se *SyntaxError
		if errors.As(err, &se) {
			se.Separator = true
		}
		return nil, err
	}
	f := &Format{text: text, opts: o, sep: sep}
	p := parser{text: text, opts: &f.opts}
	if err := p.parse(); err != nil {
		return nil, err
	}
	f.items = p.items
	for i := range f.items {
		it := &f.items[i]
		f.check = f.check || it.op == opChecksum
		if it.op == opValue && !it.spec.skip {
			f.fields = append(f.fields, it.field(o.Direction))
		}
	}
	if err := f.checkArray(); err != nil {
		return nil, err
	}
	f.warnings = f.suspicious()
	return f, nil
}

// checkArray refuses options that contradict each other or the text.
func (f *Format) checkArray() error {
	o := &f.opts
	switch {
	case !o.Array && (o.Separator != "" || o.Elements != 0):
		return &SyntaxError{Msg: "a separator or a number of elements needs an array"}
	case o.Elements < 0:
		return &SyntaxError{Msg: fmt.Sprintf("%d elements: the number must be positive, or 0 for any", o.Elements)}
	case o.Array && len(f.fields) != 1:
		return &SyntaxError{Msg: fmt.Sprintf("an array needs exactly one converter with a value, this format has %d (write %%* to skip a value)", len(f.fields))}
	}
	return nil
}

// field describes an item with a value.
func (it *item) field(d Direction) Field {
	fd := Field{Offset: it.spec.offset, Verb: it.spec.verb, Kind: it.conv.kind(), Name: it.spec.name, Compare: it.spec.compare}
	switch c := it.conv.(type) {
	case *enumConv:
		fd.Choices = c.list()
	case *charConv:
		if d == Out {
			fd.Kind = KindUint
		}
	}
	return fd
}

// parser walks once through a format text.
type parser struct {
	text  string
	opts  *Options
	pos   int
	lit   []byte
	litAt int // where lit started in text
	items []item
}

func (p *parser) parse() error {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case '\\':
			e, next, err := readEscape(p.text, p.pos)
			if err != nil {
				return err
			}
			switch e.kind {
			case escAny:
				p.add(item{op: opAny, spec: spec{offset: p.pos}})
			case escSpace:
				p.add(item{op: opSpace, spec: spec{offset: p.pos}})
			default:
				p.literal(e.b)
			}
			p.pos = next
		case '%':
			if strings.HasPrefix(p.text[p.pos:], "%%") {
				p.literal('%')
				p.pos += 2
				continue
			}
			if err := p.converter(); err != nil {
				return err
			}
		default:
			p.literal(c)
			p.pos++
		}
	}
	p.flush()
	return nil
}

// literal adds a byte to the current run of literal bytes.
func (p *parser) literal(c byte) {
	if len(p.lit) == 0 {
		p.litAt = p.pos
	}
	p.lit = append(p.lit, c)
}

// flush ends a run of literal bytes.
func (p *parser) flush() {
	if len(p.lit) > 0 {
		p.items = append(p.items, item{op: opLiteral, literal: string(p.lit), spec: spec{offset: p.litAt}})
		p.lit = p.lit[:0]
	}
}

func (p *parser) add(it item) {
	p.flush()
	p.items = append(p.items, it)
}

// fail returns a SyntaxError at an offset.
func fail(offset int, format string, args ...any) error {
	return &SyntaxError{Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// peek returns the byte at the position, or 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// converter reads a whole converter, from its %.
func (p *parser) converter() error {
	s := spec{offset: p.pos, prec: -1}
	p.pos++
	if p.peek() == '(' {
		end := strings.IndexByte(p.text[p.pos:], ')')
		if end < 2 {
			return fail(p.pos, "a name in parentheses is expected, as in %%(name)f")
		}
		s.name = p.text[p.pos+1 : p.pos+end]
		p.pos += end + 1
	}
	if err := p.flags(&s); err != nil {
		return err
	}
	if err := p.sizes(&s); err != nil {
		return err
	}
	if p.pos >= len(p.text) {
		return fail(s.offset, "the conversion character is missing, as in %%f; a percent sign is written %%%%")
	}
	s.verb = p.text[p.pos]
	p.pos++
	build, rule := lookup(s.verb)
	if build == nil {
		return fail(s.offset, "%s", unknownVerb(s.verb))
	}
	if err := s.check(rule, p.opts.Direction); err != nil {
		return err
	}
	if p.opts.Direction == mirror {
		s.mirror(p.opts.Array)
	}
	it := item{spec: s}
	if err := build(p, &it); err != nil {
		return err
	}
	if it.op != opValue && (s.name != "" || s.skip || s.def || s.compare || s.exact) {
		return fail(s.offset, "%%%c%s has no value: a (name) and the flags * ? = ! have no meaning there", s.verb, pseudoName(it.op))
	}
	p.add(it)
	return nil
}

func pseudoName(o op) string {
	if o == opChecksum {
		return "checksum>"
	}
	return "pattern/replacement/"
}

// flags reads the flag characters.
func (p *parser) flags(s *spec) error {
	for ; ; p.pos++ {
		var flag *bool
		input := false
		switch p.peek() {
		case '*':
			flag, input = &s.skip, true
		case '?':
			flag, input = &s.def, true
		case '=':
			flag, input = &s.compare, true
		case '!':
			flag, input = &s.exact, true
		case '#':
			flag = &s.alt
		case '-':
			flag = &s.left
		case '+':
			flag = &s.plus
		case ' ':
			flag = &s.space
		case '0':
			flag = &s.zero
		default:
			return nil
		}
		if input && p.opts.Direction == Out {
			return fail(p.pos, "the flag %c only has a meaning in input", p.peek())
		}
		*flag = true
	}
}

// sizes reads width and precision.
func (p *parser) sizes(s *spec) error {
	start := p.pos
	n, end := readNumber(p.text, p.pos, 6, 10)
	if n > maxWidth {
		return fail(start, "the width is more than %d", maxWidth)
	}
	s.width, p.pos = n, end
	if p.peek() != '.' {
		return nil
	}
	p.pos++
	start = p.pos
	n, end = readNumber(p.text, p.pos, 6, 10)
	if end == start {
		return fail(start, "a number is expected after the period, as in %%.3f")
	}
	if n > maxPrecision {
		return fail(start, "the precision is more than %d", maxPrecision)
	}
	s.prec, p.pos = n, end
	return nil
}

// unknownVerb names the character and, for frequent slips, the right form.
func unknownVerb(c byte) string {
	switch c {
	case 'l', 'h', 'q', 'j', 'z', 't', 'L':
		return fmt.Sprintf("%%%c does not exist: there are no length letters, write %%d or %%f", c)
	case 'p', 'n', 'v':
		return fmt.Sprintf("%%%c does not exist here; text is %%s, numbers are %%d or %%f", c)
	case 'F', 'a', 'A':
		return fmt.Sprintf("%%%c does not exist: write %%f, %%e or %%g", c)
	case '>', '"', '\'', '(', '.':
		return fmt.Sprintf("a conversion character is expected, not %q; a percent sign is written %%%%", c)
	}
	return fmt.Sprintf("%%%s is no converter: there are %s; a percent sign is written %%%%", strings.Trim(quote(string(c)), `"`), verbs())
}
