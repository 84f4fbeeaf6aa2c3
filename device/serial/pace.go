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

// slowest returns how long the slowest reply takes, where one of these exchanges
// that has not been answered yet takes as long as unknown.
func (p *pace) slowest(exchanges []*exchange, unknown time.Duration) time.Duration {
	slowest := p.late
	for _, t := range p.replies {
		slowest = max(slowest, t)
	}
	for _, x := range exchanges {
		if _, known := p.replies[x]; !known {
			slowest = max(slowest, unknown)
		}
	}
	if len(p.replies) == 0 {
		slowest = max(slowest, unknown)
	}
	return slowest
}
