package stream

import (
	"fmt"
	"math"
	"strconv"
)

// enumConv is %{text|text|...}.
type enumConv struct {
	spec    spec
	choices []choice
	// other is written for a number that is not listed (=?); it is -1 or the
	// index of the last choice.
	other int
	want  string
}

// choice is one text. any marks the bytes that are \?.
type choice struct {
	value int64
	text  []byte
	any   []bool
}

// buildEnum reads the texts up to the closing brace. With the flag #, a text
// may be followed by = and its number; the numbers count on from there.
func buildEnum(p *parser, it *item) error {
	if it.spec.width > 0 && !it.spec.exact {
		return fail(it.spec.offset, "%%{ has no width, except with the flag !")
	}
	c := &enumConv{spec: it.spec, other: -1}
	from := p.pos
	var next choice
	for {
		if p.pos >= len(p.text) {
			return fail(it.spec.offset, "the } at the end of the texts is missing; a } or | inside a text is written \\} or \\|")
		}
		at := p.pos
		switch b := p.text[p.pos]; {
		case b == '\\':
			e, end, err := readEscape(p.text, p.pos)
			if err != nil {
				return err
			}
			if e.kind == escSpace {
				return fail(at, `\_ has no meaning in %%{...}: write a blank`)
			}
			p.pos = end
			next.add(e.b, e.kind == escAny)
			continue
		case b == '=' && it.spec.alt:
			p.pos++
			var err error
			if next.value, err = p.number(c); err != nil {
				return err
			}
			if p.peek() != '|' && p.peek() != '}' || c.other >= 0 && p.peek() != '}' {
				return fail(p.pos, "after = and the number, | or } is expected; =? only stands at the last text")
			}
			continue
		case b != '|' && b != '}':
			p.pos++
			next.add(b, false)
			continue
		}
		p.pos++
		c.choices = append(c.choices, next)
		if p.text[at] == '}' {
			break
		}
		if next.value == math.MaxInt64 {
			return fail(at, "the number behind %d does not exist", next.value)
		}
		next = choice{value: next.value + 1}
	}
	c.want = "one of {" + bounded(p.text[from:p.pos])
	it.op, it.conv = opValue, c
	return nil
}

// bounded cuts a long list in messages.
func bounded(s string) string {
	if len(s) > 2*maxQuoted {
		return s[:2*maxQuoted] + "..."
	}
	return s
}

// number reads what follows the = of an enum text: an integer as in C, where
// blanks may stand in front, or ? for the text that is written for every other
// number.
func (p *parser) number(c *enumConv) (int64, error) {
	start := p.pos
	if p.peek() == '?' {
		if p.opts.Direction == In {
			return 0, fail(start, "=? only has a meaning in output")
		}
		p.pos++
		c.other = len(c.choices)
		return 0, nil
	}
	p.pos += skipSpace([]byte(p.text[p.pos:]))
	from := p.pos
	for p.pos < len(p.text) && (isAlnum(p.text[p.pos]) || p.text[p.pos] == '-' || p.text[p.pos] == '+') {
		p.pos++
	}
	n, err := strconv.ParseInt(p.text[from:p.pos], 0, 64)
	if err != nil {
		return 0, fail(start, "an integer is expected after =, as in on=1; a = inside a text is written \\=")
	}
	return n, nil
}

func (c *choice) add(b byte, anyByte bool) {
	c.text = append(c.text, b)
	c.any = append(c.any, anyByte)
}

// matches tells whether in starts with the text.
func (c *choice) matches(in []byte) bool {
	if len(in) < len(c.text) {
		return false
	}
	for i, b := range c.text {
		if !c.any[i] && in[i] != b {
			return false
		}
	}
	return true
}

func (c *enumConv) kind() Kind { return KindEnum }

// list returns the texts for Field.
func (c *enumConv) list() []Choice {
	var out []Choice
	for i, ch := range c.choices {
		if i != c.other {
			out = append(out, Choice{Value: ch.value, Text: string(ch.text)})
		}
	}
	return out
}

// scan takes the longest text that matches, the first of equal ones. The
// default text of output names no number and is not read.
func (c *enumConv) scan(in []byte) (Value, int, int, problem) {
	best := -1
	for i := range c.choices {
		if i != c.other && c.choices[i].matches(in) && (best < 0 || len(c.choices[i].text) > len(c.choices[best].text)) {
			best = i
		}
	}
	if best < 0 {
		p := problem{reason: NoMatch, want: c.want}
		if startsNumber(in) {
			p.reason = NoState
		}
		return Value{}, 0, 0, p
	}
	return Enum(c.choices[best].value), 0, len(c.choices[best].text), problem{}
}

// startsNumber tells whether an input starts with an integer, so that a state
// that nobody listed is told apart from a text that is no state at all.
func startsNumber(in []byte) bool {
	i := skipSpace(in)
	if i < len(in) && (in[i] == '-' || in[i] == '+') {
		i++
	}
	return i < len(in) && isDigit(in[i])
}

func (c *enumConv) print(dst []byte, v Value) ([]byte, error) {
	n, ok := v.Int64()
	if !ok {
		return dst, fmt.Errorf("the number of a state is needed for %%{, not %s", v)
	}
	use := c.other
	for i := range c.choices {
		if i != c.other && c.choices[i].value == n {
			use = i
			break
		}
	}
	if use < 0 {
		return dst, fmt.Errorf("no text for the state %d in %%{", n)
	}
	for i, b := range c.choices[use].text {
		if !c.choices[use].any[i] {
			dst = append(dst, b)
		}
	}
	return dst, nil
}
