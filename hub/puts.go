package hub

import (
	"sync"
	"time"

	"github.com/polygate/gateway"
)

// A pending is a put on its way. It implements gateway.Pending.
type pending struct {
	owner    gateway.Owner
	path     gateway.Path
	session  *session
	timer    *time.Timer
	accepted chan struct{}
	done     chan struct{}
	verdict  gateway.Verdict // valid once done is closed

	isAccepted bool // guarded by putTable.mu
}

var _ gateway.Pending = (*pending)(nil)

func (p *pending) Accepted() <-chan struct{} { return p.accepted }
func (p *pending) Done() <-chan struct{}     { return p.done }
func (p *pending) Verdict() gateway.Verdict  { return p.verdict }

// A putTable holds the puts that have no verdict yet. A put is in it before it
// is sent, since a verdict can be faster than anything. Whoever takes it out,
// the verdict, the deadline or the end of its owner, ends it; what comes later
// is ignored.
type putTable struct {
	max int

	mu      sync.Mutex
	pending map[uint64]*pending
	last    uint64
	closing bool
	idle    chan struct{} // closed when closing and nothing is under way
}

func (t *putTable) init(max int) {
	t.max = max
	t.pending = map[uint64]*pending{}
	t.idle = make(chan struct{})
}

// add registers a put that ends by itself after the budget.
func (t *putTable) add(p *pending, budget time.Duration) (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing {
		return 0, errShuttingDown()
	}
	if len(t.pending) >= t.max {
		return 0, gateway.Errorf(gateway.KindBusy, "%d puts are under way already", t.max)
	}
	t.last++
	n := t.last
	t.pending[n] = p
	p.timer = time.AfterFunc(budget, func() {
		t.complete(n, unknownOutcome("%s: no verdict within %v", p.path, budget))
	})
	return n, nil
}

// accept says that the driver has accepted the put.
func (t *putTable) accept(n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.pending[n]; p != nil {
		p.accept()
	}
}

// accept must be called with putTable.mu held.
func (p *pending) accept() {
	if !p.isAccepted {
		p.isAccepted = true
		close(p.accepted)
	}
}

// complete ends a put, if it is still under way.
func (t *putTable) complete(n uint64, verdict gateway.Verdict) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pending[n]
	if p == nil {
		return false
	}
	t.end(n, p, verdict)
	return true
}

// end must be called with t.mu held.
func (t *putTable) end(n uint64, p *pending, verdict gateway.Verdict) {
	delete(t.pending, n)
	p.timer.Stop()
	p.session.puts.Add(-1)
	p.verdict = verdict
	p.accept()
	close(p.done)
	if t.closing && len(t.pending) == 0 {
		close(t.idle)
	}
}

// failOwner ends all puts that an owner will not answer any more.
func (t *putTable) failOwner(owner gateway.Owner, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, p := range t.pending {
		if p.owner == owner {
			t.end(n, p, unknownOutcome("%s: %s", p.path, why))
		}
	}
}

// failUntaken ends the puts of which nobody knows whether they have arrived. A
// verdict of one that its driver has taken can still come.
func (t *putTable) failUntaken(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, p := range t.pending {
		if !p.isAccepted {
			t.end(n, p, unknownOutcome("%s: %s", p.path, why))
		}
	}
}

// drain refuses new puts and returns a channel that is closed when none is
// under way any more.
func (t *putTable) drain() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closing {
		t.closing = true
		if len(t.pending) == 0 {
			close(t.idle)
		}
	}
	return t.idle
}

// close refuses new puts and ends those under way. They were sent, so what
// became of them is not known.
func (t *putTable) close() {
	t.drain()
	t.mu.Lock()
	defer t.mu.Unlock()
	for n, p := range t.pending {
		t.end(n, p, unknownOutcome("%s: the gateway stopped before the verdict came", p.path))
	}
}

func (t *putTable) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pending)
}

// unknownOutcome is the verdict of a put that was sent and got none.
func unknownOutcome(format string, args ...any) gateway.Verdict {
	err := gateway.Errorf(gateway.KindUnknownOutcome, format, args...)
	err.Stage = gateway.StageSent
	return gateway.Verdict{Stage: gateway.StageSent, Err: err}
}

func errShuttingDown() error {
	return gateway.Errorf(gateway.KindShuttingDown, "the gateway is stopping")
}
