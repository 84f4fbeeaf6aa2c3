package stream

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Combinations of flags, widths and converters, as StreamDevice understands
// them. A line has the direction ("xin" ignores extra input), the format, for
// "in" the input, the values (of %= for "in") and behind => the bytes or the
// values, or "no" where it does not match.
func TestOddCombinations(t *testing.T) {
	file, err := os.Open("testdata/combinations.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		call, result, ok := strings.Cut(lines.Text(), " =>")
		if !ok {
			t.Fatalf("no => in %q", lines.Text())
		}
		if got := combination(t, call); got != result {
			t.Errorf("%s: got%s, want%s", call, got, result)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// combination does what a line says, and returns how the line ends.
func combination(t *testing.T, call string) string {
	t.Helper()
	direction, rest, _ := strings.Cut(call, " ")
	format, rest := word(t, rest)
	o := Options{Direction: In, IgnoreExtra: direction == "xin"}
	input := Value{}
	if direction == "out" {
		o.Direction = Out
	} else {
		input, rest = word(t, rest)
	}
	var args []Value
	for rest != "" {
		var v Value
		v, rest = word(t, rest)
		args = append(args, v)
	}
	f := mustParse(t, format.Text(), o)
	if direction == "out" {
		b, err := f.Append(nil, args...)
		if err != nil {
			return " no"
		}
		return " " + strconv.Quote(string(b))
	}
	values, err := f.Match([]byte(input.Text()), args...)
	if err != nil {
		return " no"
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteByte(' ')
		switch v.Kind() {
		case KindText:
			b.WriteString(strconv.Quote(v.Text()))
		case KindFloat:
			b.WriteString("f:" + v.String())
		default:
			b.WriteString("i:" + v.String())
		}
	}
	return b.String()
}

// word reads the first value of a line: a quoted text, i:12 or f:1.5.
func word(t *testing.T, line string) (Value, string) {
	t.Helper()
	line = strings.TrimPrefix(line, " ")
	if quoted, err := strconv.QuotedPrefix(line); err == nil {
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		return Text(text), line[len(quoted):]
	}
	w, rest, _ := strings.Cut(line, " ")
	kind, number, _ := strings.Cut(w, ":")
	if i, err := strconv.ParseInt(number, 10, 64); err == nil && kind == "i" {
		return Int(i), rest
	}
	if u, err := strconv.ParseUint(number, 10, 64); err == nil {
		return Uint(u), rest
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatalf("%q is no value: %v", w, err)
	}
	return Float(x), rest
}
