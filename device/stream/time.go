package stream

import (
	"strings"
	"time"
)

// timeConv is %T: a time stamp as seconds since 1970-01-01 00:00:00 UTC.
type timeConv struct {
	steps  []timeStep
	digits int // the most fractional digits of any step
	zone   *time.Location
	now    func() time.Time
}

// timeStep is one conversion of a time format, or literal text.
type timeStep struct {
	verb    byte // 0 is literal; 'f' a fraction of n digits; '+' a fixed zone
	n       int  // digits of 'f', seconds east of '+'
	literal string
}

// defaultTime is the format of a %T without one.
const defaultTime = "%Y-%m-%d %H:%M:%S"

// shortcut returns what a conversion stands for in the C locale, or "".
func shortcut(verb byte) string {
	switch verb {
	case 'c':
		return "%a %b %e %H:%M:%S %Y"
	case 'D', 'x':
		return "%m/%d/%y"
	case 'F':
		return "%Y-%m-%d"
	case 'R':
		return "%H:%M"
	case 'r':
		return "%I:%M:%S %p"
	case 'T', 'X':
		return "%H:%M:%S"
	}
	return ""
}

// timeVerbs are the conversions that are no shortcuts.
const timeVerbs = "aAbBhCdegGHIjklmMpPsSuUVwWyYzZ"

func buildTime(p *parser, it *item) error {
	c := &timeConv{zone: p.opts.Location, now: p.opts.Now}
	if c.zone == nil {
		c.zone = time.UTC
	}
	if c.now == nil {
		c.now = time.Now
	}
	it.op, it.conv = opValue, c
	if p.peek() != '(' {
		return c.add(defaultTime)
	}
	p.pos++
	for p.peek() != ')' {
		switch p.peek() {
		case 0:
			if p.pos >= len(p.text) {
				return fail(it.spec.offset, "the ) at the end of the time format is missing; a ) inside is written \\)")
			}
			p.pos++
			c.literal("\x00")
		case '\\':
			b, _, err := p.setByte()
			if err != nil {
				return err
			}
			c.literal(string([]byte{b}))
		case '%':
			if err := c.conversion(p); err != nil {
				return err
			}
		default:
			c.literal(p.text[p.pos : p.pos+1])
			p.pos++
		}
	}
	p.pos++
	return nil
}

func (c *timeConv) literal(s string) {
	if n := len(c.steps); n > 0 && c.steps[n-1].verb == 0 {
		c.steps[n-1].literal += s
		return
	}
	c.steps = append(c.steps, timeStep{literal: s})
}

// add compiles a text of this package, without escapes.
func (c *timeConv) add(format string) error {
	q := &parser{text: format}
	for q.pos < len(q.text) {
		if q.text[q.pos] != '%' {
			c.literal(q.text[q.pos : q.pos+1])
			q.pos++
			continue
		}
		if err := c.conversion(q); err != nil {
			return err
		}
	}
	return nil
}

// conversion compiles one % of a time format.
func (c *timeConv) conversion(p *parser) error {
	at := p.pos
	p.pos++
	for p.peek() == 'E' || p.peek() == 'O' { // Alternative forms of other locales.
		p.pos++
	}
	verb := p.peek()
	switch {
	case verb == '+' || verb == '-':
		return c.fixedZone(p, at)
	case verb == '.': // Seconds with a fraction: %.3S.
		p.pos++
		n, err := p.fractionDigits(at)
		if err != nil {
			return err
		}
		if p.peek() != 'S' {
			return fail(at, "S is expected, as in %%.3S (seconds with three fractional digits)")
		}
		p.pos++
		c.steps = append(c.steps, timeStep{verb: 'S'})
		c.literal(".")
		c.fraction(n)
		return nil
	case verb == 'f' || isDigit(verb): // A fraction: %3f, %03f, %f.
		n, err := p.fractionDigits(at)
		if err != nil {
			return err
		}
		if p.peek() != 'f' {
			return fail(at, "f is expected, as in %%3f (three fractional digits)")
		}
		p.pos++
		c.fraction(n)
		return nil
	}
	p.pos++
	switch {
	case verb == 'N':
		c.fraction(9)
	case verb == '%':
		c.literal("%")
	case verb == 'n':
		c.literal("\n")
	case verb == 't':
		c.literal("\t")
	case shortcut(verb) != "":
		return c.add(shortcut(verb))
	case verb != 0 && strings.IndexByte(timeVerbs, verb) >= 0:
		c.steps = append(c.steps, timeStep{verb: verb})
	default:
		return fail(at, "no such time conversion; there are %s, cDFRrTXxnt%% and fractions as %%.3S, %%3f, %%N", timeVerbs)
	}
	return nil
}

// fractionDigits reads how many digits a fraction has, 6 if nothing says so.
func (p *parser) fractionDigits(at int) (int, error) {
	n, end := readNumber(p.text, p.pos, 4, 10)
	if end == p.pos {
		return 6, nil
	}
	p.pos = end
	if n < 1 || n > 9 {
		return 0, fail(at, "a fraction of a second has 1 to 9 digits")
	}
	return n, nil
}

func (c *timeConv) fraction(n int) {
	c.steps = append(c.steps, timeStep{verb: 'f', n: n})
	c.digits = max(c.digits, n)
}

// fixedZone reads %+hhmm or %-hhmm, the zone of a time that names none.
func (c *timeConv) fixedZone(p *parser, at int) error {
	east, end, ok := zoneOffset(p.text[p.pos:])
	if !ok {
		return fail(at, "a zone is expected as %%+hhmm or %%-hhmm, as in %%+0100")
	}
	p.pos += end
	c.steps = append(c.steps, timeStep{verb: '+', n: east})
	return nil
}

// zoneOffset reads +hhmm or -hhmm, and returns the seconds east of Greenwich.
func zoneOffset[T string | []byte](s T) (east, end int, ok bool) {
	if len(s) < 5 || s[0] != '+' && s[0] != '-' {
		return 0, 0, false
	}
	for i := 1; i < 5; i++ {
		if !isDigit(s[i]) {
			return 0, 0, false
		}
	}
	hours := int(s[1]-'0')*10 + int(s[2]-'0')
	minutes := int(s[3]-'0')*10 + int(s[4]-'0')
	if hours > 24 || minutes > 59 {
		return 0, 0, false
	}
	east = hours*3600 + minutes*60
	if s[0] == '-' {
		east = -east
	}
	return east, 5, true
}

func (c *timeConv) kind() Kind { return KindFloat }
