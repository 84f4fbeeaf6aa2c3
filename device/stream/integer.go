package stream

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// intConv is %d %i %u %o %x %X.
type intConv struct {
	spec spec
	want string
}

func buildInteger(_ *parser, it *item) error {
	it.op, it.conv = opValue, &intConv{spec: it.spec, want: wantNumber(it.spec.verb)}
	return nil
}

// signed tells whether negative numbers are read. As in StreamDevice, the
// flag - allows them for %o and %x.
func (c *intConv) signed() bool {
	switch c.spec.verb {
	case 'd', 'i':
		return true
	case 'u':
		return false
	}
	return c.spec.left
}

func (c *intConv) kind() Kind {
	if c.signed() {
		return KindInt
	}
	return KindUint
}

// wantNumber names what a numeric converter reads.
func wantNumber(verb byte) string {
	switch verb {
	case 'd':
		return "a decimal number for %d"
	case 'i':
		return "an integer for %i"
	case 'u':
		return "an unsigned number for %u"
	case 'o':
		return "an octal number for %o"
	case 'x', 'X':
		return "a hexadecimal number for %" + string(verb)
	}
	return "a floating point number for %" + string(verb)
}

// isDecimal tells the converters that read decimal numbers.
func isDecimal(verb byte) bool {
	switch verb {
	case 'd', 'i', 'u', 'f', 'e', 'E', 'g', 'G':
		return true
	}
	return false
}

// continuesNumber tells whether rest carries on the number that ended with
// the byte last.
func continuesNumber(last byte, rest []byte) bool {
	at := func(i int) byte {
		if i < len(rest) {
			return rest[i]
		}
		return 0
	}
	switch at(0) {
	case '.', ',':
		return isDigit(at(1))
	case 'e', 'E':
		return isDigit(at(1)) || (at(1) == '-' || at(1) == '+') && isDigit(at(2))
	case 'x', 'X':
		return last == '0' && digit(at(1)) < 16
	}
	return isDigit(at(0))
}

// numberStart skips white space and reads the sign of a number. field is the
// bytes that may belong to it: the width counts from the sign on, or, with
// the blank flag, from the first blank on.
func (s *spec) numberStart(in []byte) (start, body int, neg bool, field []byte) {
	start = skipSpace(in)
	first := start
	if s.space {
		first = 0
	}
	end := len(in)
	if s.width > 0 && end > first+s.width {
		end = first + s.width
	}
	if start > end {
		start = end
	}
	field = in[:end]
	body = start
	if body < end && (in[body] == '+' || in[body] == '-') {
		neg = in[body] == '-'
		body++
		if s.alt {
			body += skipSpace(field[body:])
		}
	}
	if s.space {
		start = 0
	}
	return start, body, neg, field
}

func (c *intConv) scan(in []byte) (Value, int, int, problem) {
	start, body, neg, field := c.spec.numberStart(in)
	failed := func(r Reason) (Value, int, int, problem) {
		return Value{}, 0, 0, problem{reason: r, at: min(start, len(in)), want: c.want}
	}
	if neg && !c.signed() {
		return failed(NoMatch)
	}
	base, i := c.base(field, body)
	first := i
	var n uint64
	overflow := false
	for ; i < len(field); i++ {
		d := digit(field[i])
		if d >= base {
			break
		}
		if n > (math.MaxUint64-uint64(d))/uint64(base) {
			overflow = true
		}
		n = n*uint64(base) + uint64(d)
	}
	switch {
	case i == first:
		return failed(NoMatch)
	case overflow, neg && n > 1<<63:
		v, s, e, p := failed(OutOfRange)
		p.want += " of at most 64 bits"
		return v, s, e, p
	}
	return c.value(n, neg), start, i, problem{}
}

// value gives the number its kind.
func (c *intConv) value(n uint64, neg bool) Value {
	switch {
	case neg:
		return Int(int64(-n))
	case !c.signed(), n > math.MaxInt64:
		return Uint(n)
	}
	return Int(int64(n))
}

