package hub

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/polygate/gateway"
)

// Stats are counters for status pages and metrics.
type Stats struct {
	Devices, Attributes int
	Streams             int
	PendingPuts         int
	Events              uint64 // changes of the table
	Messages            uint64 // received from the bus
	Dropped             uint64 // messages that the bus lost on their way
	Ignored             uint64 // messages of owners that have left or been replaced
	Describes           uint64 // how often all owners were asked to announce
	Restamped           uint64 // samples whose time was moved because it did not rise
	LastReceive         time.Time
}

// Stats returns the counters. It can be called from any goroutine.
func (h *Hub) Stats() Stats {
	s := Stats{
		Devices:     h.table.deviceCount(),
		Attributes:  int(h.table.size.Load()),
		Streams:     h.clients.len(),
		PendingPuts: h.puts.len(),
		Events:      h.counts.events.Load(),
		Messages:    h.counts.messages.Load(),
		Dropped:     h.counts.dropped.Load(),
		Ignored:     h.counts.ignored.Load(),
		Describes:   h.counts.describes.Load(),
		Restamped:   h.counts.restamped.Load(),
	}
	if nanos := h.counts.lastReceive.Load(); nanos != 0 {
		s.LastReceive = time.Unix(0, nanos)
	}
	return s
}

// A Client is an open stream with its counters.
type Client struct {
	gateway.Caller
	gateway.StreamStats
	Opened time.Time
}

// Clients returns all open streams, oldest first. It can be called from any goroutine.
func (h *Hub) Clients() []Client {
	streams := h.clients.list()
	slices.SortStableFunc(streams, func(a, b *stream) int { return a.opened.Compare(b.opened) })
	clients := make([]Client, 0, len(streams))
	for _, s := range streams {
		clients = append(clients, Client{Caller: s.caller, StreamStats: s.Stats(), Opened: s.opened})
	}
	return clients
}

// Alive waits until the loop has answered. An error means that it did not while
// ctx lasted, or that it has ended.
func (h *Hub) Alive(ctx context.Context) error {
	answered := make(chan struct{})
	if !h.post(func() { close(answered) }) {
		return errShuttingDown()
	}
	select {
	case <-answered:
		return nil
	case <-h.ended:
		return errShuttingDown()
	case <-ctx.Done():
		return fmt.Errorf("the hub's loop did not answer: %w", context.Cause(ctx))
	}
}

// Drain refuses new puts with KindShuttingDown from now on and waits until
// those under way have ended. The error is that of ctx, if it ends before.
func (h *Hub) Drain(ctx context.Context) error {
	select {
	case <-h.puts.drain():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %d puts to end: %w", h.puts.len(), context.Cause(ctx))
	}
}

// clientSet holds the open streams.
type clientSet struct {
	mu      sync.Mutex
	streams map[*stream]struct{}
}

func (c *clientSet) init() { c.streams = map[*stream]struct{}{} }

func (c *clientSet) add(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams[s] = struct{}{}
}

func (c *clientSet) remove(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, s)
}

func (c *clientSet) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams)
}

func (c *clientSet) list() []*stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*stream, 0, len(c.streams))
	for s := range c.streams {
		list = append(list, s)
	}
	return list
}
