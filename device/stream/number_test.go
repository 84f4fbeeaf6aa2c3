package stream

import (
	"math"
	"testing"
)

// The inputs are those of StreamDevice's testInteger, with the width decided:
// integers have 64 bits, so that 0xffffffff is 4294967295 and never -1.
func TestSD31Integers(t *testing.T) {
	o := Options{IgnoreExtra: true, Direction: In}
	runMatch(t, o, []matchCase{
		{"%i", "12345", ints(12345), 0},
		{"%i", "-12345", ints(-12345), 0},
		{"%i", "   -12345", ints(-12345), 0},
		{"%i", "- 12345", nil, NoMatch},
		{"%i", "", nil, Short},
		{"%i", "   ", nil, Short},
		{"%i", " 0x12345", ints(74565), 0},
		{"%i", " 012345", ints(5349), 0},
		{"%i", "-0x12345", ints(-74565), 0},
		{"%i", "0xffffffff", ints(4294967295), 0},
		{"%i", "-0xffffffff", ints(-4294967295), 0},
		{"%i", "-0x2A", ints(-42), 0},
		{"%i", " 017", ints(15), 0},
		{"%i", "- 17", nil, NoMatch},
		{"%d", "12345", ints(12345), 0},
		{"%d", "   -12345", ints(-12345), 0},
		{"%d", " 012345", ints(12345), 0},
		{"%d", "017", ints(17), 0},
		{"%d", "--5", nil, NoMatch},
		{"%d", "+-5", nil, NoMatch},
		{"%u", "12345", vals(Uint(12345)), 0},
		{"%u", "-12345", nil, NoMatch},
		{"%u", "4294967295", vals(Uint(4294967295)), 0},
		{"%u", "-1", nil, NoMatch},
		{"%u", "-0xffffffff", nil, NoMatch},
		{"%x", "12345", vals(Uint(0x12345)), 0},
		{"%x", " 0x12345", vals(Uint(0x12345)), 0},
		{"%x", "FFE0", vals(Uint(65504)), 0},
		{"%X", "ffe0", vals(Uint(65504)), 0},
		{"%x", "0xffffffff", vals(Uint(0xffffffff)), 0},
		{"%x", "-12345", nil, NoMatch},
		{"%x", "- 12345", nil, NoMatch},
		{"%-x", "-1F", ints(-31), 0},
		{"%-x", "   -12345", ints(-74565), 0},
		{"%-x", "-0xffffffff", ints(-4294967295), 0},
		{"%o", "12345", vals(Uint(0o12345)), 0},
		{"%o", "  012345", vals(Uint(0o12345)), 0},
		{"%o", "-12345", nil, NoMatch},
		{"%-o", "-12345", ints(-5349), 0},
		{"%-o", "- 12345", nil, NoMatch},
		{"%4i", "12345", ints(1234), 0},
		{"%4i", "-12345", ints(-123), 0},
		{"%4i", "   12345", ints(1234), 0},
		{"%4i", "   -12345", ints(-123), 0},
		{"%4i", " 0x12345", ints(18), 0},
		{"%4i", " 012345", ints(83), 0},
		{"%4i", "-0x12345", ints(-1), 0},
		{"%4i", "0xffffffff", ints(255), 0},
		{"%4i", "-0xffffffff", ints(-15), 0},
		{"% 4i", "12345", ints(1234), 0},
		{"% 4i", "   12345", ints(1), 0},
		{"% 4i", "   -12345", nil, NoMatch},
		{"% 4i", "      1", nil, NoMatch},
		{"% 4i", " 0x12345", ints(1), 0},
		{"% 4i", " 012345", ints(10), 0},
		{"%#i", "- 12345", ints(-12345), 0},
		{"%#i", "+   12345", ints(12345), 0},
		{"%#i", "-", nil, NoMatch},
		{"%#i", " -  ", nil, NoMatch},
	})
	// A number cut in two is refused even where extra input is ignored.
	runMatch(t, o, []matchCase{
		{"%d", " 0x2A", nil, NoMatch},
		{"%d", "0 x2A", ints(0), 0},
		{"%d", "0xyz", ints(0), 0},
	})
	runMatch(t, Options{}, []matchCase{{"%d", " 0x2A", nil, Extra}, {"%d", "08", ints(8), 0}, {"%i", "08", nil, Extra}})
}