// base returns the base and where the digits start, behind a 0x that has
// digits behind it. As in C, a lone 0x is the number 0 and an x.
func (c *intConv) base(field []byte, i int) (base, digits int) {
	hex := i+2 < len(field) && field[i] == '0' && (field[i+1] == 'x' || field[i+1] == 'X') && digit(field[i+2]) < 16
	switch c.spec.verb {
	case 'o':
		return 8, i
	case 'x', 'X':
		if hex {
			i += 2
		}
		return 16, i
	case 'i':
		if hex {
			return 16, i + 2
		}
		if i < len(field) && field[i] == '0' {
			return 8, i
		}
	}
	return 10, i
}

func (c *intConv) print(dst []byte, v Value) ([]byte, error) {
	s := &c.spec
	var sign, prefix string
	var n uint64
	switch s.verb {
	case 'd', 'i':
		neg := false
		if i, ok := v.Int64(); ok && i < 0 {
			n, neg = uint64(-i), true
		} else if n, ok = v.Uint64(); !ok {
			return dst, notInteger(v, s.verb)
		}
		sign = s.sign(neg)
	case 'u':
		var ok bool
		if n, ok = v.Uint64(); !ok {
			return dst, notInteger(v, s.verb)
		}
	default:
		var ok bool
		if n, ok = v.pattern(); !ok {
			return dst, notInteger(v, s.verb)
		}
	}
	var buf [24]byte // 64 bits in octal are 22 digits
	digits := buf[:0]
	switch s.verb {
	case 'o':
		if s.alt && n != 0 {
			digits = append(digits, '0') // It counts as a digit.
		}
		digits = strconv.AppendUint(digits, n, 8)
	case 'x', 'X':
		// The width truncates, as in StreamDevice: only so many half bytes.
		if s.width > 0 && s.width < 16 {
			n &= 1<<(4*s.width) - 1
		}
		digits = strconv.AppendUint(digits, n, 16)
		if s.alt && n != 0 {
			prefix = "0" + string(s.verb)
		}
		if s.verb == 'X' {
			upper(digits)
		}
	default:
		digits = strconv.AppendUint(digits, n, 10)
	}
	return s.pad(dst, sign+prefix, digits, s.prec-len(digits)), nil
}

func notInteger(v Value, verb byte) error {
	if i, ok := v.Int64(); ok && i < 0 {
		return fmt.Errorf("%d is negative and %%%c writes unsigned numbers", i, verb)
	}
	return fmt.Errorf("%s is no integer for %%%c", v, verb)
}

var errNoNumber = errors.New("a number is needed")

// sign returns what stands in front of a number.
func (s *spec) sign(neg bool) string {
	switch {
	case neg:
		return "-"
	case s.plus:
		return "+"
	case s.space:
		return " "
	}
	return ""
}

// pad appends a number in its width, as printf does: blanks on the left, or
// on the right with the flag -, or zeros between sign and digits with the
// flag 0, which a precision of an integer overrules.
func (s *spec) pad(dst []byte, front string, digits []byte, zeros int) []byte {
	zeros = max(zeros, 0)
	fill := max(s.width-len(front)-len(digits)-zeros, 0)
	if s.zero && !s.left && (s.prec < 0 || !isInteger(s.verb)) {
		zeros, fill = zeros+fill, 0
	}
	if !s.left {
		dst = appendN(dst, ' ', fill)
	}
	dst = append(dst, front...)
	dst = appendN(dst, '0', zeros)
	dst = append(dst, digits...)
	if s.left {
		dst = appendN(dst, ' ', fill)
	}
	return dst
}

func isInteger(verb byte) bool {
	switch verb {
	case 'd', 'i', 'u', 'o', 'x', 'X':
		return true
	}
	return false
}

// appendN appends a byte n times.
func appendN(dst []byte, b byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, b)
	}
	return dst
}

// upper changes ASCII letters to upper case in place.
func upper(b []byte) {
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
}

// lower changes ASCII letters to lower case in place.
func lower(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c - 'A' + 'a'
		}
	}
}
