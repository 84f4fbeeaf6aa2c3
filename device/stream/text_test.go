package stream

import (
	"errors"
	"strings"
	"testing"
)

// Inputs and results of StreamDevice's testString and testCharset. Where a
// row ends in %# s, that reads the rest of the line.
func TestTextInput(t *testing.T) {
	long := "ThisIsAVeryLongInputStringThatExceedsFortyCharacters"
	runMatch(t, Options{Direction: In}, []matchCase{
		{"%s%# s", "foobar", texts("foobar", ""), 0},
		{"%s%# s", "  foobar  ", texts("foobar", "  "), 0},
		{"%s%# s", "  foo bar  ", texts("foo", " bar  "), 0},
		{"%s%# s", "    ", texts("", ""), 0},
		{"%s%# s", long + " right?", texts(long, " right?"), 0},
		{"% s%# s", "  foo bar  ", texts("  foo", " bar  "), 0},
		{"% s%# s", "    ", texts("    ", ""), 0},
		{"%#s%# s", "  foo bar  ", texts("foo bar  ", ""), 0},
		{"%# s%# s", "  foo bar  ", texts("  foo bar  ", ""), 0},
		{"% #s%# s", "    ", texts("    ", ""), 0},
		{"%3s%s", "  abcdef", texts("abc", "def"), 0},
		{"% 3s%s", "  abcdef", texts("  a", "bcdef"), 0},
		{"%c", "", nil, Short},
		{"%c%c", " \x00", texts(" ", "\x00"), 0},
		{"%3c", "ab", texts("ab"), 0},
		{"%!3c", "ab", nil, Short},
		{"%[a-zA-Z1-5]%# s", "This is a test", texts("This", " is a test"), 0},
		{"%[a-zA-Z1-5]%# s", "Test123]bla", texts("Test123", "]bla"), 0},
		{"%[a-zA-Z1-5]%# s", "Test123456", texts("Test12345", "6"), 0},
		{"%[a-zA-Z1-5]%# s", "test-bla", texts("test", "-bla"), 0},
		{"%[a-zA-Z1-5]%# s", " Space first", texts("", " Space first"), 0},
		{"%[]A-Za-z ]%# s", "Test]xx123bla", texts("Test]xx", "123bla"), 0},
		{"%[]A-Za-z ]%# s", "test-bla", texts("test", "-bla"), 0},
		{"%[^]A-Z]%# s", "test]xx123bla", texts("test", "]xx123bla"), 0},
		{"%[^]A-Z]%# s", "test-bla", texts("test-bla", ""), 0},
		{"%[^]-A-Z]%# s", "test-bla", texts("test", "-bla"), 0},
		{"%[^]-A-Z]%# s", " Space first", texts(" ", "Space first"), 0},
		{"%[a-]%s", "a-ab", texts("a-a", "b"), 0},
		{`%[\x00-\x1f\]]%s`, "\x00\x1f]b", texts("\x00\x1f]", "b"), 0},
		{`%[a\-c]%s`, "a-cb", texts("a-c", "b"), 0},
		{`%[\200-\255]%s`, "\xc8\xff\xc7", texts("\xc8\xff", "\xc7"), 0},
		{"%3[a-z]%s", "abcdef", texts("abc", "def"), 0},
		{"%!3[a-z]", "ab", nil, Short},
		{"%!3[a-z]1", "ab1", nil, NoMatch},
	})
}

func TestTextOutput(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{"%s|%5s|%-5s|%.2s|%5.1s|", texts("abc", "abc", "abc", "abc", "abc"), "abc|  abc|abc  |ab|    a|", false},
		{"%05s|%0-5s|%02s|", texts("abc", "abc", "abc"), "\x00\x00abc|abc\x00\x00|abc|", false},
		{"%s", texts("a\x00\xff"), "a\x00\xff", false},
		{"%s", ints(1), "", true},
		{"%c%3c|%-3c|", ints(65, 66, 255), "A  B|\xff  |", false},
		{"%c", ints(256), "", true},
		{"%c", ints(-1), "", true},
		{"%c", texts("x"), "x", false},
		{"%c", texts("xy"), "", true},
		{"%[a-z]", texts("abc"), "abc", false},
		{"%[a-z]", texts("aBc"), "", true},
		{"%2[a-z]", texts("abc"), "", true},
		{"%/[a-z]+/", texts("abc"), "abc", false},
		{"%/[a-z]+/", texts("abc1"), "", true},
	})
}

