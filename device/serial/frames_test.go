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
		{"fixed length", framing{size: sizing{fixed: 3}}, "abcdefg", []string{"abc", "def"}, "g"},
		{"fixed length behind a start", framing{size: sizing{fixed: 3, start: []byte("A")}}, "xxAbcyAdeAz", []string{"Abc", "Ade"}, "Az"},
		{"length in a byte", framing{size: sizing{counted: true, at: 1, size: 1, scale: 1, plus: 3}}, "a\x02bcda\x00de\x01", []string{"a\x02bcd", "a\x00d"}, "e\x01"},
		{"length in two bytes, in words", framing{size: sizing{counted: true, size: 2, scale: 2, plus: 2}}, "\x00\x02abcd\x00\x00\x00", []string{"\x00\x02abcd", "\x00\x00"}, "\x00"},
		{"length with its low byte first", framing{size: sizing{counted: true, size: 4, little: true, scale: 1}}, "\x05\x00\x00\x00ab", []string{"\x05\x00\x00\x00a"}, "b"},
		{
			"SD-24 in the middle of a frame",
			framing{size: sizing{counted: true, at: 2, size: 1, scale: 1, plus: 3, start: []byte("\x55\xaa")}},
			"cd\x55\x55\xaa\x02ab\x55\xaa\x00\x55\xbb\x55\xaa\x01z\x55",
			[]string{"\x55\xaa\x02ab", "\x55\xaa\x00", "\x55\xaa\x01z"},
			"\x55",
		},
		{
			"SD-24 a length that none has",
			framing{size: sizing{counted: true, at: 1, size: 1, scale: 1, start: []byte("S")}},
			"S\x01S\x03a",
			[]string{"S\x03a"},
			"",
		},
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

// A length that no line has is noise, as is one that does not end.
func TestFramerGivesUpOnALengthThatNoLineHas(t *testing.T) {
	f := framer{framing: framing{size: sizing{counted: true, at: 1, size: 1, scale: 1}}}
	f.add([]byte("a\x01bc"))
	if line, ok := f.next(); ok || !f.overflow() {
		t.Errorf("got %q, %v", line, ok)
	}
	f.reset()
	f.add([]byte("a\x03b"))
	if line, ok := f.next(); !ok || string(line) != "a\x03b" {
		t.Errorf("after a reset: %q, %v", line, ok)
	}
}

func FuzzSizing(f *testing.F) {
	f.Add([]byte("S"), []byte("S\x03aS\x02"), uint8(1), uint8(1), int8(0))
	f.Fuzz(func(t *testing.T, start, input []byte, at, piece uint8, plus int8) {
		how := framing{size: sizing{counted: true, at: int(at), size: 1, scale: 1, plus: int(plus), start: start}}
		whole, rest := lines(how, string(input))
		var pieces []string
		for p := range slices.Chunk(input, int(piece)+1) {
			pieces = append(pieces, string(p))
		}
		if again, left := lines(how, pieces...); !slices.Equal(again, whole) || left != rest {
			t.Errorf("%q in pieces: %q and %q, not %q and %q", input, again, left, whole, rest)
		}
		for _, line := range whole {
			if !strings.HasPrefix(line, string(start)) {
				t.Errorf("%q does not begin with %q", line, start)
			}
		}
	})
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
