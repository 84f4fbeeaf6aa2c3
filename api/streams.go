package api

import (
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/polygate/gateway"
)

// streams counts and knows the open streams.
type streams struct {
	limit int
	open  sync.WaitGroup

	mu   sync.Mutex
	all  map[*connection]struct{}
	next int
}

// connection is one SSE stream or WebSocket, for the status page.
type connection struct {
	kind, peer string
	since      time.Time
	queue      gateway.Stream
}

func newConnection(kind string, c *fiber.Ctx, session gateway.Session) connection {
	return connection{
		kind: kind, peer: c.Context().RemoteAddr().String(), since: time.Now(),
		queue: session.Open(gateway.StreamOptions{}),
	}
}

// StreamStatus is one open stream on the status page.
type StreamStatus struct {
	Kind  string    `json:"kind"`
	Peer  string    `json:"peer"`
	Since time.Time `json:"since"`
	gateway.StreamStats
}

// add registers a stream, or reports false if there are too many.
func (s *streams) add(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.limit {
		return false
	}
	if s.all == nil {
		s.all = map[*connection]struct{}{}
	}
	s.all[c] = struct{}{}
	s.open.Add(1)
	return true
}

func (s *streams) remove(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c)
	s.open.Done()
}

func (s *streams) wait() { s.open.Wait() }

func (s *streams) status() []StreamStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]StreamStatus, 0, len(s.all))
	for c := range s.all {
		all = append(all, StreamStatus{Kind: c.kind, Peer: c.peer, Since: c.since, StreamStats: c.queue.Stats()})
	}
	return all
}
