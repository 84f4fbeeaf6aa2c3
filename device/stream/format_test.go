package stream

import (
	"errors"
	"math"
	"testing"
)

// mustParse compiles a format that is right.
func mustParse(tb testing.TB, text string, o Options) *Format {
	tb.Helper()
	f, err := Parse(text, o)
	if err != nil {
		tb.Fatalf("Parse(%q): %v", text, err)
	}
	return f
}

// same compares values; NaN is NaN.
func same(a, b Value) bool {
	if a.kind == KindFloat && b.kind == KindFloat {
		x, y := math.Float64frombits(a.num), math.Float64frombits(b.num)
		return x == y || math.IsNaN(x) && math.IsNaN(y)
	}
	return a.kind == b.kind && a.num == b.num && a.text == b.text
}

// matchCase is one row: a format, an input, and what comes out.
type matchCase struct {
	format, input string
	want          []Value
	reason        Reason // 0 where it matches
}

// run checks the row; o is for all rows of a table.
func (c matchCase) run(t *testing.T, o Options) {
	t.Helper()
	f := mustParse(t, c.format, o)
	got, err := f.Match([]byte(c.input))
	if c.reason != 0 {
		var m *MismatchError
		if !errors.As(err, &m) {
			t.Errorf("%q on %q: got %v, %v; want a mismatch (%s)", c.format, c.input, got, err, c.reason)
			return
		}
		if m.Reason != c.reason {
			t.Errorf("%q on %q: got %v; want reason %s", c.format, c.input, err, c.reason)
		}
		if got != nil {
			t.Errorf("%q on %q: values %v beside an error", c.format, c.input, got)
		}
		return
	}
	if err != nil {
		t.Errorf("%q on %q: %v", c.format, c.input, err)
		return
	}
	if len(got) != len(c.want) {
		t.Errorf("%q on %q: got %v, want %v", c.format, c.input, got, c.want)
		return
	}
	for i := range got {
		if !same(got[i], c.want[i]) {
			t.Errorf("%q on %q: value %d is %s %v, want %s %v", c.format, c.input, i, got[i].kind, got[i], c.want[i].kind, c.want[i])
		}
	}
}

func runMatch(t *testing.T, o Options, cases []matchCase) {
	t.Helper()
	for _, c := range cases {
		c.run(t, o)
	}
}

// appendCase is one row: a format, its values, and the bytes; or part of the error.
type appendCase struct {
	format string
	args   []Value
	want   string
	bad    bool
}

func runAppend(t *testing.T, o Options, cases []appendCase) {
	t.Helper()
	for _, c := range cases {
		f := mustParse(t, c.format, o)
		got, err := f.Append([]byte("<"), c.args...)
		if c.bad {
			var ve *ValueError
			if !errors.As(err, &ve) || string(got) != "<" {
				t.Errorf("%q of %v: got %q, %v; want an error and nothing appended", c.format, c.args, got, err)
			}
			continue
		}
		if err != nil || string(got) != "<"+c.want {
			t.Errorf("%q of %v: got %q, %v; want %q", c.format, c.args, got, err, c.want)
		}
	}
}

func vals(v ...Value) []Value { return v }

func ints(n ...int64) []Value {
	out := make([]Value, len(n))
	for i := range n {
		out[i] = Int(n[i])
	}
	return out
}

func floats(n ...float64) []Value {
	out := make([]Value, len(n))
	for i := range n {
		out[i] = Float(n[i])
	}
	return out
}

func texts(s ...string) []Value {
	out := make([]Value, len(s))
	for i := range s {
		out[i] = Text(s[i])
	}
	return out
}