func TestSD31TwosComplementByDeclaredSize(t *testing.T) {
	f := mustParse(t, "%x", Options{})
	got, err := f.Match([]byte("FFE0"))
	if err != nil {
		t.Fatal(err)
	}
	for bits, want := range map[int]int64{16: -32, 32: 65504, 64: 65504, 8: 65504} {
		if n, ok := got[0].SignExtend(bits).Int64(); n != want || !ok {
			t.Errorf("FFE0 in %d bits: %d, want %d", bits, n, want)
		}
	}
	if v := Float(1).SignExtend(8); v != Float(1) {
		t.Errorf("a float changed: %v", v)
	}
	if v := Int(-3).SignExtend(8); v != Int(-3) {
		t.Errorf("a negative number changed: %v", v)
	}
}

func TestIntegersBeyond64BitsAreRefused(t *testing.T) {
	runMatch(t, Options{}, []matchCase{
		{"%d", "9223372036854775807", ints(math.MaxInt64), 0},
		{"%d", "9223372036854775808", vals(Uint(1 << 63)), 0},
		{"%d", "-9223372036854775808", ints(math.MinInt64), 0},
		{"%d", "-9223372036854775809", nil, OutOfRange},
		{"%d", "18446744073709551615", vals(Uint(math.MaxUint64)), 0},
		{"%d", "18446744073709551616", nil, OutOfRange},
		{"%u", "99999999999999999999", nil, OutOfRange},
		{"%x", "ffffffffffffffff", vals(Uint(math.MaxUint64)), 0},
		{"%x", "10000000000000000", nil, OutOfRange},
		{"%o", "1777777777777777777777", vals(Uint(math.MaxUint64)), 0},
		{"%o", "2000000000000000000000", nil, OutOfRange},
		{"%d", "00000000000000000000000000000000000000000000007", ints(7), 0},
		{"%?d", "x99", nil, Extra},
	})
}

// Inputs and results of StreamDevice's testDouble.
func TestFloatInput(t *testing.T) {
	runMatch(t, Options{Direction: In}, []matchCase{
		{"%f", "3.14159265359", floats(3.14159265359), 0},
		{"%f", "-3.14159265359", floats(-3.14159265359), 0},
		{"%f", "0", floats(0), 0},
		{"%f", "NAN", floats(math.NaN()), 0},
		{"%f", "-Inf", floats(math.Inf(-1)), 0},
		{"%f", "infinity", floats(math.Inf(1)), 0},
		{"%f", "1e6", floats(1e6), 0},
		{"%f", ".5", floats(0.5), 0},
		{"%f", "5.", floats(5), 0},
		{"%f", "+5E-3", floats(0.005), 0},
		{"%f", ".", nil, NoMatch},
		{"%f", "-.e5", nil, NoMatch},
		{"%f", "   -  3.14159265359", nil, NoMatch},
		{"%f", "bla", nil, NoMatch},
		{"%f", "-bla", nil, NoMatch},
		{"%f", "", nil, Short},
		{"%f", "info", nil, NoMatch},
		{"%f%s", "info", nil, NoMatch},
		{"%fK", "nanK", floats(math.NaN()), 0},
		{"%fK", "nanQ", nil, NoMatch},
		{"%f", "--5", nil, NoMatch},
		{"%f", "+-5", nil, NoMatch},
		{"%f", "1e", nil, Extra},
		{"%f", "0x1A", nil, Extra},
		{"%f", "1e999", nil, OutOfRange},
		{"%f", "1e-999", floats(0), 0},
		{"%g%s", "1e+x", vals(Float(1), Text("e+x")), 0},
		{"%6f%s", "3.14159265359", vals(Float(3.1415), Text("9265359")), 0},
		{"%6f%s", "     3.14159265359", vals(Float(3.1415), Text("9265359")), 0},
		{"%6f%s", "  10blabla", vals(Float(10), Text("blabla")), 0},
		{"%6f%s", "  1", vals(Float(1), Text("")), 0},
		{"% 6f%s", "     3.14159265359", vals(Float(3), Text(".14159265359")), 0},
		{"% 6f%s", "  10blabla", vals(Float(10), Text("blabla")), 0},
		{"%#f", "     -3.14159265359", floats(-3.14159265359), 0},
		{"%#f", "   -  3.14159265359", floats(-3.14159265359), 0},
		{"%#f", "   +  3.14159265359", floats(3.14159265359), 0},
		{"%#f", "   +-  3.14159265359", nil, NoMatch},
	})
}

