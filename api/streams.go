package api

import (
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/polygate/gateway"
)

// streams counts and knows the open streams.
type streams struct {
	limit int

	mu    sync.Mutex
	all   map[*subscription]struct{}
	ended bool
}

// subscription is the queue of one SSE stream or WebSocket.
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

// subscribe opens a queue that is closed together with the connection,
// whatever becomes of that. notify is that of gateway.StreamOptions.
func (s *Server) subscribe(c *fiber.Ctx, kind string, session gateway.Session, notify func()) (*subscription, error) {
	conn := connOf(c.Context())
	sub := &subscription{kind: kind, peer: conn.peer, since: time.Now()}
	if err := s.streams.add(sub, session, notify); err != nil {
		return nil, err
	}
	conn.release = func() { s.streams.remove(sub) }
	return sub, nil
}

func (s *streams) add(sub *subscription, session gateway.Session, notify func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return gateway.Errorf(gateway.KindShuttingDown, "the gateway is stopping")
	case len(s.all) >= s.limit:
		return gateway.Errorf(gateway.KindBusy, "%d streams are open already (frontends.rest.streams)", s.limit)
	case s.all == nil:
		s.all = map[*subscription]struct{}{}
	}
	sub.queue = session.Open(gateway.StreamOptions{Notify: notify})
	s.all[sub] = struct{}{}
	return nil
}

func (s *streams) remove(sub *subscription) {
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
