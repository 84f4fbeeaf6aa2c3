package serial

import "bytes"

// maxFrame is the longest line that is waited for. What is longer is noise.
const maxFrame = 1 << 20

// A framing is how lines end: with a terminator and so many check bytes behind
// it, after a length that is fixed or stands in the line, or, if it is zero, in silence; and which bytes are a
// line where one would begin.
type framing struct {
	terminator []byte
	check      int
	size       sizing
	lone       []byte // bytes that are a line by themselves
}

// silence reports whether only silence ends a line.
func (f *framing) silence() bool { return len(f.terminator) == 0 && !f.size.sized() }

// A framer cuts what arrives into lines. Where the borders between the pieces
// fall has no meaning. Without a terminator there are no lines: the whole is
// taken when the line fell silent.
type framer struct {
	framing
	buf     []byte
	start   int  // of the line that is not complete, in buf
	scanned int  // up to where it holds no terminator
	garbled bool // it says that it has a length which no line has
}

// add appends what arrived. Lines that next returned are no longer valid.
func (f *framer) add(piece []byte) {
	if f.start > 0 {
		n := copy(f.buf, f.buf[f.start:])
		f.buf, f.scanned, f.start = f.buf[:n], f.scanned-f.start, 0
	}
	f.buf = append(f.buf, piece...)
}

// next returns the next complete line, without its terminator unless check
// bytes follow that. It is valid until the next add.
func (f *framer) next() (line []byte, ok bool) {
	switch {
	case len(f.rest()) > 0 && bytes.IndexByte(f.lone, f.rest()[0]) >= 0:
		line = f.rest()[:1]
		f.start++
		f.scanned = f.start
		return line, true
	case f.silence():
		return nil, false
	case f.size.sized():
		return f.nextSized()
	}
	i := bytes.Index(f.buf[f.scanned:], f.terminator)
	if i < 0 {
		// A terminator may have begun, but cannot be complete before this.
		f.scanned = max(f.start, len(f.buf)-len(f.terminator)+1)
		return nil, false
	}
	end := f.scanned + i + len(f.terminator) + f.check
	if end > len(f.buf) {
		f.scanned += i // The check bytes are still to come.
		return nil, false
	}
	line = f.buf[f.start:end]
	if f.check == 0 {
		line = line[:len(line)-len(f.terminator)]
	}
	f.start, f.scanned = end, end
	return line, true
}

// nextSized is next for lines that have a length.
func (f *framer) nextSized() (line []byte, ok bool) {
	for {
		f.start += f.size.noise(f.rest())
		f.scanned = f.start
		n := f.size.length(f.rest())
		switch {
		case n < 0 && len(f.size.start) > 0:
			f.start++ // What a line begins with was part of something else.
			continue
		case n < 0:
			f.garbled = true
			return nil, false
		case n == 0 || len(f.rest()) < n:
			return nil, false
		}
		line = f.rest()[:n]
		f.start += n
		f.scanned = f.start
		return line, true
	}
}

// rest returns what is there of the line that is not complete.
func (f *framer) rest() []byte { return f.buf[f.start:] }

// overflow reports whether that is longer than any line, or says of itself
// that it is.
func (f *framer) overflow() bool { return f.garbled || len(f.buf)-f.start > maxFrame }

// reset forgets everything.
func (f *framer) reset() {
	f.buf, f.start, f.scanned, f.garbled = f.buf[:0], 0, 0, false
}
