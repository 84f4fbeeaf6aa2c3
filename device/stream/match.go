package stream

import (
	"bytes"
	"fmt"
	"slices"
)

// Match reads the values of an input, which is one whole message without its
// terminator. It is all or nothing: on error, a *MismatchError or, for the values
// in current, a *ValueError, no value is returned. current holds one value
// for each field that is marked Compare.
//
// The input is only read and may be reused afterwards; no value refers to it.
func (f *Format) Match(input []byte, current ...Value) ([]Value, error) {
	values, err := f.MatchInto(nil, input, current...)
	if err != nil {
		return nil, err
	}
	return values, nil
}

// MatchInto is Match for callers that reuse memory: it appends the values to
// dst and returns the longer slice. On error dst is returned as it was.
func (f *Format) MatchInto(dst []Value, input []byte, current ...Value) ([]Value, error) {
	m := matcher{f: f, in: input, raw: input, current: current, values: dst}
	if err := m.steps(); err != nil {
		return dst, err
	}
	if m.pos < len(m.in) && !f.opts.IgnoreExtra {
		return dst, m.mismatch(problem{reason: Extra, want: "the end of the input"}, m.pos, len(f.text))
	}
	return m.values, nil
}

// Find returns the first place where the format matches within an input that
// has no borders, as what an instrument says when it starts. A format that
// rewrites the input matches up to its end.
func (f *Format) Find(input []byte) (start, end int, ok bool) {
	rewrites := slices.ContainsFunc(f.items, func(it item) bool { return it.op == opRewrite })
	for start := range input {
		m := matcher{f: f, in: input[start:], raw: input[start:]}
		switch {
		case m.steps() != nil:
		case rewrites:
			return start, len(input), true
		default:
			return start, start + m.pos, true
		}
	}
	return 0, 0, false
}

// matcher is the state of one Match.
type matcher struct {
	f       *Format
	in      []byte // the input, rewritten where the format says so
	raw     []byte // the input as it came, for checksums
	origin  []int  // for each byte of in and its end, the place in raw; nil while in is raw
	pos     int    // in in
	current []Value
	used    int // of current
	values  []Value
}

// mismatch builds the error. at is an index into in, where an index into the
// format text.
func (m *matcher) mismatch(p problem, at, where int) error {
	if at > len(m.in) {
		at = len(m.in)
	}
	if p.reason == NoMatch && at == len(m.in) {
		p.reason = Short
	}
	return &MismatchError{Reason: p.reason, Offset: at, Expected: p.want, Found: found(m.in[at:]), Format: where}
}

// steps matches all items.
func (m *matcher) steps() error {
	for i := range m.f.items {
		if err := m.step(i); err != nil {
			return err
		}
	}
	return nil
}

// step matches one item.
func (m *matcher) step(i int) error {
	it := &m.f.items[i]
	rest := m.in[m.pos:]
	switch it.op {
	case opLiteral:
		if !hasPrefix(rest, it.literal) {
			return m.literalMismatch(it)
		}
		m.pos += len(it.literal)
	case opAny:
		if len(rest) == 0 {
			return m.mismatch(problem{reason: Short, want: "one more byte"}, m.pos, it.spec.offset)
		}
		m.pos++
	case opSpace:
		m.pos += skipSpace(rest)
	case opRewrite:
		return m.rewriteInput(it)
	case opChecksum:
		return m.checksum(it)
	case opValue:
		switch {
		case it.spec.compare:
			return m.compare(it)
		case it.spec.skip || !m.f.opts.Array:
			v, end, p := it.scan(rest)
			if p.reason == 0 {
				p = m.cutNumber(it, rest, end, i)
			}
			if p.reason != 0 {
				return m.mismatch(p, m.pos+p.at, it.spec.offset)
			}
			if !it.spec.skip {
				m.values = append(m.values, v)
			}
			m.pos += end
		default:
			return m.elements(it, i)
		}
	}
	return nil
}

