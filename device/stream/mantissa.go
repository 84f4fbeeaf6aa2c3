package stream

import (
	"fmt"
	"math"
	"strconv"
)

// mantissaConv is %m: a mantissa and a signed exponent, both integers, with
// nothing between them: +123-4 is 0.0123.
type mantissaConv struct{ spec spec }

func buildMantissa(_ *parser, it *item) error {
	if it.spec.prec == 0 {
		return fail(it.spec.offset, "the precision of %%m is the number of digits and at least 1")
	}
	it.op, it.conv = opValue, &mantissaConv{it.spec}
	return nil
}

func (c *mantissaConv) kind() Kind { return KindFloat }

func (c *mantissaConv) scan(in []byte) (Value, int, int, problem) {
	start, body, neg, field := c.spec.numberStart(in)
	i := body
	for i < len(field) && isDigit(field[i]) {
		i++
	}
	mantissa := i
	if i < len(field) && (field[i] == '+' || field[i] == '-') {
		i++
	}
	exponent := i
	for i < len(field) && isDigit(field[i]) {
		i++
	}
	want := problem{reason: NoMatch, at: min(start, len(in)), want: "mantissa and signed exponent for %m, as in 123-4"}
	if mantissa == body || exponent == mantissa || i == exponent {
		return Value{}, 0, 0, want
	}
	var buf [64]byte
	text := append(buf[:0], field[body:mantissa]...)
	text = append(append(text, 'e'), field[mantissa:i]...)
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		want.reason = OutOfRange
		return Value{}, 0, 0, want
	}
	if neg {
		v = -v
	}
	return Float(v), start, i, problem{}
}

// print writes the precision's digits (6), the first of them not 0, and an
// exponent of at least two digits.
func (c *mantissaConv) print(dst []byte, v Value) ([]byte, error) {
	f, ok := v.Float64()
	if !ok {
		return dst, fmt.Errorf("%w for %%m, not %s", errNoNumber, v)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return dst, fmt.Errorf("%s cannot be written by %%m", v)
	}
	prec := c.spec.prec
	if prec < 0 {
		prec = 6
	}
	digits, exponent := decimal(math.Abs(f), prec)
	sign := byte('+')
	if exponent < 0 {
		sign, exponent = '-', -exponent
	}
	digits = append(digits, sign)
	if exponent < 10 {
		digits = append(digits, '0')
	}
	digits = strconv.AppendInt(digits, int64(exponent), 10)
	return c.spec.pad(dst, c.spec.sign(f < 0), digits, 0), nil
}

// decimal returns prec digits of f and the power of ten of the last of them.
// It rounds half up from the shortest decimal form, so that 12345 in four
// digits is 1235 as everybody expects, whatever its binary form.
func decimal(f float64, prec int) ([]byte, int) {
	if f == 0 {
		return appendN(nil, '0', prec), 0
	}
	short := strconv.AppendFloat(nil, f, 'e', -1, 64)
	digits, i := make([]byte, 0, prec+8), 0
	for ; short[i] != 'e'; i++ {
		if short[i] != '.' {
			digits = append(digits, short[i])
		}
	}
	exponent, _ := strconv.Atoi(string(short[i+1:])) // AppendFloat wrote it.
	if len(digits) > prec {
		up := digits[prec] >= '5'
		digits = digits[:prec]
		for j := prec - 1; up && j >= 0; j-- {
			digits[j]++
			if up = digits[j] > '9'; up {
				digits[j] = '0'
			}
		}
		if up { // All were 9: the digits are now 1 and zeros.
			digits[0] = '1'
			exponent++
		}
	}
	return appendN(digits, '0', prec-len(digits)), exponent - prec + 1
}
