package stream

import (
	"fmt"
	"math"
	"strconv"
)

// floatConv is %f %e %E %g %G.
type floatConv struct {
	spec  spec
	point byte // of the input
	want  string
}

func buildFloat(p *parser, it *item) error {
	c := &floatConv{spec: it.spec, point: '.', want: wantNumber(it.spec.verb)}
	if p.opts.DecimalComma {
		c.point = ','
	}
	it.op, it.conv = opValue, c
	return nil
}

func (c *floatConv) kind() Kind { return KindFloat }

func (c *floatConv) scan(in []byte) (Value, int, int, problem) {
	start, body, neg, field := c.spec.numberStart(in)
	if v, n := special(field[body:]); n > 0 {
		if neg {
			v = math.Copysign(v, -1)
		}
		return Float(v), start, body + n, problem{}
	}
	n := c.length(field[body:])
	want := problem{reason: NoMatch, at: min(start, len(in)), want: c.want}
	if n == 0 {
		return Value{}, 0, 0, want
	}
	v, err := parseFloat(field[body:body+n], c.point)
	if err != nil {
		want.reason = OutOfRange
		want.want += " within the range of a float64"
		return Value{}, 0, 0, want
	}
	if neg {
		v = -v
	}
	return Float(v), start, body + n, problem{}
}

// length measures an unsigned decimal number: digits with at most one point,
// and an exponent if it has digits. There are no hexadecimal numbers.
func (c *floatConv) length(b []byte) int {
	i, digits := 0, 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		digits++
	}
	if i < len(b) && b[i] == c.point {
		j := i + 1
		for ; j < len(b) && isDigit(b[j]); j++ {
			digits++
		}
		if digits > 0 {
			i = j
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		j := i + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		if j < len(b) && isDigit(b[j]) {
			for j < len(b) && isDigit(b[j]) {
				j++
			}
			i = j
		}
	}
	return i
}

// parseFloat reads what length measured.
func parseFloat(b []byte, point byte) (float64, error) {
	if point == '.' {
		return strconv.ParseFloat(string(b), 64)
	}
	var buf [64]byte
	text := append(buf[:0], b...)
	for i, c := range text {
		if c == point {
			text[i] = '.'
		}
	}
	return strconv.ParseFloat(string(text), 64)
}

// special reads inf, infinity and nan in any case, and returns their length.
func special(b []byte) (float64, int) {
	if len(b) == 0 || !isAlpha(b[0]) {
		return 0, 0
	}
	for _, w := range []struct {
		word  string
		value float64
	}{{"infinity", math.Inf(1)}, {"inf", math.Inf(1)}, {"nan", math.NaN()}} {
		if len(b) >= len(w.word) && equalFold(b[:len(w.word)], w.word) {
			return w.value, len(w.word)
		}
	}
	return 0, 0
}

func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// equalFold compares bytes with a lower case ASCII word of the same length.
func equalFold(b []byte, word string) bool {
	for i := range word {
		if c := b[i]; c != word[i] && !(isAlpha(c) && c|0x20 == word[i]) {
			return false
		}
	}
	return true
}

func (c *floatConv) print(dst []byte, v Value) ([]byte, error) {
	f, ok := v.Float64()
	if !ok {
		return dst, fmt.Errorf("%w for %%%c, not %s", errNoNumber, c.spec.verb, v)
	}
	s := &c.spec
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return s.printSpecial(dst, f), nil
	}
	prec := s.prec
	if prec < 0 {
		prec = 6
	}
	if prec == 0 && (s.verb == 'g' || s.verb == 'G') {
		prec = 1
	}
	var buf [64]byte
	digits := strconv.AppendFloat(buf[:0], math.Abs(f), s.verb, prec, 64)
	if s.alt {
		digits = keepPoint(digits, s.verb, prec)
	}
	return s.pad(dst, s.sign(math.Signbit(f)), digits, 0), nil
}

// printSpecial writes infinities and NaN as C does: never padded with zeros.
func (s spec) printSpecial(dst []byte, f float64) []byte {
	word := "inf"
	if math.IsNaN(f) {
		word = "nan"
	}
	text := []byte(word)
	if s.verb == 'E' || s.verb == 'G' {
		upper(text)
	}
	s.zero = false
	return s.pad(dst, s.sign(math.IsInf(f, -1)), text, 0)
}

// keepPoint does what the flag # asks for: there is always a point, and the
// general form keeps its trailing zeros up to prec significant digits.
func keepPoint(digits []byte, verb byte, prec int) []byte {
	mantissa, exponent := digits, []byte(nil)
	for i, c := range digits {
		if c == 'e' || c == 'E' {
			mantissa, exponent = digits[:i], append([]byte(nil), digits[i:]...)
			break
		}
	}
	point, significant, nonzero := false, 0, false
	for _, c := range mantissa {
		if c == '.' {
			point = true
			continue
		}
		nonzero = nonzero || c != '0'
		if nonzero {
			significant++
		}
	}
	if !nonzero {
		significant = 1 // the 0 itself
	}
	if !point {
		mantissa = append(mantissa, '.')
	}
	if verb == 'g' || verb == 'G' {
		mantissa = appendN(mantissa, '0', prec-significant)
	}
	return append(mantissa, exponent...)
}
