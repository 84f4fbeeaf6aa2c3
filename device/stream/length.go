package stream

// How many bytes instruments mostly send for a converter without a width.
const (
	typicalFloat   = 8 // +1.2345E1 and 293.150
	typicalInteger = 3
	typicalText    = 8
	typicalTime    = 19
	typicalBits    = 8
)

// TypicalLength estimates how many bytes an input of the format has, to tell
// how long it takes on a line. Literal text, checksums and raw bytes count as
// they are, and so does a declared width; of listed texts it is the longest.
// The rest is a guess. An array has as many elements as it declares, or else
// as given here.
func (f *Format) TypicalLength(elements int) int {
	if f.opts.Elements > 0 {
		elements = f.opts.Elements
	}
	n := 0
	for i := range f.items {
		it := &f.items[i]
		switch it.op {
		case opLiteral:
			n += len(it.literal)
		case opAny, opSpace:
			n++
		case opChecksum:
			n += it.sum.length()
		case opValue:
			one := typicalValue(it)
			if f.opts.Array && !it.spec.skip {
				one = elements*one + max(elements-1, 0)*len(f.sep.ops)
			}
			n += one
		}
	}
	return n
}

// typicalValue is the length of one value.
func typicalValue(it *item) int {
	switch it.spec.verb {
	case 'r', 'D', 'c':
		return max(it.spec.width, 1)
	case 'R':
		return max(it.spec.width, 4)
	}
	if c, ok := it.conv.(*enumConv); ok {
		longest := 0
		for i := range c.choices {
			longest = max(longest, len(c.choices[i].text))
		}
		return longest
	}
	if it.spec.width > 0 {
		return it.spec.width
	}
	switch it.conv.(type) {
	case *timeConv:
		return typicalTime
	case *bitsConv:
		return typicalBits
	}
	switch it.conv.kind() {
	case KindFloat:
		return typicalFloat
	case KindText:
		return typicalText
	}
	return typicalInteger
}

// length is how many bytes the checksum has in a message.
func (c *checksum) length() int { return len(c.form(nil, 0)) }

// HasRawBytes tells whether the format holds bytes that can have any value:
// numbers as bytes, and checksums that are not written as digits.
func (f *Format) HasRawBytes() bool {
	for i := range f.items {
		it := &f.items[i]
		switch {
		case it.op == opChecksum && !it.sum.spec.zero && !it.sum.spec.left && !it.sum.spec.plus && it.sum.digits == 0:
			return true
		case it.op == opValue && (it.spec.verb == 'r' || it.spec.verb == 'R' || it.spec.verb == 'D'):
			return true
		}
	}
	return false
}
