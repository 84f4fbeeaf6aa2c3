package serial

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// lines feeds pieces to a framer and returns what it makes of them.
func lines(how framing, pieces ...string) (complete []string, rest string) {
	f := framer{framing: how}
	for _, piece := range pieces {
		f.add([]byte(piece))
		for {
			line, ok := f.next()
			if !ok {
				break
			}
			complete = append(complete, string(line))
		}
	}
	return complete, string(f.rest())
}

func ends(terminator string) framing { return framing{terminator: []byte(terminator)} }

func TestFramerSplitAtEveryByte(t *testing.T) {
	tests := []struct {
		name  string
		how   framing
		input string
		want  []string
		rest  string
	}{
		{"SD-11 three bytes", ends("\r\r\r"), "run\r\r\ra\rb\r\r\r9\r\rz\r\r\r", []string{"run", "a\rb", "9\r\rz"}, ""},
		{"SD-11 more of the terminator than it takes", ends("\r\r\r"), "a\r\r\r\rb", []string{"a"}, "\rb"},
		{"SD-12 two lines and a half", ends("\r\n"), "ch=7\r\n\r\nch=8\r\nch", []string{"ch=7", "", "ch=8"}, "ch"},
		{"SD-22 NUL bytes are data", ends("\n"), "\x00\x009\n", []string{"\x00\x009"}, ""},
		{"terminator that overlaps itself", ends("abab"), "xababab", []string{"x"}, "ab"},
		{"no terminator", framing{}, "abc", nil, "abc"},
		{"check bytes behind the terminator", framing{terminator: []byte("\x03"), check: 2}, "a\x03\x03\x03b\x03cdx", []string{"a\x03\x03\x03", "b\x03cd"}, "x"},
		{"bytes that are lines", framing{terminator: []byte("\x03"), check: 1, lone: []byte("\x06\x15")}, "\x06\x15\x02a\x06\x03\x06\x06\x02", []string{"\x06", "\x15", "\x02a\x06\x03\x06", "\x06"}, "\x02"},
		{"fixed length", framing{length: 3}, "abcdefg", []string{"abc", "def"}, "g"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			check := func(pieces ...string) {
				t.Helper()
				got, rest := lines(test.how, pieces...)
				if !slices.Equal(got, test.want) || rest != test.rest {
					t.Errorf("%q: got %q and %q, want %q and %q", pieces, got, rest, test.want, test.rest)
				}
			}
			for i := range len(test.input) + 1 {
				for j := i; j <= len(test.input); j++ {
					check(test.input[:i], test.input[i:j], test.input[j:])
				}
			}
			check(strings.Split(test.input, "")...)
		})
	}
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte("\r\n"), []byte("a\r\nb\r\n"), uint8(3))
	f.Add([]byte("\r\r\r"), []byte("9\r\rz\r\r\r"), uint8(1))
	f.Fuzz(func(t *testing.T, terminator, input []byte, size uint8) {
		if len(terminator) == 0 {
			return
		}
		fr := framer{framing: framing{terminator: terminator}}
		var again []byte
		n := 0
		for piece := range slices.Chunk(input, int(size)+1) {
			fr.add(piece)
			for {
				line, ok := fr.next()
				if !ok {
					break
				}
				again = append(append(again, line...), terminator...)
				n++
			}
		}
		if again = append(again, fr.rest()...); !bytes.Equal(again, input) {
			t.Errorf("lines and rest make %q of %q", again, input)
		}
		if want := bytes.Count(input, terminator); n != want {
			t.Errorf("%d lines, want %d", n, want)
		}
	})
}
