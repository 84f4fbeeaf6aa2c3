package stream_test

import (
	"testing"

	"github.com/polygate/gateway/device/stream"
)

func TestFormatIsFoundAnywhere(t *testing.T) {
	tests := []struct {
		format, input string
		start, end    int
		found         bool
	}{
		{`ready\r\n`, "boot\r\nready\r\n> ", 6, 13, true},
		{`ready\r\n`, "boot\r\nready\r", 0, 0, false},
		{`aab`, "aaab", 1, 4, true},
		{`> `, "> > ", 0, 2, true},
		{`Grbl %*[^\r]\r\n`, "\x00\xff\r\nGrbl 1.1h ['$' for help]\r\nok", 4, 30, true},
		{`Grbl %*[^\r]\r\n`, "Grbl 1.1h", 0, 0, false},
		{`\?>`, ">", 0, 0, false},
		{`\?>`, "a>", 0, 2, true},
		{`\xb5`, "\xc2\xb5", 1, 2, true},
		{`%*/b+/c`, "aabbc", 0, 5, true},
		{`%#/b/xx/axx`, "cab!", 1, 4, true}, // what it rewrites has no place in the input
		{`ready`, "", 0, 0, false},
	}
	for _, test := range tests {
		f, err := stream.Parse(test.format, stream.Options{Direction: stream.In})
		if err != nil {
			t.Errorf("%s: %v", test.format, err)
			continue
		}
		start, end, found := f.Find([]byte(test.input))
		if start != test.start || end != test.end || found != test.found {
			t.Errorf("%s in %q: %d to %d, %v; want %d to %d, %v", test.format, test.input, start, end, found, test.start, test.end, test.found)
		}
	}
}