// Values of StreamDevice's testEnum, testWaage and documentation.
func TestEnum(t *testing.T) {
	enums := func(n ...int64) []Value {
		var out []Value
		for _, v := range n {
			out = append(out, Enum(v))
		}
		return out
	}
	runMatch(t, Options{}, []matchCase{
		{"%{zero|one|two}bla", "zerobla", enums(0), 0},
		{"%{zero|one|two}bla", "twobla", enums(2), 0},
		{"%#{zero=-1|one|two=5}bla", "zerobla", enums(-1), 0},
		{"%#{zero=-1|one|two=5}bla", "onebla", enums(0), 0},
		{"%#{zero=-1|one|two=5}bla", "twobla", enums(5), 0},
		{`%{\x00|\r|}bla`, "\x00bla", enums(0), 0},
		{`%{\x00|\r|}bla`, "\rbla", enums(1), 0},
		{`%{\x00|\r|}bla`, "bla", enums(2), 0},
		{`%{a\|b|c\}d|e\\f}`, "c}d", enums(1), 0},
		{`%{a\|b|c\}d|e\\f}`, `e\f`, enums(2), 0},
		{`%#{a\=1|b=0x10}`, "a=1", enums(0), 0},
		{`%#{a\=1|b=0x10}`, "b", enums(16), 0},
		{`%{a=1|b}`, "a=1", enums(0), 0},
		{`%#{a= 1|b=  0x10}`, "b", enums(16), 0},
		{`%{x\?z|other}`, "x\x80z", enums(0), 0},
		{"%{ON|OFF}", "On", nil, NoMatch},
		// The longest text wins, in whatever order they stand.
		{"%{1|10|100}", "100", enums(2), 0},
		{"%{|ON}", "ON", enums(1), 0},
		{"%#{neg=-1|stop|pos|fast=10|rewind=-10}", "rewind", enums(-10), 0},
		{`%*/ */%{-|}%f Kg`, " -  15.20 Kg", vals(Enum(0), Float(15.2)), 0},
		{`%*/ */%{-|}%f Kg`, "    15.00 Kg", vals(Enum(1), Float(15)), 0},
	})
	runAppend(t, Options{}, []appendCase{
		{"%{zero|one|two}bla", ints(2), "twobla", false},
		{"%#{zero=-1|one|two=5|default=?}bla", ints(-1), "zerobla", false},
		{"%#{zero=-1|one|two=5|default=?}bla", ints(17), "defaultbla", false},
		{"%#{zero=-1|one|two=5}", ints(17), "", true},
		{"%{a|b}", enums(1), "b", false},
		{"%{a|b}", texts("b"), "", true},
		{`%{a\?b}`, ints(0), "ab", false},
	})
	f := mustParse(t, "%#{zero=-1|one|other=?}", Options{Direction: Out})
	if got := f.Fields()[0].Choices; len(got) != 2 || got[0] != (Choice{-1, "zero"}) || got[1] != (Choice{0, "one"}) {
		t.Errorf("choices: %v", got)
	}
	if _, err := mustParse(t, "%#{zero|other=?}", Options{}).Match([]byte("other")); err == nil {
		t.Error("the default text of output was read as a state")
	}
}

func TestCA04UnknownStateIsToldFromUnknownText(t *testing.T) {
	runMatch(t, Options{}, []matchCase{
		{"%{0|1|2|3}", "7", nil, NoState},
		{"%{0|1|2|3}", "REMOTE2", nil, NoMatch},
		{"%{0|1|2|3}", "", nil, Short},
	})
	_, err := mustParse(t, "M%{0|1|2|3}", Options{}).Match([]byte("M7"))
	var m *MismatchError
	if !errors.As(err, &m) || m.Found != `"7"` || m.Offset != 1 || m.Format != 1 {
		t.Errorf("the number is not in the error: %+v", m)
	}
}

