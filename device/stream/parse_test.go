package stream

import (
	"errors"
	"strings"
	"testing"
)

func TestSyntaxErrors(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	for _, c := range []struct {
		text string
		o    Options
		at   int
		say  string // part of the message
	}{
		{"T=%", Options{}, 2, "conversion character"},
		{"T=%5", Options{}, 2, "conversion character"},
		{"%ld", Options{}, 0, "length letters"},
		{"50%;", Options{}, 2, "%%"},
		{"%y", Options{}, 0, "%f %e"},
		{"%.f", Options{}, 2, "number is expected"},
		{"%99999d", Options{}, 1, "width"},
		{"%9999999999999999999d", Options{}, 1, "width"},
		{"%.99999f", Options{}, 2, "precision"},
		{"%.3f", Options{Direction: In}, 0, "leave .3 away"},
		{"%.3T", Options{}, 0, "precision"},
		{"%3T", Options{}, 0, "width"},
		{"%+s", Options{}, 0, "flag '+'"},
		{"%#c", Options{}, 0, "flag '#'"},
		{"%-[a]", Options{}, 0, "no flag"},
		{"%!d", Options{}, 0, "width"},
		{"%!T", Options{}, 0, "width"},
		{"ab%*d", Options{Direction: Out}, 3, "input"},
		{"%=d", Options{Direction: Out}, 1, "input"},
		{"%*=d", Options{}, 0, "contradict"},
		{"%[a]", Options{Direction: Out}, 0, "input"},
		{"%/a/", Options{Direction: Out}, 0, "input"},
		{"%[a", Options{}, 0, "]"},
		{"%[]", Options{}, 0, "]"},
		{"%[z-a]", Options{}, 2, "backwards"},
		{"%{a|b", Options{}, 0, "}"},
		{"%3{a}", Options{}, 0, "width"},
		{"%#{a=x}", Options{}, 5, "integer"},
		{"%#{a=1b}", Options{}, 5, "integer"},
		{"%#{a=1 |b}", Options{}, 6, "|"},
		{"%#{a=?|b}", Options{Direction: Out}, 6, "last"},
		{"%#{a=?}", Options{Direction: In}, 5, "output"},
		{"%#{a=9223372036854775807|b}", Options{}, 24, "does not exist"},
		{`%{a\_}`, Options{}, 3, "blank"},
		{"%B", Options{}, 0, "zero and one"},
		{"%Bx", Options{}, 0, "zero and one"},
		{"%Bxx", Options{}, 2, "same"},
		{"%.65b", Options{}, 0, "bits"},
		{"%.0r", Options{}, 0, "bytes"},
		{"%5R", Options{}, 0, "4 or 8"},
		{"%.0D", Options{}, 0, "digits"},
		{"%.0m", Options{}, 0, "digits"},
		{"%T(%H", Options{}, 0, ")"},
		{"%T(%Q)", Options{}, 3, "conversion"},
		{"%T(%12S)", Options{}, 3, "1 to 9"},
		{"%T(%3S)", Options{}, 3, "f is expected"},
		{"%T(%.3f)", Options{}, 3, "S is expected"},
		{"%T(%+1)", Options{}, 3, "hhmm"},
		{"%/a", Options{}, 0, "/"},
		{"%#/a/b", Options{}, 0, "/"},
		{"%.2/(a)/", Options{}, 0, "group"},
		{`%#/a/\U1/`, Options{}, 5, "groups"},
		{"%#-/a/b/", Options{}, 0, "width"},
		{"%-/a/", Options{}, 0, "flag"},
		{"%(x", Options{}, 1, "%(name)f"},
		{"%()d", Options{}, 1, "%(name)f"},
		{"%*(x)d", Options{}, 0, "not '('"},
		{"%(x)*d", Options{}, 0, "skipped"},
		{`\`, Options{}, 0, `\\`},
		{`a\x`, Options{}, 1, "hexadecimal"},
		{`\0777`, Options{}, 0, "octal"},
		{`\256`, Options{}, 0, "decimal"},
		{`\$x`, Options{}, 0, "variable"},
		{long, Options{}, maxText, "longer"},
		{"%d", Options{Separator: ","}, 0, "array"},
		{"%d", Options{Elements: 3}, 0, "array"},
		{"%d", Options{Array: true, Elements: -1}, 0, "positive"},
		{"%d%d", Options{Array: true}, 0, "exactly one"},
		{"x", Options{Array: true}, 0, "exactly one"},
		{"%d", Options{Array: true, Separator: `a\`}, 1, "backslash"},
	} {
		f, err := Parse(c.text, c.o)
		var se *SyntaxError
		if f != nil || !errors.As(err, &se) {
			t.Errorf("%.40q: got %v, %v; want a syntax error", c.text, f, err)
			continue
		}
		if se.Offset != c.at || !strings.Contains(se.Msg, c.say) || se.Separator != (c.o.Separator == `a\`) {
			t.Errorf("%.40q: %v; want byte %d and %q", c.text, err, c.at, c.say)
		}
	}
}

func TestFields(t *testing.T) {
	f := mustParse(t, `a%(temp)f %*d %c%{x|y}%/r/%+D%<sum>`, Options{Direction: Both})
	want := []Field{
		{Offset: 1, Verb: 'f', Kind: KindFloat, Name: "temp"},
		{Offset: 14, Verb: 'c', Kind: KindText},
		{Offset: 16, Verb: '{', Kind: KindEnum},
		{Offset: 22, Verb: '/', Kind: KindText},
		{Offset: 26, Verb: 'D', Kind: KindInt},
	}
	got := f.Fields()
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		g := got[i]
		g.Choices = nil
		if g.Offset != want[i].Offset || g.Verb != want[i].Verb || g.Kind != want[i].Kind || g.Name != want[i].Name {
			t.Errorf("field %d: %+v, want %+v", i, g, want[i])
		}
	}
	if !f.HasChecksum() || f.String() != `a%(temp)f %*d %c%{x|y}%/r/%+D%<sum>` {
		t.Errorf("%s: checksum %v", f, f.HasChecksum())
	}
	if k := mustParse(t, "%c", Options{Direction: Out}).Fields()[0].Kind; k != KindUint {
		t.Errorf("%%c in output takes %s", k)
	}
}

func TestWrongNumberOfValues(t *testing.T) {
	f := mustParse(t, "%d %d", Options{})
	for _, args := range [][]Value{nil, ints(1), ints(1, 2, 3)} {
		if out, err := f.Append([]byte("x"), args...); err == nil || string(out) != "x" {
			t.Errorf("%v: %q, %v", args, out, err)
		}
	}
	if _, err := mustParse(t, "%*d", Options{}).Append(nil); err == nil {
		t.Error("a skipped value was written")
	}
}

func TestMismatchTellsWhereAndWhat(t *testing.T) {
	for _, c := range []struct{ format, input, want string }{
		{"T=%f", "T=OVERLD", `input does not match: no match at byte 2: expected a floating point number for %f, found "OVERLD"`},
		{"T=%f", "P=1", `input does not match: no match at byte 0: expected "T=", found "P=1"`},
		{"T=%f", "T=1;", `input does not match: extra input at byte 3: expected the end of the input, found ";"`},
		{"T=%f", "T=", `input does not match: too short at byte 2: expected a floating point number for %f, found the end of the input`},
		{"%d", "\x00\xff" + strings.Repeat("z", 99), `input does not match: no match at byte 0: expected a decimal number for %d, found "\x00\xff` + strings.Repeat("z", 30) + `"...`},
		{"%{a|b}", "c", `input does not match: no match at byte 0: expected one of {a|b}, found "c"`},
	} {
		_, err := mustParse(t, c.format, Options{}).Match([]byte(c.input))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s on %q:\n got %v\nwant %s", c.format, c.input, err, c.want)
		}
	}
}

func TestInputCutAtEveryByteNeverMatches(t *testing.T) {
	f := mustParse(t, `A%d,%.2f %{on|off}%2r%R%s%0<crc16>;`, Options{})
	message, err := f.Append(nil, Int(5), Float(2.5), Enum(1), Int(-2), Float(1), Text("end"))
	if err != nil {
		t.Fatal(err)
	}
	g := mustParse(t, `A%d,%.2f %{on|off}%2r%R%3c%0<crc16>;`, Options{})
	if got, err := g.Match(message); err != nil || got[5] != Text("end") {
		t.Fatalf("%q: %v, %v", message, got, err)
	}
	for n := range message {
		if got, err := g.Match(message[:n]); err == nil {
			t.Errorf("%q matched: %v", message[:n], got)
		}
	}
}

func TestSD34SuspiciousTextsAreWarnedOf(t *testing.T) {
	for _, c := range []struct {
		text string
		d    Direction
		at   []int
	}{
		{"OUT {OFF|ON}", Out, []int{0}},
		{"OUT %{OFF|ON}", Out, nil},
		{"OUT {OFF}|", Out, nil},
		{"%d\u00b5A", Both, []int{2}},
		{`%d\xb5A`, Both, nil},
		{"%d\u03a9", Both, nil}, // Not one byte in Latin-1.
		{"a%2r", Out, []int{1}},
		{"%.2r%2.2r", Out, nil},
		{"%2r", In, nil},
	} {
		got := mustParse(t, c.text, Options{Direction: c.d}).Warnings()
		if len(got) != len(c.at) {
			t.Errorf("%q: %v, want %d warnings", c.text, got, len(c.at))
			continue
		}
		for i := range got {
			if got[i].Offset != c.at[i] {
				t.Errorf("%q: warning at byte %d, want %d", c.text, got[i].Offset, c.at[i])
			}
		}
	}
}
