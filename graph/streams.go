package graph

import (
	"slices"
	"sync"
	"time"

	"github.com/polygate/gateway"
)

// gate knows whether requests are being answered, WebSockets and event streams
// included, so that stopping can wait for all of them.
type gate struct {
	open sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// enter reports whether a request may be answered; then leave must follow.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.open.Add(1)
	return true
}

func (g *gate) leave() { g.open.Done() }

// close lets no more in and waits until all have left.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.open.Wait()
}

// streams knows the open WebSockets and event streams, and counts the
// subscriptions on them.
type streams struct {
	most int // subscriptions

	mu            sync.Mutex
	all           map[*stream]struct{}
	subscriptions int
	ended         bool
}

// stream is one connection with subscriptions.
type stream struct {
	kind, peer string
	since      time.Time
	notify     func()         // that of the queue's options
	queue      gateway.Stream // nil before the first subscription; guarded by streams.mu
	count      int            // of subscriptions; guarded by streams.mu
}

// StreamStatus is one open stream on the status page.
type StreamStatus struct {
	Kind          string    `json:"kind"`
	Peer          string    `json:"peer"`
	Since         time.Time `json:"since"`
	Subscriptions int       `json:"subscriptions"`
	gateway.StreamStats
}

// add adds a stream, unless the frontend is stopping.
func (s *streams) add(kind, peer string) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, gateway.Errorf(gateway.KindShuttingDown, "the gateway is stopping")
	}
	st := &stream{kind: kind, peer: peer, since: time.Now()}
	if s.all == nil {
		s.all = map[*stream]struct{}{}
	}
	s.all[st] = struct{}{}
	return st, nil
}

// remove removes a stream with its subscriptions and closes its queue. Nothing
// of it may run any more.
func (s *streams) remove(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, st)
	s.subscriptions -= st.count
	if st.queue != nil {
		st.queue.Close()
	}
}

// subscribe takes a place for a subscription, and returns the stream's queue,
// which is opened for the first one.
func (s *streams) subscribe(st *stream, session gateway.Session) (gateway.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, gateway.Errorf(gateway.KindShuttingDown, "the gateway is stopping")
	case st.count >= maxSubscriptions:
		return nil, gateway.Errorf(gateway.KindBusy, "%d subscriptions are open on this connection already", st.count)
	case s.subscriptions >= s.most:
		return nil, gateway.Errorf(gateway.KindBusy, "%d subscriptions are open already (frontends.graphql.subscriptions)", s.subscriptions)
	}
	if st.queue == nil {
		st.queue = session.Open(gateway.StreamOptions{Notify: st.notify})
	}
	st.count++
	s.subscriptions++
	return st.queue, nil
}

// unsubscribe gives the place of a subscription back.
func (s *streams) unsubscribe(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.count--
	s.subscriptions--
}

// end refuses new streams from now on.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// status returns the open streams, the oldest first, and the number of subscriptions.
func (s *streams) status() ([]StreamStatus, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]StreamStatus, 0, len(s.all))
	for st := range s.all {
		one := StreamStatus{Kind: st.kind, Peer: st.peer, Since: st.since, Subscriptions: st.count}
		if st.queue != nil {
			one.StreamStats = st.queue.Stats()
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b StreamStatus) int { return a.Since.Compare(b.Since) })
	return all, s.subscriptions
}
