package ca

import (
	"slices"
	"time"

	"github.com/polygate/gateway"
)

// CircuitStatus is one client on the status page.
type CircuitStatus struct {
	Peer          string    `json:"peer"`
	User          string    `json:"user"`
	Host          string    `json:"host"`
	Since         time.Time `json:"since"`
	Channels      int       `json:"channels"`
	Subscriptions int       `json:"subscriptions"`
	PendingPuts   int       `json:"pending_puts"`
	Unsent        int       `json:"unsent_bytes"`
	Requests      uint64    `json:"requests"`
	Reads         uint64    `json:"reads"`
	Writes        uint64    `json:"writes"`
	Events        uint64    `json:"events"`
	Failures      uint64    `json:"failures"`
	EventsOff     bool      `json:"events_off"`
	gateway.StreamStats
}

// Status is what the status page shows of the frontend.
func (s *Server) Status() any {
	where := ""
	if len(s.listeners) > 0 {
		where = s.Where()
	}
	return struct {
		Listen     string          `json:"listen"`
		Names      int             `json:"names"`
		Searches   uint64          `json:"searches"`
		Found      uint64          `json:"found"`
		BytesOut   uint64          `json:"bytes_out"`
		TurnedAway uint64          `json:"turned_away"`
		Circuits   []CircuitStatus `json:"circuits"`
	}{where, s.directory.count(), s.searches.Load(), s.found.Load(), s.bytesOut.Load(), s.turnedAway.Load(), s.circuitStatus()}
}

// circuitStatus returns the open circuits, the oldest first.
func (s *Server) circuitStatus() []CircuitStatus {
	s.mu.Lock()
	open := make([]*circuit, 0, len(s.circuits))
	for c := range s.circuits {
		open = append(open, c)
	}
	s.mu.Unlock()
	clients := make([]CircuitStatus, 0, len(open))
	for _, c := range open {
		clients = append(clients, c.status())
	}
	slices.SortFunc(clients, func(a, b CircuitStatus) int { return a.Since.Compare(b.Since) })
	return clients
}

func (c *circuit) status() CircuitStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := CircuitStatus{
		Peer: c.peer, User: c.user, Host: c.host, Since: c.since, Channels: len(c.channels), Subscriptions: len(c.subs),
		PendingPuts: c.notifies, Unsent: c.out.size, Requests: c.counters.requests.Load(), Reads: c.counters.reads.Load(),
		Writes: c.counters.writes.Load(), Events: c.counters.events.Load(), Failures: c.counters.failures.Load(),
	}
	if c.events != nil {
		status.EventsOff = c.events.paused
		status.StreamStats = c.events.stream.Stats()
	}
	return status
}