func TestSD39BytesByDecimalOctalAndHex(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{`\234|\181|\000|\0352|\xea|\xEA`, nil, "\xea|\xb5|\x00|\xea|\xea|\xea", false},
		{`\r\n\t\a\b\e\\\"\'\%%%`, nil, "\r\n\t\x07\x08\x1b\\\"'%%", false},
		{`\%\x25\37\045`, nil, "%%%%", false},
		{`\13x|\x1g|\08`, nil, "\rx|\x01g|\x008", false},
		{`a\?b\_c`, nil, "ab c", false},
		{"%{\\234|\\181}", ints(1), "\xb5", false},
	})
	runMatch(t, Options{}, []matchCase{
		{`10\234`, "10\xea", nil, 0},
		{`%d%{ \181A|\234}`, "100 \xb5A", vals(Int(100), Enum(0)), 0},
		{`%d%{ \181A|\234}`, "10\xea", vals(Int(10), Enum(1)), 0},
		{`\000%s`, "\x00ok", texts("ok"), 0},
		{`%s`, "\x00ok\xff", texts("\x00ok\xff"), 0},
		{`a\?b`, "a\x00b", nil, 0},
		{`a\?`, "a", nil, Short},
		{`a\_b`, "ab", nil, 0},
		{`a\_b`, "a \t\r\nb", nil, 0},
		{`a b`, "a  b", nil, NoMatch},
	})
}

func TestAllBytesPassThrough(t *testing.T) {
	var all strings.Builder
	for b := range 256 {
		all.WriteByte(byte(b))
	}
	for _, text := range []string{"%# s", "%256c", `%[\0-\255]`, `%/(?s).*/`} {
		f := mustParse(t, text, Options{})
		got, err := f.Match([]byte(all.String()))
		if err != nil || got[0].Text() != all.String() {
			t.Errorf("%s: %q, %v", text, got, err)
		}
		out, err := f.Append(nil, Text(all.String()))
		if err != nil || string(out) != all.String() {
			t.Errorf("%s: wrote %q, %v", text, out, err)
		}
	}
	for b := range 256 {
		raw := string([]byte{byte(b)})
		lit := raw
		if raw == "%" || raw == `\` {
			lit = `\` + raw
		}
		if out, err := mustParse(t, lit, Options{}).Append(nil); err != nil || string(out) != raw {
			t.Errorf("byte %d: %q, %v", b, out, err)
		}
	}
}

func TestFlagsForInput(t *testing.T) {
	runMatch(t, Options{Direction: In}, []matchCase{
		// Of StreamDevice's testDefaultInput.
		{"n: %?d xx", "n: -12 xx", ints(-12), 0},
		{"n: %?d xx", "n:  xx", ints(0), 0},
		{"n: %?g xx", "n: 3.1415 xx", floats(3.1415), 0},
		{"n: %?g xx", "n:  xx", floats(0), 0},
		{"%?{a|b}", "", vals(Enum(0)), 0},
		{"%?/x/", "", texts(""), 0},
		{"%?u%?r", "", vals(Uint(0), Int(0)), 0},
		{"%*f%f", "1.5 2.5", floats(2.5), 0},
		{"%*f%f", "x 2.5", nil, NoMatch},
		{"%*s,%d", "a,1", nil, Short},
		{"%*[^,],%d", "a,1", ints(1), 0},
		{"%*3r%d", "\x00\x01\x025", ints(5), 0},
		{"%!5d", "12345", ints(12345), 0},
		{"%!5d", "1234", nil, Short},
		{"%!5d;", "1234;", nil, NoMatch},
		{"%! 5d", "   12", ints(12), 0},
		{"%!5d", "   12", nil, Short},
		{"%d%%", "5%", ints(5), 0},
	})
}

// Of StreamDevice's testCompare.
func TestCompareWithCurrentValue(t *testing.T) {
	f := mustParse(t, "ack %=.2f X%d", Options{Direction: In})
	got, err := f.Match([]byte("ack 3.14 X7"), Float(3.14159))
	if err != nil || len(got) != 1 || got[0] != Int(7) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, in := range []string{"ack 3.1 X7", "ack 3.15 X7", "ack 3."} {
		if _, err := f.Match([]byte(in), Float(3.14159)); err == nil {
			t.Errorf("%q matched", in)
		}
	}
	if _, err := f.Match([]byte("ack 3.14 X7")); err == nil {
		t.Error("matched without a current value")
	}
	if fields := f.Fields(); len(fields) != 2 || !fields[0].Compare || fields[1].Compare {
		t.Errorf("fields: %+v", fields)
	}
}