// literalMismatch reports literal text that is not there. An input that is
// only too short is told apart.
func (m *matcher) literalMismatch(it *item) error {
	rest := m.in[m.pos:]
	p := problem{reason: NoMatch, want: quote(it.literal)}
	if len(rest) < len(it.literal) && it.literal[:len(rest)] == string(rest) {
		p.reason = Short
	}
	return m.mismatch(p, m.pos, it.spec.offset)
}

// scan applies the converter with the flags that are the same for all: a
// default for what fails (?) and an exact width (!).
func (it *item) scan(in []byte) (Value, int, problem) {
	v, start, end, p := it.conv.scan(in)
	if p.reason == 0 && it.spec.exact && end-start != it.spec.width {
		p = problem{reason: NoMatch, at: start, want: fmt.Sprintf("exactly %d bytes for %%!%d%c", it.spec.width, it.spec.width, it.spec.verb)}
		if end == len(in) {
			p.reason = Short
		}
	}
	if p.reason != 0 && it.spec.def {
		return zeroOf(it.conv.kind()), 0, problem{}
	}
	return v, end, p
}

// zeroOf is what the flag ? gives.
func zeroOf(k Kind) Value {
	switch k {
	case KindInt:
		return Int(0)
	case KindUint:
		return Uint(0)
	case KindFloat:
		return Float(0)
	case KindEnum:
		return Enum(0)
	}
	return Text("")
}

// cutNumber refuses a number that goes on behind what was read: 230,5 is not
// 230 and 9.9E37 is not 9, where the rest of the input would be ignored (where
// it is an error, it is one anyhow), and INFO is not infinite, unless the
// format says that an O follows.
func (m *matcher) cutNumber(it *item, rest []byte, end, i int) problem {
	if end == 0 || it.spec.width > 0 || !isDecimal(it.spec.verb) {
		return problem{}
	}
	last, behind, next := rest[end-1], rest[end:], m.f.items[i+1:]
	cut := isAlpha(last) && len(behind) > 0 && isAlnum(behind[0]) &&
		!(len(next) > 0 && next[0].op == opLiteral && hasPrefix(behind, next[0].literal))
	if m.f.opts.IgnoreExtra && !slices.ContainsFunc(next, func(it item) bool { return it.op != opSpace }) {
		cut = cut || continuesNumber(last, behind)
	}
	if cut {
		return problem{reason: NoMatch, want: wantNumber(it.spec.verb) + " that ends here"}
	}
	return problem{}
}

// compare writes a current value as for output and demands these bytes.
func (m *matcher) compare(it *item) error {
	args := m.current[min(m.used, len(m.current)):]
	var want []byte
	var err error
	switch {
	case m.f.opts.Array:
		want, _, err = m.f.appendElements(nil, it, args)
	case len(args) == 0:
		err = fmt.Errorf("the flag = needs a current value to compare with")
	default:
		want, err = it.conv.print(nil, args[0])
	}
	if err != nil {
		return &ValueError{Index: m.used, Msg: err.Error()}
	}
	m.used++
	rest := m.in[m.pos:]
	if !bytes.HasPrefix(rest, want) {
		p := problem{reason: NoMatch, want: "the current value " + quote(want)}
		if len(rest) < len(want) && bytes.HasPrefix(want, rest) {
			p.reason = Short
		}
		return m.mismatch(p, m.pos, it.spec.offset)
	}
	m.pos += len(want)
	return nil
}