// Output of StreamDevice's testDouble and testFormats, and of C's printf.
func TestNumberOutput(t *testing.T) {
	pi := Float(3.14159265359)
	runAppend(t, Options{Direction: Out}, []appendCase{
		{"|%f|%10f|%.2f|%- 10.5f|% f|%+f|%-5.1f|%#f|", vals(pi, pi, pi, pi, pi, pi, pi, pi), "|3.141593|  3.141593|3.14| 3.14159  | 3.141593|+3.141593|3.1  |3.141593|", false},
		{"%f|%10.0f|%+f|%-6E|%06f", vals(Float(math.Inf(1)), Float(math.NaN()), Float(math.NaN()), Float(math.Inf(-1)), Float(math.Inf(-1))), "inf|       nan|+nan|-INF  |  -inf", false},
		{"%.2f %.2e %.2E %.2g %.2G", floats(0, 0, 0, 0, 0), "0.00 0.00e+00 0.00E+00 0 0", false},
		{"%#.2f %#.2e %#.2E %#.2g %#.2G", floats(0, 0, 0, 0, 0), "0.00 0.00e+00 0.00E+00 0.0 0.0", false},
		{"%.2f %.2e %.2E %.2g %.2G", floats(10, 10, 10, 10, 10), "10.00 1.00e+01 1.00E+01 10 10", false},
		{"%#.2f %#.2e %#.2E %#.2g %#.2G", floats(10, 10, 10, 10, 10), "10.00 1.00e+01 1.00E+01 10. 10.", false},
		{"%.2f %.2e %.2g %#.2g", floats(1e-6, 1e-6, 1e-6, 1e-6), "0.00 1.00e-06 1e-06 1.0e-06", false},
		{"%g %g %g %g", floats(100000, 1000000, 0.0001, 0.00001), "100000 1e+06 0.0001 1e-05", false},
		{"%#g %#.0f %#.0e %.0f", floats(1.5, 2, 2, 2.5), "1.50000 2. 2.e+00 2", false},
		{"%.10g %.0g", floats(123456789012, 25), "1.23456789e+11 2e+01", false},
		{"%07.2f|%-07.2f|%+07.1f", floats(-1.5, -1.5, 2), "-001.50|-1.50  |+0002.0", false},
		{"%.3f", vals(Int(7)), "7.000", false},
		{"%f", vals(Text("7")), "", true},
		{"%i %d %u %o %04x %#i %#d %#u %#o %#06x", ints(32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767, 32767), "32767 32767 32767 77777 7fff 32767 32767 32767 077777 0x7fff", false},
		{"%o %04x %#o %#06x", ints(0, 0, 0, 0), "0 0000 0 000000", false},
		{
			"%06d %x %06X %b %06b %.6b %B.! %06B.!", vals(IntN(-1234, 32), IntN(-1234, 32), IntN(-1234, 32), IntN(-1234, 32), IntN(-1234, 32), IntN(-1234, 32), IntN(-1234, 32), IntN(-1234, 32)),
			"-01234 fffffb2e FFFB2E 11111111111111111111101100101110 11111111111111111111101100101110 101110 !!!!!!!!!!!!!!!!!!!!!.!!..!.!!!. !!!!!!!!!!!!!!!!!!!!!.!!..!.!!!.", false,
		},
		{
			"%06d %x %06X %b %06b %.6b %B.! %06B.!", ints(12345, 12345, 12345, 12345, 12345, 12345, 12345, 12345),
			"012345 3039 003039 11000000111001 11000000111001 111001 !!......!!!..! !!......!!!..!", false,
		},
		{"%x", ints(-1), "ffffffffffffffff", false},
		{"%x %4x %o", vals(IntN(-32, 16), Int(-32), IntN(-1, 8)), "ffe0 ffe0 377", false},
		{"%u", ints(-1), "", true},
		{"%d", vals(Float(1.5)), "", true},
		{"%d", vals(Float(-2)), "-2", false},
		{"%d", vals(Uint(math.MaxUint64)), "18446744073709551615", false},
		{"%d", ints(math.MinInt64), "-9223372036854775808", false},
		{"%d", vals(Text("1")), "", true},
		{"%5d|%-5d|%+d|% d|%.4d|%06.4d|%-+6d|", ints(42, 42, 42, 42, 42, 42, 42), "   42|42   |+42| 42|0042|  0042|+42   |", false},
		{"%#o|%#.5o|%#9o|%.0d", ints(42, 42, 42, 0), "052|00052|      052|0", false},
		{"%X %#X", ints(0xbeef, 0xbeef), "BEEF 0XBEEF", false},
	})
}

