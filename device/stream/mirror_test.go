package stream_test

import (
	"testing"

	"github.com/polygate/gateway/device/stream"
)

// What the mirror of an input format writes, that format reads.
func TestMirrorWritesWhatIsRead(t *testing.T) {
	tests := []struct {
		format  string
		options stream.Options
		values  []stream.Value
		want    string
	}{
		{"T=%f", stream.Options{}, []stream.Value{stream.Float(1.5)}, "T=1.500000"},
		{"%f V", stream.Options{DecimalComma: true}, []stream.Value{stream.Float(1.5)}, "1,500000 V"},
		{`a\?b\_%d`, stream.Options{}, []stream.Value{stream.Int(3)}, "a b 3"},
		{"%!4x", stream.Options{}, []stream.Value{stream.Uint(0xd7)}, "00d7"},
		{"%*d,%d", stream.Options{}, []stream.Value{stream.Int(1), stream.Int(2)}, "1,2"},
		{"%*d:%d", stream.Options{Array: true, Separator: ","}, []stream.Value{stream.Int(1), stream.Int(2)}, "0:1,2"},
		{"%[a-z]", stream.Options{}, []stream.Value{stream.Text("abc")}, "abc"},
		{"%.1/^(.*?) *$/", stream.Options{}, []stream.Value{stream.Text("abc")}, "abc"},
		{"%{no|yes}%0<sum>", stream.Options{}, []stream.Value{stream.Enum(1)}, "yes51"},
	}
	for _, test := range tests {
		test.options.Direction = stream.In
		f, err := stream.Parse(test.format, test.options)
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Mirror()
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Append(nil, test.values...)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %q, want %q: %v", test.format, got, test.want, err)
		}
		if _, err := f.Match(got); err != nil {
			t.Errorf("%s does not read %q: %v", test.format, got, err)
		}
	}
}

// What an output format writes, its mirror reads.
func TestMirrorReadsWhatIsWritten(t *testing.T) {
	for format, v := range map[string]stream.Value{"V=%.3f": stream.Float(1.25), "N%02d": stream.Int(7), "%{off|on}": stream.Enum(1), `\x02%d\x03%<xor>`: stream.Int(12)} {
		f, err := stream.Parse(format, stream.Options{Direction: stream.Out})
		if err != nil {
			t.Fatal(err)
		}
		m, err := f.Mirror()
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Match(b); err != nil || len(got) != 1 || got[0] != v {
			t.Errorf("%s: %q is read as %v, not %v: %v", format, b, got, v, err)
		}
	}
}
