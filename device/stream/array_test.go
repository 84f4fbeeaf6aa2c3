package stream

import (
	"errors"
	"strings"
	"testing"
)

func TestSD06ElementsEndAtTheSeparator(t *testing.T) {
	o := Options{Array: true, Separator: ","}
	runMatch(t, o, []matchCase{
		{"FW 2 %s", "FW 2 100,0.9.1,101,0.9.2,102,0.9.3", texts("100", "0.9.1", "101", "0.9.2", "102", "0.9.3"), 0},
		{"%s", "a,,b", texts("a", "", "b"), 0},
		{"%s", "", texts(""), 0},
		{"%s", "a,b,", texts("a", "b", ""), 0},
		{"%#s", "a b, c d", texts("a b", "c d"), 0},
		{"%[a-z,]", "a,b", texts("a", "b"), 0},
		{"%c", "a,b", texts("a", "b"), 0},
		{"%c", "a,bc", nil, Extra},
		{`%.1/(.*)/`, "a1,b2", texts("a1", "b2"), 0},
		{"%{a|a,b}", "a,b,a", vals(Enum(1), Enum(0)), 0},
		{"%2r", "\x2c\x2c,\x00\x2c", ints(0x2c2c, 0x2c), 0},
	})
	for _, sep := range []string{" ", `\_`} {
		runMatch(t, Options{Array: true, Separator: sep}, []matchCase{
			{"FW 2 %s", "FW 2 100 0.9.1  101\t0.9.2", texts("100", "0.9.1", "101", "0.9.2"), 0},
			{"%[a-z ]", "a b", texts("a", "b"), 0},
			{"%s", "3 4 ", texts("3", "4"), 0},
			{`%s\_`, "  3 4   ", texts("3", "4"), 0},
		})
	}
	runMatch(t, Options{Array: true, Separator: `;\?`}, []matchCase{{"%s", "a;1b;2c;", texts("a", "b", "c;"), 0}})
	runMatch(t, Options{Array: true, Separator: `\x2c\0`}, []matchCase{{"%s", "a,\x00b,c", texts("a", "b,c"), 0}})
}

// Lines of StreamDevice's testWaveform; there, at most three elements fit.
func TestArrayInput(t *testing.T) {
	comma := Options{Array: true, Separator: ",", Direction: In}
	runMatch(t, comma, []matchCase{
		{"text %f end", "text 1.0,2.0,3.0 end", floats(1, 2, 3), 0},
		{"text %f end", "text 3, 2,   1 end", floats(3, 2, 1), 0},
		{"text %f end", "text       7 end", floats(7), 0},
		{"%f", "1.5,", nil, Short},
		{"%f", "1.5,,2", nil, NoMatch},
		{"%f", "", nil, Short},
		{"%d%*[a-z]", "1,2,abc", nil, NoMatch},
		{"%d,%*[a-z]", "1,2,abc", ints(1, 2), 0},
		{"%f,:", "1,2,:", floats(1, 2), 0},
		{"%s,:", "a,b,:", texts("a", "b"), 0},
		{"%d;%*d", "1,2;3", ints(1, 2), 0},
		{"%?d", "1,,x", nil, Extra},
		{"%?d", "1,,2", ints(1, 0, 2), 0},
	})
	white := Options{Array: true, Separator: `\_`}
	runMatch(t, white, []matchCase{
		{`%3i\_`, "1 2 3", ints(1, 2, 3), 0},
		{`%3i\_`, "       3     2        1    ", ints(3, 2, 1), 0},
		{`%3i\_`, "12345", ints(123, 45), 0},
		{"%d V", "1 2 V", ints(1, 2), 0},
		{"%d", "1 2 \r\n", ints(1, 2), 0},
		{"%d;", "1 2 ;", ints(1, 2), 0},
		{"%d ", "1 2 ", ints(1, 2), 0},
		{"%d", "1 2 x", nil, Extra},
	})
	runMatch(t, Options{Array: true, Separator: `\_...\_`}, []matchCase{
		{`%s\_`, "1...2...3", texts("1", "2", "3"), 0}, // one element in StreamDevice
		{`%s\_`, "  3     ...   2  ...  1", texts("3", "2", "1"), 0},
		{`%s\_`, "       7 ", texts("7"), 0},
	})
	runMatch(t, Options{Array: true}, []matchCase{
		{"%3d", "123456", ints(123, 456), 0},
		{"%2r", "\x00\x01\x00\x02", ints(1, 2), 0},
		{"%2r", "\x00\x01\x00", nil, Extra},
		{"%s", "", texts(""), 0},
		{"%?d", "x", nil, Extra},
	})
	// With extra input ignored, a bad element is still no end of the array.
	runMatch(t, Options{Array: true, Separator: ",", IgnoreExtra: true}, []matchCase{
		{"%f", "1.0,2.0,bad", nil, NoMatch},
		{"%f", "1.5,", nil, Short},
		{"%f", "1.5 V", floats(1.5), 0},
		{"%f V", "1,2 V and more", floats(1, 2), 0},
		{"%d", "1,2.5", nil, NoMatch},
	})
}