func TestSD21OverRangeTexts(t *testing.T) {
	for _, o := range []Options{{}, {IgnoreExtra: true}} {
		runMatch(t, o, []matchCase{
			{"%f", "+9.90000000E+37", floats(9.9e37), 0},
			{"%f", "-9.9E37", floats(-9.9e37), 0},
			{"%f", "9.91e37", floats(9.91e37), 0},
			{"%f", "OL", nil, NoMatch},
			{"%f", "------", nil, NoMatch},
			{"%f", "OVER", nil, NoMatch},
		})
	}
	runMatch(t, Options{}, []matchCase{{"%d", "+9.9e37", nil, Extra}})
	runMatch(t, Options{IgnoreExtra: true}, []matchCase{{"%d", "+9.9e37", nil, NoMatch}, {"%d", "9e37", nil, NoMatch}, {"%d", "9 V", ints(9), 0}})
}

func TestSD26DecimalComma(t *testing.T) {
	t.Setenv("LANG", "de_DE.UTF-8")
	t.Setenv("LC_ALL", "de_DE.UTF-8")
	runMatch(t, Options{}, []matchCase{
		{"%f", "230,5 V", nil, Extra},
		{"%f", "1,234", nil, Extra},
		{"%f", "1.234,5", nil, Extra},
		{"%f V", "230.5 V", floats(230.5), 0},
	})
	runMatch(t, Options{IgnoreExtra: true}, []matchCase{{"%f", "230,5 V", nil, NoMatch}, {"%f", "230.5 V", floats(230.5), 0}, {"%f", "1.2.3", nil, NoMatch}, {`%f\_`, "230,5 V", nil, NoMatch}, {"%f,%d", "1,5 V", vals(Float(1), Int(5)), 0}})
	comma := Options{DecimalComma: true}
	runMatch(t, comma, []matchCase{
		{"%f V", "230,5 V", floats(230.5), 0},
		{"%f", "-0,66", floats(-0.66), 0},
		{"%f", "1.234,5", nil, Extra},
		{"%f", "1,2e3", floats(1200), 0},
	})
	runAppend(t, comma, []appendCase{{"%g", floats(0.5), "0.5", false}})
}

// Values of StreamDevice's testFormatm.
func TestMantissaExponent(t *testing.T) {
	all := func(f float64) []Value { return floats(f, f, f, f, f, f, f) }
	const format = "'%m' '%.4m' '%+.4m' '% .4m' '% +.4m' '%10.4m' '%-10.4m'"
	runAppend(t, Options{}, []appendCase{
		{format, all(0), "'000000+00' '0000+00' '+0000+00' ' 0000+00' '+0000+00' '   0000+00' '0000+00   '", false},
		{format, all(1), "'100000-05' '1000-03' '+1000-03' ' 1000-03' '+1000-03' '   1000-03' '1000-03   '", false},
		{format, all(1000), "'100000-02' '1000+00' '+1000+00' ' 1000+00' '+1000+00' '   1000+00' '1000+00   '", false},
		{format, all(1000000), "'100000+01' '1000+03' '+1000+03' ' 1000+03' '+1000+03' '   1000+03' '1000+03   '", false},
		{format, all(-1), "'-100000-05' '-1000-03' '-1000-03' '-1000-03' '-1000-03' '  -1000-03' '-1000-03  '", false},
		{format, all(12345), "'123450-01' '1235+01' '+1235+01' ' 1235+01' '+1235+01' '   1235+01' '1235+01   '", false},
		{format, all(-1.2345e-15), "'-123450-20' '-1235-18' '-1235-18' '-1235-18' '-1235-18' '  -1235-18' '-1235-18  '", false},
		{format, all(1e-100), "'100000-105' '1000-103' '+1000-103' ' 1000-103' '+1000-103' '  1000-103' '1000-103  '", false},
		{"%.2m", floats(9.996), "10+00", false},
		{"%m", floats(math.NaN()), "", true},
	})
	runMatch(t, Options{}, []matchCase{
		{"%m", "+1234+56", floats(1.234e59), 0},
		{"%m", "-1234-56", floats(-1.234e-53), 0},
		{"%m", "-12340000-60", floats(-1.234e-53), 0},
		{"%m", "+00000000+0", floats(0), 0},
		{"%m", "+123-4", floats(0.0123), 0},
		{"%m", "123", nil, NoMatch},
		{"%m", "123 4", nil, NoMatch},
		{"%m", "123-", nil, NoMatch},
		{"%m", "1+999", nil, OutOfRange},
	})
}
