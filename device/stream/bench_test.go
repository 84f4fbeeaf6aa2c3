package stream

import "testing"

// allocations on the paths that every poll takes.
func TestAllocations(t *testing.T) {
	dst := make([]Value, 0, 8)
	out := make([]byte, 0, 256)
	for _, c := range []struct {
		format, input string
		args          []Value
		match, write  float64
	}{
		{"T=%f", "T=21.5", floats(21.5), 0, 0},
		{"T=%.3f;%+d", "T=-21.500;+7", vals(Float(-21.5), Int(7)), 0, 0},
		{"N=%d", "N=12345", ints(12345), 0, 0},
		{"%x", "FFE0", ints(7), 0, 0},
		{"%{Off|On}", "On", vals(Enum(1)), 0, 0},
		{"%4r%0<crc16>", "\x00\x00\x00\x01D014", ints(1), 0, -1},
		{"%s", "text", texts("text"), 1, 0},
		{"%[a-z]", "text", texts("text"), 1, 0},
		{"%*[a-z]%d", "text7", nil, 1, -1},
	} {
		f := mustParse(t, c.format, Options{})
		input := []byte(c.input)
		got := testing.AllocsPerRun(100, func() {
			if _, err := f.MatchInto(dst, input); err != nil && c.write >= 0 {
				t.Fatal(err)
			}
		})
		if c.write >= 0 && got > c.match {
			t.Errorf("%s: matching allocates %v times, want %v", c.format, got, c.match)
		}
		if c.write < 0 {
			continue
		}
		got = testing.AllocsPerRun(100, func() {
			if _, err := f.Append(out, c.args...); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.write {
			t.Errorf("%s: writing allocates %v times, want %v", c.format, got, c.write)
		}
	}
}

func benchmarkMatch(b *testing.B, text, input string, o Options) {
	b.Helper()
	f := mustParse(b, text, o)
	in := []byte(input)
	dst := make([]Value, 0, 32)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.MatchInto(dst, in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMatchFloat(b *testing.B) { benchmarkMatch(b, "T=%f", "T=21.504", Options{}) }
func BenchmarkMatchInt(b *testing.B)   { benchmarkMatch(b, "N=%d", "N=12345", Options{}) }
func BenchmarkMatchText(b *testing.B)  { benchmarkMatch(b, "S=%s", "S=running", Options{}) }
func BenchmarkMatchEnum(b *testing.B)  { benchmarkMatch(b, "%{Off|On}", "On", Options{}) }

func BenchmarkMatchArray(b *testing.B) {
	benchmarkMatch(b, "%f", "1.25,2.5,3.75,4,5,6,7,8", Options{Array: true, Separator: ","})
}

func BenchmarkMatchRewritten(b *testing.B) {
	benchmarkMatch(b, "%#/:R:/:Idle:/%d:%{Idle|Ramping}:%s", "71:R:B17", Options{})
}

func BenchmarkMatchChecksum(b *testing.B) {
	benchmarkMatch(b, "%4r%0<xor>", "\x00\x00\x00\x0101", Options{})
}

func benchmarkAppend(b *testing.B, text string, args ...Value) {
	b.Helper()
	f := mustParse(b, text, Options{})
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Append(dst, args...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendFloat(b *testing.B) { benchmarkAppend(b, "T=%.3f", Float(21.504)) }
func BenchmarkAppendInt(b *testing.B)   { benchmarkAppend(b, "N=%d", Int(12345)) }
func BenchmarkAppendText(b *testing.B)  { benchmarkAppend(b, "S=%s", Text("running")) }

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("T=%.3f;%0<crc16>", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
