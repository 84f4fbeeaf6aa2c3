package stream

import "strings"

// rule says which flags and sizes mean something to a converter. What means
// nothing is refused, since whoever wrote it expected an effect.
type rule struct {
	verb    byte
	flags   string // of "#-+ 0"
	width   bool
	prec    precision
	inOnly  bool
	build   func(*parser, *item) error
	doc     string // how the verb is written in docs/formats.md
	example string // a text that uses it
}

// precision says where a precision means something.
type precision uint8

const (
	noPrecision  precision = iota
	outPrecision           // in output only
	anyPrecision           // in both directions
)

// rules lists every converter, in the order of the documentation. It is a
// function and not a variable because the builders refer back to the parser.
func rules() []rule {
	return []rule{
		{verb: 'f', flags: "#-+ 0", width: true, prec: outPrecision, build: buildFloat, doc: "%f", example: "%f"},
		{verb: 'e', flags: "#-+ 0", width: true, prec: outPrecision, build: buildFloat, doc: "%e", example: "%e"},
		{verb: 'E', flags: "#-+ 0", width: true, prec: outPrecision, build: buildFloat, doc: "%E", example: "%E"},
		{verb: 'g', flags: "#-+ 0", width: true, prec: outPrecision, build: buildFloat, doc: "%g", example: "%g"},
		{verb: 'G', flags: "#-+ 0", width: true, prec: outPrecision, build: buildFloat, doc: "%G", example: "%G"},
		{verb: 'd', flags: "#-+ 0", width: true, prec: outPrecision, build: buildInteger, doc: "%d", example: "%d"},
		{verb: 'i', flags: "#-+ 0", width: true, prec: outPrecision, build: buildInteger, doc: "%i", example: "%i"},
		{verb: 'u', flags: "#-+ 0", width: true, prec: outPrecision, build: buildInteger, doc: "%u", example: "%u"},
		{verb: 'o', flags: "#-+ 0", width: true, prec: outPrecision, build: buildInteger, doc: "%o", example: "%o"},
		{verb: 'x', flags: "#-+ 0", width: true, prec: outPrecision, build: buildInteger, doc: "%x", example: "%x"},
		{verb: 'X', flags: "#-+ 0", width: true, prec: outPrecision, build: buildInteger, doc: "%X", example: "%X"},
		{verb: 's', flags: "#- 0", width: true, prec: outPrecision, build: buildString, doc: "%s", example: "%s"},
		{verb: 'c', flags: "-", width: true, build: buildChar, doc: "%c", example: "%c"},
		{verb: '[', width: true, inOnly: true, build: buildCharset, doc: "%[set]", example: "%[a-z]"},
		{verb: '{', flags: "#", width: true, build: buildEnum, doc: "%{a\\|b}", example: "%{a|b}"},
		{verb: 'b', flags: "#-0", width: true, prec: outPrecision, build: buildBinary, doc: "%b", example: "%b"},
		{verb: 'B', flags: "#-0", width: true, prec: outPrecision, build: buildBinary, doc: "%Bxy", example: "%B.!"},
		{verb: 'r', flags: "#0", width: true, prec: anyPrecision, build: buildRaw, doc: "%r", example: "%r"},
		{verb: 'R', flags: "#", width: true, build: buildRawFloat, doc: "%R", example: "%R"},
		{verb: 'D', flags: "#+", width: true, prec: outPrecision, build: buildBCD, doc: "%D", example: "%D"},
		{verb: '<', flags: "#-+0", width: true, prec: anyPrecision, build: buildChecksum, doc: "%<checksum>", example: "%<sum>"},
		{verb: '/', flags: "#-+", width: true, prec: anyPrecision, build: buildRegex, doc: "%/regex/", example: "%/a/"},
		{verb: 'm', flags: "-+ ", width: true, prec: outPrecision, build: buildMantissa, doc: "%m", example: "%m"},
		{verb: 'T', build: buildTime, doc: "%T", example: "%T"},
	}
}

// lookup finds a converter.
func lookup(verb byte) (func(*parser, *item) error, rule) {
	for _, r := range rules() {
		if r.verb == verb {
			return r.build, r
		}
	}
	return nil, rule{}
}

// verbs lists the converters for a message.
func verbs() string {
	var b strings.Builder
	for i, r := range rules() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('%')
		b.WriteByte(r.verb)
	}
	return b.String()
}

// check refuses flags and sizes without a meaning.
func (s *spec) check(r rule, d Direction) error {
	for _, f := range []struct {
		set  bool
		flag byte
	}{{s.alt, '#'}, {s.left, '-'}, {s.plus, '+'}, {s.space, ' '}, {s.zero, '0'}} {
		if f.set && strings.IndexByte(r.flags, f.flag) < 0 {
			if r.flags == "" {
				return fail(s.offset, "%%%c has no flag %q", s.verb, f.flag)
			}
			return fail(s.offset, "%%%c has no flag %q, only %q", s.verb, f.flag, r.flags)
		}
	}
	switch {
	case s.width > 0 && !r.width:
		return fail(s.offset, "%%%c has no width", s.verb)
	case s.exact && (s.width == 0 || !r.width):
		return fail(s.offset, "the flag ! needs a width, as in %%!5d")
	case s.prec >= 0 && r.prec == noPrecision:
		return fail(s.offset, "%%%c has no precision", s.verb)
	case s.prec >= 0 && r.prec == outPrecision && d == In && !s.compare:
		return fail(s.offset, "%%%c has no precision in input: leave .%d away", s.verb, s.prec)
	case r.inOnly && d == Out:
		return fail(s.offset, "%%%c only exists in input", s.verb)
	case s.skip && s.compare:
		return fail(s.offset, "the flags * and = contradict each other")
	case s.skip && s.name != "":
		return fail(s.offset, "a skipped value (flag *) has no (name)")
	}
	return nil
}