// elements reads an array: elements with separators between them. An array
// ends where no separator follows, or in front of a separator that belongs to
// the rest of the format; a separator without an element behind it is an error,
// unless it is nothing but white space.
func (m *matcher) elements(it *item, i int) error {
	count, wanted, pos := 0, m.f.opts.Elements, m.pos
	for wanted == 0 || count < wanted {
		next := pos
		if count > 0 {
			var ok bool
			if next, ok = m.f.sep.match(m.in, pos); !ok || m.tail(i, pos, next-pos) {
				break
			}
		}
		v, end, p := m.element(it, next)
		if count > 0 && m.f.sep.white && (p.reason != 0 || next == len(m.in)) {
			pos = next // White space behind the last element separates nothing.
			break
		}
		if p.reason != 0 {
			if count > 0 && (len(m.f.sep.ops) == 0 || m.tail(i, pos, 0)) {
				break
			}
			return m.mismatch(p, next+p.at, it.spec.offset)
		}
		if count > 0 && next+end == pos {
			break // Neither separator nor element: it would never end.
		}
		m.values = append(m.values, v)
		count++
		pos = next + end
	}
	m.pos = pos
	if count < wanted {
		return m.mismatch(problem{reason: WrongCount, want: fmt.Sprintf("%d elements, not %d", wanted, count)}, pos, it.spec.offset)
	}
	end, more := m.f.sep.match(m.in, pos)
	if wanted > 0 && more && end > pos && !m.tail(i, pos, 0) {
		if !m.f.sep.white {
			return m.mismatch(problem{reason: WrongCount, want: fmt.Sprintf("%d elements, not more", wanted)}, pos, it.spec.offset)
		}
		m.pos = end
	}
	if p := m.cutNumber(it, m.in, pos, i); p.reason != 0 {
		return m.mismatch(p, pos, it.spec.offset)
	}
	return nil
}

// element reads one element of an array.
func (m *matcher) element(it *item, pos int) (Value, int, problem) {
	end := len(m.in)
	if t, ok := it.conv.(textual); ok {
		end = m.f.sep.window(m.in, pos, t.skipsSpace())
	}
	v, n, p := it.scan(m.in[pos:end])
	return v, n, p
}

// textual is a converter of text, whose elements end at the separator.
type textual interface {
	converter
	// skipsSpace tells whether white space in front is no part of the text.
	skipsSpace() bool
}

// tail tells whether the literal text behind an array starts at pos, where
// also a separator of some length may be: ",:" in "%f,:" with the separator
// ",". It has to be longer than the separator, or else end both the format
// and the input.
func (m *matcher) tail(i, pos, separator int) bool {
	if i+1 >= len(m.f.items) || m.f.items[i+1].op != opLiteral {
		return false
	}
	lit := m.f.items[i+1].literal
	if i+2 == len(m.f.items) && !m.f.opts.IgnoreExtra {
		return string(m.in[pos:]) == lit
	}
	return len(lit) > separator && hasPrefix(m.in[pos:], lit)
}

// hasPrefix compares without converting.
func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// checksum checks the next bytes of the unmodified input.
func (m *matcher) checksum(it *item) error {
	at := m.pos
	if m.origin != nil {
		at = m.origin[m.pos]
	}
	n, p := it.sum.match(m.raw, at)
	if p.reason != 0 {
		return &MismatchError{Reason: p.reason, Offset: at, Expected: p.want, Found: found(m.raw[at:]), Format: it.spec.offset}
	}
	if m.origin == nil {
		m.pos += n
		return nil
	}
	for m.pos < len(m.in) && m.origin[m.pos] < at+n {
		m.pos++
	}
	return nil
}

// rewriteInput replaces the input behind the position by a rewritten copy and
// keeps account of where each byte came from.
func (m *matcher) rewriteInput(it *item) error {
	out, origin, p := it.rewrite.apply(m.in[m.pos:], m.f.check)
	if p.reason != 0 {
		return m.mismatch(p, m.pos, it.spec.offset)
	}
	if m.f.check {
		next := make([]int, 0, m.pos+len(origin))
		for i := range m.pos {
			next = append(next, m.originOf(i))
		}
		for _, o := range origin {
			next = append(next, m.originOf(m.pos+o))
		}
		m.origin = next
	}
	m.in = append(append(make([]byte, 0, m.pos+len(out)), m.in[:m.pos]...), out...)
	return nil
}

func (m *matcher) originOf(i int) int {
	if m.origin == nil {
		return i
	}
	return m.origin[i]
}
