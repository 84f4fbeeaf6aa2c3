package rpc

import (
	"slices"
	"sync"
	"time"

	"github.com/polygate/gateway"
)

// streams counts and knows the open watches and sessions.
type streams struct {
	limit int

	mu    sync.Mutex
	all   map[*subscription]struct{}
	ended bool
}

// subscription is the queue of one watch or session.
type subscription struct {
	kind, peer string
	since      time.Time
	queue      gateway.Stream
}

// StreamStatus is one open stream on the status page.
type StreamStatus struct {
	Kind  string    `json:"kind"`
	Peer  string    `json:"peer"`
	Since time.Time `json:"since"`
	gateway.StreamStats
}

// open opens a queue, which the caller must close with close.
func (s *streams) open(kind, peer string, session gateway.Session) (*subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, errStopping
	case len(s.all) >= s.limit:
		return nil, gateway.Errorf(gateway.KindBusy, "%d streams are open already (frontends.grpc.streams)", s.limit)
	case s.all == nil:
		s.all = map[*subscription]struct{}{}
	}
	sub := &subscription{kind: kind, peer: peer, since: time.Now(), queue: session.Open(gateway.StreamOptions{})}
	s.all[sub] = struct{}{}
	return sub, nil
}

func (s *streams) close(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
	sub.queue.Close()
}

// end refuses new streams from now on.
func (s *streams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// status returns the open streams, the oldest first.
func (s *streams) status() []StreamStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]StreamStatus, 0, len(s.all))
	for sub := range s.all {
		all = append(all, StreamStatus{Kind: sub.kind, Peer: sub.peer, Since: sub.since, StreamStats: sub.queue.Stats()})
	}
	slices.SortFunc(all, func(a, b StreamStatus) int { return a.Since.Compare(b.Since) })
	return all
}
