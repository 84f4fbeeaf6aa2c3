package device

import (
	"slices"
	"time"

	"github.com/polygate/gateway"
)

// A queued put was accepted and waits for its turn.
type queued struct {
	*gateway.Put
	index    int
	deadline time.Time
	answer   func(*gateway.PutVerdict)
}

// A putQueue holds the puts of one device that have not started, urgent ones
// before all others and otherwise first in, first out. It is plain data,
// guarded by the supervisor's mutex.
type putQueue struct {
	urgent, normal []*queued
	bytes          int // of the values in it
}

func (q *putQueue) len() int { return len(q.urgent) + len(q.normal) }

// supersededBy returns the waiting puts whose place p takes. A `latest` put
// takes that of one behind the last `each` of the same attribute. An urgent
// put, which overtakes what was asked before, takes that of every `latest`
// one: running an older value after a newer one would undo it. A refresh takes
// the place of refreshes alone, and of none that waits before a put.
func (q *putQueue) supersededBy(p *queued) []*queued {
	var out []*queued
	if p.Urgent {
		for _, waiting := range q.normal {
			if waiting.index == p.index && waiting.Mode == gateway.Latest && waiting.Refresh == p.Refresh {
				out = append(out, waiting)
			}
		}
	}
	if p.Mode != gateway.Latest {
		return out
	}
	lane := *q.lane(p)
	for _, waiting := range slices.Backward(lane) {
		if waiting.index != p.index || waiting.Refresh && !p.Refresh {
			continue
		}
		if waiting.Mode == gateway.Latest && waiting.Refresh == p.Refresh {
			out = append(out, waiting)
		}
		break
	}
	return out
}

// push adds p, in the place of the newest of superseded if that waits in the
// same lane, and removes the superseded ones.
func (q *putQueue) push(p *queued, superseded []*queued) {
	lane := q.lane(p)
	placed := false
	for _, old := range superseded {
		if i := slices.Index(*lane, old); i >= 0 && !placed {
			(*lane)[i] = p
			q.bytes -= old.Value.Size()
			placed = true
			continue
		}
		q.remove(old)
	}
	if !placed {
		*lane = append(*lane, p)
	}
	q.bytes += p.Value.Size()
}

// pop takes the put whose turn it is, or returns nil.
func (q *putQueue) pop() *queued {
	lane := &q.urgent
	if len(*lane) == 0 {
		lane = &q.normal
	}
	if len(*lane) == 0 {
		return nil
	}
	p := (*lane)[0]
	(*lane)[0] = nil
	*lane = (*lane)[1:]
	q.bytes -= p.Value.Size()
	return p
}

// expire takes out the puts whose deadline has come and returns the earliest
// deadline of the others, or the zero time.
func (q *putQueue) expire(now time.Time) (expired []*queued, next time.Time) {
	for _, lane := range []*[]*queued{&q.urgent, &q.normal} {
		*lane = slices.DeleteFunc(*lane, func(p *queued) bool {
			if !p.deadline.After(now) {
				expired = append(expired, p)
				q.bytes -= p.Value.Size()
				return true
			}
			next = earlier(next, p.deadline)
			return false
		})
	}
	return expired, next
}

// clear takes all puts out, in the order in which they would have run.
func (q *putQueue) clear() []*queued {
	all := slices.Concat(q.urgent, q.normal)
	*q = putQueue{}
	return all
}

func (q *putQueue) lane(p *queued) *[]*queued {
	if p.Urgent {
		return &q.urgent
	}
	return &q.normal
}

func (q *putQueue) remove(p *queued) {
	lane := q.lane(p)
	if i := slices.Index(*lane, p); i >= 0 {
		*lane = slices.Delete(*lane, i, i+1)
		q.bytes -= p.Value.Size()
	}
}

// earlier returns the earlier of two times, where zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
