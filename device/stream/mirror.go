package stream

import "strings"

// mirror is the direction of a format as the other side of the line uses it.
const mirror Direction = 255

// Mirror returns the format as a simulated instrument uses it, which reads
// what an output format writes, and writes what an input format reads. In it
// every converter of a scalar format has a field, also one with the flag *; an
// array writes zero, a blank or the first choice there. The wild card \? is
// written as a blank, and a number with the decimal comma where that is read.
//
// Not everything can be turned around: what Append wrote is to be matched with f.
func (f *Format) Mirror() (*Format, error) {
	o := f.opts
	o.Direction = mirror
	return Parse(f.text, o)
}

// Typical returns a value that the field's converter can write: zero, a blank
// or the first choice.
func (f *Field) Typical() Value {
	switch {
	case f.Kind == KindEnum && len(f.Choices) > 0:
		return Enum(f.Choices[0].Value)
	case f.Kind == KindFloat:
		return Float(0)
	case f.Verb == 'c':
		return Text(" ")
	case f.Kind == KindText:
		return Text("")
	}
	return Uint(0)
}

// mirror changes a converter that only reads into one that writes what that takes.
func (s *spec) mirror(array bool) {
	if !array {
		s.skip = false // The other side gives this value.
	}
	if s.exact && strings.IndexByte("diuoxXfeEgG", s.verb) >= 0 {
		s.zero = true // Digits fill the width, not blanks.
	}
}

// appendTypical writes an item whose value nobody gives.
func (it *item) appendTypical(dst []byte) ([]byte, error) {
	field := it.field(mirror)
	return it.conv.print(dst, field.Typical())
}

// withComma turns the decimal points behind start into commas.
func withComma(dst []byte, start int) []byte {
	for i, c := range dst[start:] {
		if c == '.' {
			dst[start+i] = ','
		}
	}
	return dst
}
