package serial

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/stream"
)

// An answering is an exchange seen from the instrument.
type answering struct {
	after  string         // the request that has to come first; may be empty
	format *stream.Format // mirrored
	fields []stream.Field
	// from are the values of the fields; one without a codec has none, and an
	// array has the one.
	from []value
}

// query turns an exchange around. The format that reads most decides how the
// reply looks, unless the others do not match that.
func (i *Instrument) query(x *exchange) (*answering, error) {
	after := ""
	for n := range x.before {
		after = i.step(&x.before[n])
	}
	targets := slices.Clone(x.targets)
	slices.SortStableFunc(targets, func(t, u target) int { return cmp.Compare(len(u.fields), len(t.fields)) })
	err := errors.New("nothing is read")
	for n := range targets {
		a, failed := turn(&targets[n], targets)
		if failed == nil {
			failed = i.try(a, targets)
		}
		if failed == nil {
			a.after = after
			return a, nil
		}
		if n == 0 {
			err = failed
		}
	}
	return nil, err
}

// turn makes the reply that looks like base, with the values of all targets.
func turn(base *target, targets []target) (*answering, error) {
	f, err := base.format.Mirror()
	if err != nil {
		return nil, err
	}
	a := &answering{format: f, fields: f.Fields()}
	a.from = make([]value, len(a.fields))
	for n := range targets {
		t := &targets[n]
		m, err := t.format.Mirror()
		if err != nil {
			return nil, err
		}
		for at, field := range m.Fields() {
			for _, v := range t.values {
				if v.codec.typ.IsArray() && t.format != base.format {
					continue
				}
				if at < len(a.from) && t.fields[v.field].Offset == field.Offset {
					a.from[at] = v
				}
			}
		}
	}
	return a, nil
}

// try checks that all formats of an exchange match what the instrument would say.
func (i *Instrument) try(a *answering, targets []target) error {
	reply, err := a.reply(func(index int) gateway.Value {
		return i.plan.items[index].source.at(0, 0, rand.New(rand.NewPCG(0, 0)))
	})
	if err != nil {
		return err
	}
	for n := range targets {
		if _, err := targets[n].format.Match(reply); err != nil {
			return fmt.Errorf("it would be %s: %w", quoted(reply), err)
		}
	}
	return nil
}

// reply writes the reply with the values as they are.
func (a *answering) reply(get func(index int) gateway.Value) ([]byte, error) {
	var args []stream.Value
	for n := range a.fields {
		v := &a.from[n]
		if v.codec == nil {
			args = append(args, a.fields[n].Typical())
			continue
		}
		var err error
		if args, err = v.codec.says(args, &a.fields[n], get(v.index)); err != nil {
			return nil, err
		}
	}
	return a.format.Append(nil, args...)
}

// says is encode for formats that only read: an instrument may say whole
// numbers of what is a float here.
func (c *codec) says(dst []stream.Value, field *stream.Field, v gateway.Value) ([]stream.Value, error) {
	if !v.Known() {
		return dst, fmt.Errorf("there is no value")
	}
	if c.typ.Kind.IsFloat() && field.Kind != stream.KindFloat && !c.scaled {
		whole := *c
		whole.scaled, whole.scale, whole.offset = true, 1, 0
		c = &whole
	}
	return c.encode(dst, field, v)
}

// An acknowledgement is what a step of a write is answered with.
type acknowledgement struct {
	lines []*stream.Format // mirrored
}

// reply writes the lines; fields that repeat what was written get that.
func (a *acknowledgement) reply(p *plan, written []stream.Value) ([]byte, bool) {
	var b []byte
	for n, f := range a.lines {
		if n > 0 {
			b = append(b, p.in.terminator...)
		}
		var args []stream.Value
		for _, field := range f.Fields() {
			if field.Compare && len(written) > 0 {
				args = append(args, written[0])
			} else {
				args = append(args, field.Typical())
			}
		}
		var err error
		if b, err = f.Append(b, args...); err != nil {
			return nil, false
		}
	}
	return b, len(a.lines) > 0
}

// A setting is a step of a write that takes the value.
type setting struct {
	acknowledgement
	index  int
	codec  *codec
	format *stream.Format // mirrored
	field  stream.Field
	// A text stands between what is always in front and behind, if one of them is set.
	front, behind []byte
}

