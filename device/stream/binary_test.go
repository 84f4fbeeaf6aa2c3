package stream

import (
	"math"
	"testing"
)

func TestBinary(t *testing.T) {
	runMatch(t, Options{}, []matchCase{
		{"%b", "1011", vals(Uint(11)), 0},
		{"%b", "  1011", vals(Uint(11)), 0},
		{"%#b", "1011", vals(Uint(13)), 0},
		{"%3b%s", "10112", vals(Uint(5), Text("12")), 0},
		{"%b", "2", nil, NoMatch},
		{"%b", "", nil, Short},
		{"%B.!", "!.!", vals(Uint(5)), 0},
		{`%B\x00\xff`, "\xff\x00", vals(Uint(2)), 0},
		{`%B\ 1`, " 1", vals(Uint(1)), 0},
		{"%b", "1111111111111111111111111111111111111111111111111111111111111111", vals(Uint(math.MaxUint64)), 0},
		{"%b", "11111111111111111111111111111111111111111111111111111111111111111", nil, OutOfRange},
		{"%b", "00000000000000000000000000000000000000000000000000000000000000000001", vals(Uint(1)), 0},
		{"%#b", "1000000000000000000000000000000000000000000000000000000000000000000", vals(Uint(1)), 0},
		{"%#b", "00000000000000000000000000000000000000000000000000000000000000001", nil, OutOfRange},
	})
	runAppend(t, Options{}, []appendCase{
		{"%b|%8b|%-8b|%08b|%.6b|%8.6b", ints(5, 5, 5, 5, 5, 5), "101|     101|101     |00000101|000101|  000101", false},
		{"%#b|%#8b|%-#8b|%#08b|%#.6b", ints(6, 6, 6, 6, 6), "011|     011|011     |01100000|011000", false},
		{"%b %B.!", ints(0, 0), "0 .", false},
		{"%06B.!", ints(5), "...!.!", false},
		{"%b", texts("1"), "", true},
	})
}

// Values of StreamDevice's testRaw.
func TestRawInteger(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{"%r %.1r %.2r %.3r %.4r %.5r", ints(269554195, 269554195, 269554195, 269554195, 269554195, 269554195), "\x13 \x13 \x12\x13 \x11\x12\x13 \x10\x11\x12\x13 \x00\x10\x11\x12\x13", false},
		{"%#r %#.2r %#.3r %#.4r %#.5r", ints(269554195, 269554195, 269554195, 269554195, 269554195), "\x13 \x13\x12 \x13\x12\x11 \x13\x12\x11\x10 \x13\x12\x11\x10\x00", false},
		{"%1r %2r %5r %01r %03r", ints(-559038737, -559038737, -559038737, -559038737, -559038737), "\xef \xff\xef \xff\xff\xff\xff\xef \xef \x00\x00\xef", false},
		{"%.4r %.5r %#.5r %#05r", ints(-559038737, -559038737, -559038737, -559038737), "\xde\xad\xbe\xef \xff\xde\xad\xbe\xef \xef\xbe\xad\xde\xff \xef\x00\x00\x00\x00", false},
		{"%.10r", vals(IntN(-1, 16)), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", false},
		{"%.8r", vals(Uint(math.MaxUint64)), "\xff\xff\xff\xff\xff\xff\xff\xff", false},
		{"%r", floats(0.5), "", true},
	})
	runMatch(t, Options{}, []matchCase{
		{"%04.4r", "\x01\x02\x03\x04", vals(Uint(0x01020304)), 0},
		{"%04.4r", "\xde\xad\xbe\xef", vals(Uint(0xdeadbeef)), 0},
		{`%#3r\?`, "\x04\x03\x02\x01", ints(0x020304), 0},
		{`%#3r\?`, "\xde\xad\xbe\xef", ints(-0x415222), 0},
		{`%#03r\?`, "\xde\xad\xbe\xef", vals(Uint(0xbeadde)), 0},
		{"%r", "\xff", ints(-1), 0},
		{"%2r", "\xff", nil, Short},
		{"%r", "", nil, Short},
		{"%08r", "\xff\xff\xff\xff\xff\xff\xff\xff", vals(Uint(math.MaxUint64)), 0},
		{"%10r", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", ints(-2), 0},
		{"%#10r", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff", ints(-2), 0},
		{"%10r", "\x00\x01\xff\xff\xff\xff\xff\xff\xff\xfe", nil, OutOfRange},
		{"%9r", "\x00\xff\xff\xff\xff\xff\xff\xff\xff", nil, OutOfRange},
		{"%09r", "\x00\xff\xff\xff\xff\xff\xff\xff\xff", vals(Uint(math.MaxUint64)), 0},
	})
}

// Values of StreamDevice's testRawFloat.
func TestRawFloat(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{"%R%#R%4R%#4R", floats(3.1415, 3.1415, 3.1415, 3.1415), "\x40\x49\x0e\x56\x56\x0e\x49\x40\x40\x49\x0e\x56\x56\x0e\x49\x40", false},
		{"%8R%#8R", floats(3.1415, 3.1415), "\x40\x09\x21\xca\xc0\x83\x12\x6f\x6f\x12\x83\xc0\xca\x21\x09\x40", false},
		{"%R", floats(-1), "\xbf\x80\x00\x00", false},
		{"%R", floats(1e300), "", true},
		{"%R", texts("1"), "", true},
	})
	runMatch(t, Options{}, []matchCase{
		{"%R", "\x3f\x80\x00\x00", floats(1), 0},
		{"%#8R", "\x00\x00\x00\x00\x00\x00\xf0\xbf", floats(-1), 0},
		{"%R", "\x3f\x80\x00", nil, Short},
	})
}

