package stream_test

import (
	"testing"

	"github.com/polygate/gateway/device/stream"
)

func TestTypicalLength(t *testing.T) {
	tests := []struct {
		format   string
		options  stream.Options
		elements int
		want     int
	}{
		{"OK", stream.Options{}, 0, 2},
		{`\x02PV%f\x03%<xor>`, stream.Options{}, 0, 3 + 8 + 1 + 1},
		{"T=%7f;%0<sum>", stream.Options{}, 0, 2 + 7 + 1 + 2},
		{"%d,%*d", stream.Options{}, 0, 3 + 1 + 3},
		{"%0r%0r%0r%*3c%!4x", stream.Options{}, 0, 3 + 3 + 4},
		{"%{OFF|STANDBY}", stream.Options{}, 0, 7},
		{"%f", stream.Options{Array: true, Separator: ", "}, 4, 4*8 + 3*2},
		{`%8b\_%s`, stream.Options{}, 0, 8 + 1 + 8},
	}
	for _, test := range tests {
		f, err := stream.Parse(test.format, test.options)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.TypicalLength(test.elements); got != test.want {
			t.Errorf("%s: got %d, want %d", test.format, got, test.want)
		}
	}
}

func TestHasRawBytes(t *testing.T) {
	for format, want := range map[string]bool{"%f": false, "%r": true, "%*2r": true, "%R": true, "%D": true, "%d%<sum>": true, "%d%0<sum>": false, "%d%+<sum>": false, "%c": false} {
		f, err := stream.Parse(format, stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.HasRawBytes(); got != want {
			t.Errorf("%s: got %v", format, got)
		}
	}
}