func TestArrayOutput(t *testing.T) {
	runAppend(t, Options{Array: true, Separator: " "}, []appendCase{
		{"V=%.1f;", floats(1, 2.5), "V=1.0 2.5;", false},
		{"V=%.1f;", nil, "V=;", false},
		{"%d", vals(Int(1), Text("x")), "", true},
	})
	runAppend(t, Options{Array: true, Separator: `\_,\?\_\x00%`}, []appendCase{{"%d", ints(1, 2), "1 , \x00%2", false}})
	f := mustParse(t, "%d", Options{Array: true, Separator: ",", Elements: 2})
	if _, err := f.Append(nil, ints(1, 2, 3)...); err == nil {
		t.Error("three elements where two are declared")
	}
	_, err := mustParse(t, "%d", Options{Array: true, Separator: ","}).Append(nil, Int(1), Text("x"))
	var ve *ValueError
	if !errors.As(err, &ve) || ve.Index != 1 {
		t.Errorf("which element is wrong: %v", err)
	}
}

func TestCompareArray(t *testing.T) {
	f := mustParse(t, "ack %=d", Options{Array: true, Separator: ",", Direction: In})
	if got, err := f.Match([]byte("ack 1,2"), ints(1, 2)...); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := f.Match([]byte("ack 1,3"), ints(1, 2)...); !isReason(err, NoMatch) {
		t.Errorf("got %v", err)
	}
}

func TestSD37ShortLinesAreRefused(t *testing.T) {
	numbers := make([]string, 24)
	for i := range numbers {
		numbers[i] = "12.5"
	}
	line := strings.Join(numbers, ",")
	o := Options{Array: true, Separator: ",", Elements: 24}
	runMatch(t, o, []matchCase{
		{"%f", line, floats(12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5, 12.5), 0},
		{"%f", strings.Join(numbers[1:], ","), nil, WrongCount},
		{"%f", line + ",1", nil, WrongCount},
		{"%f,:", line, nil, Short},
		{"%f,:", strings.Join(numbers[1:], ",") + ",:", nil, WrongCount},
		{"%f,:", line + ",", nil, WrongCount},
	})
	if _, err := mustParse(t, "%f,:", o).Match([]byte(line + ",:")); err != nil {
		t.Error(err)
	}
	runMatch(t, Options{Array: true, Separator: " ", Elements: 3}, []matchCase{
		{"%s", "a b ", nil, WrongCount},
		{"%d", "1 2 ", nil, WrongCount},
		{"%d", "1 2 3 ", ints(1, 2, 3), 0},
	})
	o.IgnoreExtra = true
	runMatch(t, o, []matchCase{
		{"%f", strings.Join(numbers[1:], ","), nil, WrongCount},
		{"%f", line + ",1", nil, WrongCount},
	})
}

func TestSD32AllOrNothing(t *testing.T) {
	for _, c := range []struct{ format, input string }{
		{"%f,%f,%f", "1.0,2.0,bad"},
		{"%f,%f,%f", "1.0,2.0"},
		{"%s", "ok rest"},
		{"%s ok", "parti"},
		{"%d%<sum>", "1\x00"},
	} {
		f := mustParse(t, c.format, Options{Direction: In})
		before := make([]Value, 1, 8)
		before[0] = Text("kept")
		got, err := f.MatchInto(before, []byte(c.input))
		if err == nil || len(got) != 1 || got[0] != Text("kept") {
			t.Errorf("%s on %q: %v, %v", c.format, c.input, got, err)
		}
		if got, err := f.Match([]byte(c.input)); err == nil || got != nil {
			t.Errorf("%s on %q: %v, %v", c.format, c.input, got, err)
		}
	}
}

// A long run of white space in front of something else must not be measured
// again from each of its bytes.
func TestSeparatorSearchIsLinear(t *testing.T) {
	line := []byte("a" + strings.Repeat(" ", 1<<20) + "b")
	f := mustParse(t, "%# s", Options{Array: true, Separator: `\_,\_`})
	if got, err := f.Match(line); err != nil || len(got) != 1 {
		t.Errorf("%d values, %v", len(got), err)
	}
}