// Values of StreamDevice's testFormats. %6D is six bytes, as documented.
func TestBCD(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{"%D %6D %.2D %.3D %.6D %.8D", ints(1020304, 1020304, 1020304, 1020304, 1020304, 1020304), "\x00\x00\x00\x00\x01\x02\x03\x04 \x00\x00\x01\x02\x03\x04 \x04 \x03\x04 \x02\x03\x04 \x01\x02\x03\x04", false},
		{"%#D %#6D %#.2D %#.3D %#.6D", ints(1020304, 1020304, 1020304, 1020304, 1020304), "\x04\x03\x02\x01\x00\x00\x00\x00 \x04\x03\x02\x01\x00\x00 \x04 \x04\x03 \x04\x03\x02", false},
		{"%+D %+.2D %+.3D %+.6D %+.8D", ints(-1020304, -1020304, -1020304, -1020304, -1020304), "\xf0\x00\x00\x00\x00\x01\x02\x03\x04 \xf0\x04 \xf3\x04 \xf0\x02\x03\x04 \xf0\x01\x02\x03\x04", false},
		{"%+#D %#+.2D %#+.3D %#+.6D", ints(-1020304, -1020304, -1020304, -1020304), "\x04\x03\x02\x01\x00\x00\x00\x00\xf0 \x04\xf0 \x04\xf3 \x04\x03\x02\xf0", false},
		{"%+.2D %+.3D", ints(1020304, 1020304), "\x00\x04 \x03\x04", false},
		{"%4.2D", ints(12), "\x00\x00\x00\x12", false},
		{"%D", ints(-1), "", true},
		{"%D", texts("1"), "", true},
	})
	runMatch(t, Options{}, []matchCase{
		{"%D", "\x42", vals(Uint(42)), 0},
		{"%3D", "\x12\x34\x56", vals(Uint(123456)), 0},
		{"%#3D", "\x12\x34\x56", vals(Uint(563412)), 0}, // StreamDevice loses the tens.
		{"%+2D", "\xf1\x23", ints(-123), 0},
		{"%+2D", "\x81\x23", ints(-123), 0},
		{"%+2D", "\x01\x23", ints(123), 0},
		{"%#+2D", "\x23\xf1", ints(-123), 0},
		{"%+2D", "\x11\x23", nil, NoMatch},
		{"%D", "\xa1", nil, NoMatch},
		{"%D", "\x1a", nil, NoMatch},
		{"%3D%s", "\x12\x3aB", vals(Uint(12), Text(":B")), 0}, // Ends at the first byte of no digits.
		{"%3D", "\x12\x34", nil, Short},
		{"%!3D\x3a\x00", "\x12\x3a\x00", nil, NoMatch},
		{"%11D", "\x00\x18\x44\x67\x44\x07\x37\x09\x55\x16\x15", vals(Uint(math.MaxUint64)), 0},
		{"%11D", "\x00\x18\x44\x67\x44\x07\x37\x09\x55\x16\x16", nil, OutOfRange},
		{"%+11D", "\x00\x18\x44\x67\x44\x07\x37\x09\x55\x16\x15", nil, OutOfRange},
	})
}