// write turns the steps of a put or command around.
func (i *Instrument) write(index int, w *write) error {
	for n := range w.steps {
		s := &w.steps[n]
		if s.format == nil {
			continue
		}
		a := acknowledgement{}
		replies := []*stream.Format{s.reply}
		if w.result != nil && n == len(w.steps)-1 {
			replies = append(replies, w.result.format)
		}
		for _, f := range replies {
			if f == nil {
				continue
			}
			m, err := f.Mirror()
			if err != nil {
				return err
			}
			a.lines = append(a.lines, m)
		}
		if s.field == nil {
			request := i.fix(s.format, a)
			if w.toggle && n == len(w.steps)-1 {
				i.toggles[request] = index
			}
			continue
		}
		set := setting{acknowledgement: a, index: index, codec: w.codec}
		var err error
		if set.format, err = s.format.Mirror(); err != nil {
			return err
		}
		set.field = set.format.Fields()[0]
		if s.field.Kind == stream.KindText {
			set.between(s.format)
		}
		i.writes = append(i.writes, set)
	}
	for n := range w.cleanup {
		i.step(&w.cleanup[n])
	}
	return nil
}

// step answers a step without a value, and returns its request.
func (i *Instrument) step(s *step) string {
	if s.format == nil {
		return ""
	}
	var a acknowledgement
	if s.reply != nil {
		if m, err := s.reply.Mirror(); err == nil {
			a.lines = append(a.lines, m)
		}
	}
	return i.fix(s.format, a)
}

// fix answers a request without a value. One that also is a query is answered
// as such, unless every put wants the same answer, as a question for errors does.
// It returns the request.
func (i *Instrument) fix(format *stream.Format, a acknowledgement) (request string) {
	b, err := format.Append(nil)
	if err != nil || i.fixed[string(b)] != nil {
		return string(b)
	}
	if all := i.queries[string(b)]; len(all) > 0 {
		if reply, ok := a.reply(i.plan, nil); !ok || slices.ContainsFunc(all, i.explicit) || !i.fits(b, reply) {
			return string(b)
		}
		delete(i.queries, string(b))
	}
	i.fixed[string(b)] = &a
	return string(b)
}

// explicit reports whether the file says how a query's values are simulated.
func (i *Instrument) explicit(q *answering) bool {
	for _, v := range q.from {
		if v.codec != nil && i.plan.items[v.index].source.explicit {
			return true
		}
	}
	return false
}

// fits reports whether a reply is one to the exchange with this request.
func (i *Instrument) fits(request, reply []byte) bool {
	for _, x := range i.plan.exchanges {
		if !bytes.Equal(x.request, request) {
			continue
		}
		for n := range x.targets {
			if _, err := x.targets[n].format.Match(reply); err != nil {
				return false
			}
		}
	}
	return true
}

// between finds what stands in front of a text and behind it. A text may hold
// anything, so it cannot be read as numbers are.
func (s *setting) between(f *stream.Format) {
	const mark = "\x00mark\x00"
	b, err := f.Append(nil, stream.Text(mark))
	if err != nil {
		return
	}
	if front, behind, ok := bytes.Cut(b, []byte(mark)); ok {
		s.front, s.behind = front, behind
	}
}

// match reads the value out of a request, for the attribute and as it was written.
func (s *setting) match(request []byte) (gateway.Value, []stream.Value, bool) {
	var written []stream.Value
	if s.front != nil || s.behind != nil {
		rest, ok := bytes.CutPrefix(request, s.front)
		rest, ends := bytes.CutSuffix(rest, s.behind)
		if !ok || !ends {
			return gateway.Value{}, nil, false
		}
		written = []stream.Value{stream.Text(string(rest))}
	} else {
		var err error
		if written, err = s.format.Match(request); err != nil {
			return gateway.Value{}, nil, false
		}
	}
	if s.codec.typ.Kind.IsNumber() && s.field.Verb == 'c' && len(written) == 1 && len(written[0].Text()) == 1 {
		written[0] = stream.Uint(uint64(written[0].Text()[0]))
	}
	v, _ := s.codec.decode(&s.field, written)
	return v, written, v.Known()
}
