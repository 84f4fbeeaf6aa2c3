package serial

import "time"

// A pace is how long an instrument takes to answer. What was slow once is
// forgotten bit by bit.
type pace struct {
	replies map[*exchange]time.Duration // the slowest of late, of those that came in time
	late    time.Duration               // that a reply came after it was asked for, of those that did not
}

// took takes note of how long a reply took.
func (p *pace) took(x *exchange, t time.Duration) {
	if p.replies == nil {
		p.replies = map[*exchange]time.Duration{}
	}
	slowest := p.replies[x]
	p.replies[x] = max(t, slowest-(slowest-t)/64)
	p.late -= p.late / 64
}

// knows reports whether this exchange has been answered in time.
func (p *pace) knows(x *exchange) bool {
	_, known := p.replies[x]
	return known
}

// slowest returns how long the slowest reply takes, as far as is known.
func (p *pace) slowest() time.Duration {
	slowest := p.late
	for _, t := range p.replies {
		slowest = max(slowest, t)
	}
	return slowest
}
