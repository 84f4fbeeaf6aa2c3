package stream

import "fmt"

// escapeKind tells what a backslash sequence stands for.
type escapeKind uint8

const (
	escByte    escapeKind = iota // a byte by its number or by a control letter
	escLiteral                   // the character itself: \% \" \\ \] \| ...
	escAny                       // \?
	escSpace                     // \_
)

// escape is one decoded backslash sequence.
type escape struct {
	kind escapeKind
	b    byte
	ref  int // the value of a decimal sequence \1 to \9, for substitutions; else 0
}

// readEscape decodes the sequence that starts with the backslash text[i] and
// returns the index behind it. Unlike in C, digits that start with 1 to 9 are
// a decimal byte number and only a leading 0 makes it octal.
func readEscape(text string, i int) (escape, int, error) {
	start := i
	i++
	if i >= len(text) {
		return escape{}, i, &SyntaxError{Offset: start, Msg: `a backslash at the end: write \\ for one backslash`}
	}
	switch c := text[i]; c {
	case '?':
		return escape{kind: escAny, b: '?'}, i + 1, nil
	case '_':
		return escape{kind: escSpace, b: '_'}, i + 1, nil
	case 'a':
		return escape{b: 7}, i + 1, nil
	case 'b':
		return escape{b: 8}, i + 1, nil
	case 't':
		return escape{b: 9}, i + 1, nil
	case 'n':
		return escape{b: 10}, i + 1, nil
	case 'r':
		return escape{b: 13}, i + 1, nil
	case 'e':
		return escape{b: 27}, i + 1, nil
	case 'x':
		n, end := readNumber(text, i+1, 2, 16)
		if end == i+1 {
			return escape{}, i, &SyntaxError{Offset: start, Msg: `\x needs one or two hexadecimal digits, as in \x0d`}
		}
		return escape{b: byte(n)}, end, nil
	case '0':
		n, end := readNumber(text, i, 4, 8)
		if n > 0xff {
			return escape{}, i, &SyntaxError{Offset: start, Msg: fmt.Sprintf(`octal %s is more than a byte: the largest is \0377`, text[start:end])}
		}
		return escape{b: byte(n)}, end, nil
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		n, end := readNumber(text, i, 3, 10)
		if n > 0xff {
			return escape{}, i, &SyntaxError{Offset: start, Msg: fmt.Sprintf(`decimal %s is more than a byte: the largest is \255`, text[start:end])}
		}
		return escape{b: byte(n), ref: n}, end, nil
	case '$':
		return escape{}, i, &SyntaxError{Offset: start, Msg: `\$ would be a protocol variable, which do not exist here: write $ for a dollar sign`}
	default:
		return escape{kind: escLiteral, b: c}, i + 1, nil
	}
}

// readNumber reads at most max digits of the base from text[i:].
func readNumber(text string, i, max, base int) (n, end int) {
	for end = i; end < len(text) && end < i+max; end++ {
		d := digit(text[end])
		if d >= base {
			break
		}
		n = n*base + d
	}
	return n, end
}

// digit returns the value of a digit of any base up to 16, or 99.
func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return 99
}

// isSpace is C's isspace in the C locale.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// isDigit tells decimal digits.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// skipSpace returns the index of the first byte of in that is no white space.
func skipSpace(in []byte) int {
	i := 0
	for i < len(in) && isSpace(in[i]) {
		i++
	}
	return i
}
