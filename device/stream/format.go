package stream

import (
	"fmt"
	"time"
)

// Direction says what a format text is used for. A few converters and flags
// exist in one direction only, as %[set] in input or =? in output.
type Direction uint8

const (
	// Both accepts everything that is right in one direction at least, so
	// that a simulated instrument can read a request and write a reply.
	Both Direction = iota
	// In is for formats that read a reply.
	In
	// Out is for formats that write a request.
	Out
)

// Options change how a format works. The zero value is right for a scalar.
type Options struct {
	Direction Direction

	// Array applies the one value converter of the format again and again.
	// Separator stands between the elements. It is written as in the format
	// language, without converters; a first blank, like \_, is any amount of
	// white space in input and one blank in output. An empty separator puts
	// the elements side by side. A text element ends at the separator.
	Array     bool
	Separator string
	// Elements is the wanted number of elements of an array; 0 is any.
	Elements int

	// DecimalComma makes floating point input use a comma as the decimal
	// point, and only a comma. Output always has a point.
	DecimalComma bool

	// IgnoreExtra accepts bytes behind the end of the format. A number is
	// still not cut in two: 230,5 does not match %f and is not 230.
	IgnoreExtra bool

	// Location is the time zone of %T where the text names none. Nil is UTC,
	// so that the zone of the process has no influence.
	Location *time.Location
	// Now gives the date where %T reads a time of day only. Nil is time.Now.
	Now func() time.Time
}

// Choice is one text of an enum converter and its number.
type Choice struct {
	Value int64
	Text  string // bytes, with '?' in the place of each \?
}

// Field describes one value of a format, for checks against an attribute.
type Field struct {
	Offset  int    // of its % in the format text
	Verb    byte   // 'f', 'd', '[', '{', '/', ...
	Kind    Kind   // what Match returns and Append wants; %c wants a Uint in output
	Name    string // from %(name)f, else ""
	Compare bool   // %=: takes a current value in Match and yields none
	Choices []Choice
}

// Format is a compiled format text. It is immutable and safe for concurrent use.
type Format struct {
	text     string
	opts     Options
	items    []item
	fields   []Field
	sep      separator
	check    bool // some item is a checksum
	warnings []SyntaxError
}

// op is what an item does.
type op uint8

const (
	opLiteral  op = iota // exactly these bytes
	opAny                // \?
	opSpace              // \_
	opValue              // a converter with a value
	opChecksum           // %<name>
	opRewrite            // %#/pattern/replacement/
)

// item is one step of a format.
type item struct {
	op      op
	literal string
	spec    spec
	conv    converter // opValue
	sum     *checksum // opChecksum
	rewrite *rewriter // opRewrite
}

// spec holds what stands between the % and the conversion character.
type spec struct {
	offset                       int // of the %
	verb                         byte
	name                         string
	skip, def, compare, exact    bool // * ? = !
	alt, left, plus, space, zero bool // # - + blank 0
	width                        int  // 0 is unset
	prec                         int  // -1 is unset
}

// converter reads and writes one kind of value. Implementations are immutable.
type converter interface {
	// kind is what scan returns.
	kind() Kind
	// scan reads one value from the front of in. The field is in[start:end],
	// without white space that was skipped; end is how much is consumed.
	scan(in []byte) (v Value, start, end int, p problem)
	// print appends a value, or says why it cannot be written.
	print(dst []byte, v Value) ([]byte, error)
}

var (
	_ converter = (*floatConv)(nil)
	_ converter = (*intConv)(nil)
	_ converter = (*enumConv)(nil)
	_ converter = (*bitsConv)(nil)
	_ converter = (*rawConv)(nil)
	_ converter = (*rawFloatConv)(nil)
	_ converter = (*bcdConv)(nil)
	_ converter = (*mantissaConv)(nil)
	_ converter = (*timeConv)(nil)

	_ textual = (*stringConv)(nil)
	_ textual = (*charConv)(nil)
	_ textual = (*charsetConv)(nil)
	_ textual = (*regexConv)(nil)
)

// problem is why a scan failed; the zero problem is success. It is a value,
// so that attempts which may fail cost no allocation.
type problem struct {
	reason Reason
	at     int // relative to the start of what was scanned
	want   string
}

// String returns the format text.
func (f *Format) String() string { return f.text }

// Warnings returns what is no mistake for certain but looks like one, in the
// order of the text.
func (f *Format) Warnings() []SyntaxError { return append([]SyntaxError(nil), f.warnings...) }

// Fields describes the values of the format in order: those that Append
// takes, and, without those marked Compare, those that Match returns. In an
// array format it is the field of each element.
func (f *Format) Fields() []Field { return append([]Field(nil), f.fields...) }

// HasChecksum tells whether the format contains a checksum, so that a lost
// byte is noticed.
func (f *Format) HasChecksum() bool { return f.check }

// Append appends the values to dst as the format writes them and returns the
// longer slice. It takes one value for each field; in an array format, all
// are elements. On error dst is returned as it was, and the error is a
// *ValueError.
func (f *Format) Append(dst []byte, args ...Value) ([]byte, error) {
	if err := f.checkCount(len(args)); err != nil {
		return dst, err
	}
	out, next := dst, 0
	for i := range f.items {
		it := &f.items[i]
		var err error
		switch it.op {
		case opLiteral:
			out = append(out, it.literal...)
		case opAny:
			// Nothing is written for any byte, as in StreamDevice.
			if f.opts.Direction == mirror {
				out = append(out, ' ')
			}
		case opSpace:
			out = append(out, ' ')
		case opChecksum:
			out, err = it.sum.append(out, len(dst))
		case opRewrite:
			out, err = it.rewrite.output(out, len(dst))
		case opValue:
			start := len(out)
			switch {
			case it.spec.skip && f.opts.Direction == mirror:
				out, err = it.appendTypical(out)
			case it.spec.skip:
				err = fmt.Errorf("%%*%c can only be read", it.spec.verb)
			case f.opts.Array:
				out, next, err = f.appendElements(out, it, args)
			default:
				out, err = it.conv.print(out, args[next])
				if err == nil {
					next++
				}
			}
			if f.opts.DecimalComma && f.opts.Direction == mirror && it.conv.kind() == KindFloat {
				out = withComma(out, start)
			}
		}
		if err != nil {
			index := -1
			if it.op == opValue && !it.spec.skip {
				index = next
			}
			return dst, &ValueError{Index: index, Msg: err.Error()}
		}
	}
	return out, nil
}

// checkCount refuses a wrong number of values.
func (f *Format) checkCount(n int) error {
	switch {
	case !f.opts.Array && n != len(f.fields):
		return &ValueError{Index: -1, Msg: fmt.Sprintf("%d values for the %d converters of %s", n, len(f.fields), quote(f.text))}
	case f.opts.Array && f.opts.Elements > 0 && n != f.opts.Elements:
		return &ValueError{Index: -1, Msg: fmt.Sprintf("%d elements where %d are declared", n, f.opts.Elements)}
	}
	return nil
}

// appendElements writes all elements of an array. On error, the int is the
// index of the element.
func (f *Format) appendElements(out []byte, it *item, args []Value) ([]byte, int, error) {
	var err error
	for i, v := range args {
		if i > 0 {
			out = f.sep.append(out)
		}
		if out, err = it.conv.print(out, v); err != nil {
			return out, i, err
		}
	}
	return out, 0, nil
}
