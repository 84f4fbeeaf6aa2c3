package stream

import "fmt"

// maxRewritten limits the length of a rewritten message.
const maxRewritten = 4 << 20

// rewriter is %#/pattern/replacement/.
type rewriter struct {
	spec  spec
	pat   *pattern
	parts []part
	want  string
}

// part is a piece of a replacement: a literal byte or a group of the match.
type part struct {
	group int  // -1 is a literal
	b     byte // the literal
	mode  byte // 0, or u l U L
}

// buildRewrite reads the replacement up to the closing slash.
func buildRewrite(p *parser, it *item, pat *pattern) error {
	r := &rewriter{spec: it.spec, pat: pat, want: "fewer replacements of /" + pat.text + "/"}
	if r.spec.prec < 0 {
		r.spec.prec = 0
	}
	if r.spec.left && r.spec.width == 0 {
		return fail(it.spec.offset, "the flag - (the last bytes) needs a width, as in %%#-5/a/b/")
	}
	for {
		if p.pos >= len(p.text) {
			return fail(it.spec.offset, "the / at the end of the replacement is missing; a / inside is written \\/")
		}
		c := p.text[p.pos]
		if c == '/' {
			p.pos++
			break
		}
		if err := r.parsePart(p, c); err != nil {
			return err
		}
	}
	it.op, it.rewrite = opRewrite, r
	return nil
}

// parsePart reads one piece: & or \1 to \9 for a group, \U1 and its like for
// a group in another case, anything else for itself. A number above that of
// the groups is a byte, as is everything in hexadecimal or octal.
func (r *rewriter) parsePart(p *parser, c byte) error {
	groups := r.pat.re.NumSubexp()
	if c == '&' {
		r.parts = append(r.parts, part{group: 0})
		p.pos++
		return nil
	}
	if c != '\\' {
		r.parts = append(r.parts, part{group: -1, b: c})
		p.pos++
		return nil
	}
	if p.pos+2 < len(p.text) {
		mode, which := p.text[p.pos+1], p.text[p.pos+2]
		isCase := mode == 'u' || mode == 'l' || mode == 'U' || mode == 'L'
		if isCase && (which == '&' || isDigit(which)) {
			n := 0
			if which != '&' {
				n = int(which - '0')
			}
			if n > groups {
				return fail(p.pos, "\\%c%d: the pattern has only %d groups in ()", mode, n, groups)
			}
			r.parts = append(r.parts, part{group: n, mode: mode})
			p.pos += 3
			return nil
		}
	}
	e, next, err := readEscape(p.text, p.pos)
	if err != nil {
		return err
	}
	if e.ref > 0 && e.ref <= min(groups, 9) {
		r.parts = append(r.parts, part{group: e.ref})
	} else {
		r.parts = append(r.parts, part{group: -1, b: e.b})
	}
	p.pos = next
	return nil
}

// apply returns a rewritten copy of in. If asked for, origin holds for each
// byte of the copy, and for its end, which byte of in it came from.
//
// After each match the search goes on behind it as if the text began there,
// as in StreamDevice. An empty match directly behind the match before is none,
// and behind an empty match one byte is kept, so that the loop ends.
func (r *rewriter) apply(in []byte, wantOrigin bool) (out []byte, origin []int, p problem) {
	tooMuch := problem{reason: TooMuchWork, want: r.want}
	from, to := r.bounds(len(in))
	out = make([]byte, 0, len(in)+16)
	keep := func(a, b int) {
		out = append(out, in[a:b]...)
		for ; wantOrigin && a < b; a++ {
			origin = append(origin, a)
		}
	}
	keep(0, from)
	work, last := maxWork, -1 // last: the end of the match before
	pos := from               // what in front of it is done
	for n := 0; pos <= to && (r.spec.prec == 0 || n < r.spec.prec); {
		loc, ok := r.pat.find(in[pos:to], &work)
		if !ok || len(out) > maxRewritten {
			return nil, nil, tooMuch
		}
		if loc == nil {
			break
		}
		start, end := pos+loc[0], pos+loc[1]
		keep(pos, start)
		if end > start || start != last {
			n++
			if r.replaces(n) {
				before := len(out)
				out = r.replace(out, in[pos:to], loc)
				for ; wantOrigin && before < len(out); before++ {
					origin = append(origin, start)
				}
			} else {
				keep(start, end)
			}
		}
		pos, last = end, end
		if start == end {
			if pos < to {
				keep(pos, pos+1)
			}
			pos++
		}
	}
	keep(min(pos, to), len(in))
	if len(out) > maxRewritten {
		return nil, nil, tooMuch
	}
	return out, append(origin, len(in)), problem{}
}

// bounds returns which part of n bytes is rewritten: all, the first or, with
// the flag -, the last width bytes.
func (r *rewriter) bounds(n int) (from, to int) {
	switch {
	case r.spec.width == 0 || r.spec.width >= n:
		return 0, n
	case r.spec.left:
		return n - r.spec.width, n
	}
	return 0, r.spec.width
}

// replaces tells whether match n, from 1 on, is replaced: every one, only the
// one that the precision names, or with the flag + as many as it says.
func (r *rewriter) replaces(n int) bool {
	return r.spec.prec == 0 || r.spec.plus || n == r.spec.prec
}

// replace appends the replacement for a match in a text.
func (r *rewriter) replace(out, text []byte, loc []int) []byte {
	for _, p := range r.parts {
		if p.group < 0 {
			out = append(out, p.b)
			continue
		}
		if loc[2*p.group] < 0 { // a group that took no part in the match
			continue
		}
		before := len(out)
		out = append(out, text[loc[2*p.group]:loc[2*p.group+1]]...)
		changed := out[before:]
		switch p.mode {
		case 'U':
			upper(changed)
		case 'L':
			lower(changed)
		case 'u':
			upper(changed[:min(1, len(changed))])
		case 'l':
			lower(changed[:min(1, len(changed))])
		}
		if len(out) > maxRewritten { // The caller refuses it.
			break
		}
	}
	return out
}

// output rewrites what was formatted so far, out[base:].
func (r *rewriter) output(out []byte, base int) ([]byte, error) {
	next, _, p := r.apply(out[base:], false)
	if p.reason != 0 {
		return out, fmt.Errorf("%s: expected %s", p.reason, p.want)
	}
	return append(out[:base:base], next...), nil
}
