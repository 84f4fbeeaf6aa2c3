package stream

import "bytes"

// sepOp is one step of a separator: a literal byte, any byte or white space.
type sepOp struct {
	op op
	b  byte
}

// separator stands between the elements of an array.
type separator struct {
	ops   []sepOp
	white bool   // nothing but white space
	plain []byte // the bytes, where all of them are literal
}

// parseSeparator compiles the text of Options.Separator.
func parseSeparator(text string) (separator, error) {
	var s separator
	for i := 0; i < len(text); {
		next := sepOp{op: opLiteral, b: text[i]}
		switch {
		case text[i] == '\\':
			e, end, err := readEscape(text, i)
			if err != nil {
				return s, err
			}
			next.b = e.b
			switch e.kind {
			case escAny:
				next.op = opAny
			case escSpace:
				next.op = opSpace
			}
			i = end
		case i == 0 && text[i] == ' ':
			next.op = opSpace
			i++
		default:
			i++
		}
		// Two runs of white space in a row are one.
		if n := len(s.ops); next.op == opSpace && n > 0 && s.ops[n-1].op == opSpace {
			continue
		}
		s.ops = append(s.ops, next)
	}
	s.white = len(s.ops) > 0
	for _, o := range s.ops {
		s.white = s.white && o.op == opSpace
		if o.op == opLiteral {
			s.plain = append(s.plain, o.b)
		}
	}
	if len(s.plain) != len(s.ops) {
		s.plain = nil
	}
	return s, nil
}

// append writes the separator.
func (s *separator) append(dst []byte) []byte {
	for _, o := range s.ops {
		switch o.op {
		case opLiteral:
			dst = append(dst, o.b)
		case opSpace:
			dst = append(dst, ' ')
		}
	}
	return dst
}

// match returns the index behind the separator at in[pos:].
func (s *separator) match(in []byte, pos int) (int, bool) {
	return s.matchRun(in, pos, nil)
}

// run remembers a stretch of white space, so that a search measures it once.
type run struct{ start, end int }

func (s *separator) matchRun(in []byte, pos int, r *run) (int, bool) {
	for _, o := range s.ops {
		switch o.op {
		case opSpace:
			if r != nil && r.start <= pos && pos < r.end {
				pos = r.end
				continue
			}
			end := pos + skipSpace(in[pos:])
			if r != nil && end > pos {
				*r = run{pos, end}
			}
			pos = end
		case opAny:
			if pos >= len(in) {
				return 0, false
			}
			pos++
		default:
			if pos >= len(in) || in[pos] != o.b {
				return 0, false
			}
			pos++
		}
	}
	return pos, true
}

// window returns where a text element that starts at pos has to end: at the
// next separator that is not empty, or at the end of the input. White space
// that the converter skips in front of the text ends nothing.
func (s *separator) window(in []byte, pos int, skipsSpace bool) int {
	if len(s.ops) == 0 {
		return len(in)
	}
	if s.white && skipsSpace {
		pos += skipSpace(in[pos:])
	}
	if s.plain != nil {
		if i := bytes.Index(in[pos:], s.plain); i >= 0 {
			return pos + i
		}
		return len(in)
	}
	var r run
	for p := pos; p < len(in); p++ {
		if end, ok := s.matchRun(in, p, &r); ok && end > p {
			return p
		}
	}
	return len(in)
}
