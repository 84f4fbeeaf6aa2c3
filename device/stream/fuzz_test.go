package stream

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// seedFormats are formats of all kinds, as seeds and to match random input.
func seedFormats() []string {
	texts := []string{
		"T=%f;%0<crc16>", `%d,%*[a-z]%s`, `%#/x*/y/%# s`, `%{a|b\?|}%!3d`, `%T(%d %b %Y %H:%M:%.3S %z)`, `%#-3.1/(.)b/\U1&/%s`,
		`\?\_\x00%%%3c%/a(b)*/`, "%+3D%#2D%#B01%12r%#8R%m", "%?f%?i%?{a}", "%- 5.2f%#06x", "%+<sum mod 100>", `%[^]\x80-\xff]`, "%(name)i%=d",
	}
	for _, r := range rules() {
		texts = append(texts, r.example)
	}
	return texts
}

// seedOptions are ways to use a format.
func seedOptions() []Options {
	return []Options{
		{},
		{Direction: In, IgnoreExtra: true},
		{Array: true, Separator: ","},
		{Array: true, Separator: `\_;\?`, IgnoreExtra: true, DecimalComma: true},
		{Array: true},
		{Array: true, Separator: " ", Elements: 3},
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seedFormats() {
		f.Add(s, ",", []byte("1,2"))
	}
	f.Fuzz(func(t *testing.T, text, separator string, input []byte) {
		for d := Both; d <= Out; d++ {
			for _, array := range []bool{false, true} {
				o := Options{Direction: d, Array: array}
				if array {
					o.Separator = separator
				}
				format, err := Parse(text, o)
				var se *SyntaxError
				switch {
				case err == nil:
					checkMatch(t, format, input)
				case !errors.As(err, &se):
					t.Fatalf("%q: error of type %T", text, err)
				case se.Offset < 0 || !se.Separator && se.Offset > len(text) || se.Separator && se.Offset > len(separator):
					t.Fatalf("%q: offset %d", text, se.Offset)
				}
			}
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, s := range []string{"", "1.5,2", "T=-2.50e3;FFFF", "\x00\xff\x12", "  0x1f", "2020-10-11 12:13:14", "a,,b", "inf", "123-45"} {
		f.Add([]byte(s))
	}
	var formats []*Format
	for _, text := range seedFormats() {
		for _, o := range seedOptions() {
			if format, err := Parse(text, o); err == nil {
				formats = append(formats, format)
			}
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, format := range formats {
			checkMatch(t, format, input)
		}
	})
}

// checkMatch checks what holds for every format and input.
func checkMatch(t *testing.T, f *Format, input []byte) {
	t.Helper()
	before := bytes.Clone(input)
	values, err := f.Match(input, Int(1), Float(2), Text("x"))
	if !bytes.Equal(input, before) {
		t.Fatalf("%q changed its input", f)
	}
	if err != nil {
		var m *MismatchError
		var ve *ValueError
		switch {
		case values != nil:
			t.Fatalf("%q on %q: values %v beside %v", f, input, values, err)
		case errors.As(err, &m):
			if m.Offset < 0 || m.Reason == 0 || m.Expected == "" || m.Found == "" || m.Format < 0 || m.Format > len(f.text) {
				t.Fatalf("%q on %q: %+v", f, input, m)
			}
			if len(m.Error()) > 2000 {
				t.Fatalf("%q: an error of %d bytes", f, len(m.Error()))
			}
		case !errors.As(err, &ve):
			t.Fatalf("%q on %q: error of type %T", f, input, err)
		}
		return
	}
	want := 0
	for _, field := range f.fields {
		if !field.Compare {
			want++
		}
	}
	if !f.opts.Array && len(values) != want || f.opts.Array && len(values) > len(input)+1 {
		t.Fatalf("%q on %q: %d values", f, input, len(values))
	}
	for i, v := range values {
		if !f.opts.Array && v.Kind() != f.fieldKind(i) && (f.fieldKind(i) != KindInt || v.Kind() != KindUint) {
			t.Fatalf("%q on %q: value %d is %s", f, input, i, v.Kind())
		}
	}
}

// fieldKind returns the kind that Match should give to value i.
func (f *Format) fieldKind(i int) Kind {
	for _, field := range f.fields {
		if field.Compare {
			continue
		}
		if i == 0 {
			if field.Verb == 'c' {
				return KindText
			}
			return field.Kind
		}
		i--
	}
	return 0
}

func FuzzRoundTrip(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 255, math.MaxInt64, math.MinInt64} {
		f.Add(n, float64(n)/3, "pump 7\x00\xff")
	}
	f.Fuzz(func(t *testing.T, n int64, x float64, s string) {
		for _, text := range []string{"%d;", "%i;", `%-25d\_;`, "% d;", "%+.22d;", "%025d;", "%.8r;", "%#.8r;"} {
			roundTrip(t, text, Options{}, Int(n), Int(n))
		}
		for _, text := range []string{"%u;", "%x;", "%#X;", "%o;", "%#o;", "%b;", "%#b;", "%B.!;", "%064b;", "%#064b;", "%08.8r;", "%.20D;", "%#.20D;"} {
			roundTrip(t, text, Options{}, Uint(uint64(n)), Uint(uint64(n)))
		}
		if n != math.MinInt64 {
			roundTrip(t, "%+10.19D;", Options{}, Int(n), Int(n))
			roundTrip(t, "%#+10.19D;", Options{}, Int(n), Int(n))
		}
		for _, text := range []string{"%.17g;", "%.17e;", "%#.17G;", `%-40.17g\_;`, "%+.17g;", "%8R;", "%#8R;"} {
			roundTrip(t, text, Options{}, Float(x), Float(x))
		}
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			roundTrip(t, "%.17m;", Options{}, Float(x), Float(x))
		}
		for _, text := range []string{"%# s", "%# s%#/a/a/", `%/(?s).*/`, `%[\0-\255]`} {
			roundTrip(t, text, Options{}, Text(s), Text(s))
		}
		sums := algorithms()
		sum := sums[uint64(n)%uint64(len(sums))].names[0]
		for _, flag := range []string{"", "#", "0", "-", "+"} {
			roundTrip(t, "%.8r"+literal(s)+"%"+flag+"<"+sum+">", Options{}, Int(n), Int(n))
		}
	})
}

// literal makes any text a literal of the format language.
func literal(s string) string {
	var b bytes.Buffer
	for i := range min(len(s), 100) {
		b.WriteString(`\x`)
		b.WriteByte(hexDigits[s[i]>>4])
		b.WriteByte(hexDigits[s[i]&15])
	}
	return b.String()
}

// roundTrip writes a value, reads it again, and checks what came out. %r
// reads the width and writes the precision, so the format gets both.
func roundTrip(t *testing.T, text string, o Options, in, want Value) {
	t.Helper()
	out, err := mustParse(t, text, o).Append(nil, in)
	if err != nil {
		t.Fatalf("%q of %v: %v", text, in, err)
	}
	read := text
	switch {
	case bytes.HasPrefix([]byte(text), []byte("%.8r")):
		read = "%8r" + text[4:]
	case bytes.HasPrefix([]byte(text), []byte("%#.8r")):
		read = "%#8r" + text[5:]
	case text == "%.20D;":
		read = "%10D;"
	case text == "%#.20D;":
		read = "%#10D;"
	}
	got, err := mustParse(t, read, o).Match(out)
	if err != nil || len(got) != 1 || !same(got[0], want) {
		t.Fatalf("%q of %v: wrote %q, read %v, %v", text, in, out, got, err)
	}
}
