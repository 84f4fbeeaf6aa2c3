package stream

import (
	"strings"
	"unicode/utf8"
)

// suspicious looks for slips that real protocol files contain and that the
// language itself cannot refuse.
func (f *Format) suspicious() []SyntaxError {
	var out []SyntaxError
	warn := func(offset int, msg string) { out = append(out, SyntaxError{Offset: offset, Msg: msg}) }
	for i := range f.items {
		it := &f.items[i]
		at := it.spec.offset
		switch {
		case it.op == opLiteral:
			if i := strings.IndexByte(it.literal, '{'); i >= 0 && isList(it.literal[i:]) {
				warn(at, "the texts in braces are literal here: states are written with a percent sign, %{a|b}")
			}
			if doubled(it.literal) {
				warn(at, `a letter from 0x80 to 0xff stands here in UTF-8, which is two bytes: one byte is written as \xb5, in single quotes in YAML`)
			}
		case it.spec.verb == 'r' && f.opts.Direction == Out && it.spec.width > 1 && it.spec.prec < 0:
			warn(at, "this writes one byte of the value, extended to the width: all its bytes are written by a precision, as in %.2r")
		}
	}
	return out
}

// isList tells whether a text that starts with a brace looks like {a|b}.
func isList(s string) bool {
	end := strings.IndexByte(s, '}')
	return end > 0 && strings.IndexByte(s[:end], '|') > 0
}

// doubled tells whether a text contains the UTF-8 form of a letter that is
// one byte in Latin-1.
func doubled(s string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if size == 2 && r <= 0xff {
			return true
		}
		i += size
	}
	return false
}
