package serial

import (
	"slices"
	"time"
)

// turnaround is the least time that both sides of a line need between a
// request's last byte and the reply's first.
const turnaround = time.Millisecond

// LineShare estimates which share of a line's time the polls need, where one
// byte takes so long: 1 is all of it. How long the instrument thinks is not
// known, so the truth is rather more.
func (d *Driver) LineShare(byteTime time.Duration) float64 {
	share := 0.0
	for _, x := range d.plan.polls {
		share += d.plan.exchangeTime(x, byteTime).Seconds() / x.period.Seconds()
	}
	return share
}

// SendsBreaks reports whether the configuration has a break in it.
func (d *Driver) SendsBreaks() bool {
	breaks := func(steps []step) bool {
		return slices.ContainsFunc(steps, func(s step) bool { return s.brk > 0 })
	}
	return breaks(d.plan.before) || slices.ContainsFunc(d.plan.exchanges, func(x *exchange) bool { return breaks(x.before) }) ||
		slices.ContainsFunc(d.plan.items, func(it item) bool {
			return it.write != nil && (breaks(it.write.steps) || breaks(it.write.cleanup))
		})
}

// exchangeTime is how long one exchange keeps the line busy.
func (p *plan) exchangeTime(x *exchange, byteTime time.Duration) time.Duration {
	out := len(x.request) + len(p.outTerminator)
	in := p.replyBytes(x)
	if p.echo {
		in += out
	}
	t := time.Duration(out+in)*byteTime + turnaround + p.writeDelay
	if p.in.silence() {
		t += p.readTimeout // Only silence tells that the reply is complete.
	}
	for i := range x.before {
		t += p.stepTime(&x.before[i], byteTime)
	}
	return t
}

// stepTime is how long a step that takes no value keeps the line busy.
func (p *plan) stepTime(s *step, byteTime time.Duration) time.Duration {
	n := 0
	if s.format != nil {
		n = s.format.TypicalLength(0) + len(p.outTerminator)
	}
	if s.reply == nil {
		return time.Duration(n)*byteTime + s.brk + s.wait
	}
	n += s.reply.TypicalLength(0) + len(p.in.terminator)
	return time.Duration(n)*byteTime + turnaround + s.brk + s.wait
}

// replyBytes is how long a reply is, terminators included.
func (p *plan) replyBytes(x *exchange) int {
	if p.in.size.fixed > 0 {
		return p.in.size.fixed
	}
	n := 0
	for i := range x.targets {
		n = max(n, typicalLength(&x.targets[i]))
	}
	if p.in.check > 0 {
		return n // The format has the terminator and what follows.
	}
	return n + len(p.in.terminator)
}

func typicalLength(t *target) int {
	elements := 0
	if len(t.values) == 1 {
		elements = t.values[0].codec.typ.MaxElements()
	}
	return t.format.TypicalLength(elements)
}
