package hub

import (
	"slices"
	"sync"
	"time"

	"github.com/polygate/gateway"
)

// maxWatches bounds the watches of one stream.
const maxWatches = 1 << 17

// A stream is the queue of one connection. The loop pushes, one reader takes.
type stream struct {
	hub     *Hub
	caller  gateway.Caller
	opened  time.Time
	ready   chan struct{}
	notify  func() // in place of ready, or nil
	max     int
	maxSize int

	touched bool // belongs to the loop
	busy    bool // the last queue was large, and needed to be; belongs to the reader

	mu      sync.Mutex
	queue   []item
	size    int       // bytes of queue
	merged  *mergeSet // what the queue fell back to, or nil
	spare   []item    // empty; the queue after the next Take
	watches map[gateway.WatchID]*watch
	lastID  gateway.WatchID
	closed  bool
	stats   gateway.StreamStats
}

var _ gateway.Stream = (*stream)(nil)

func newStream(h *Hub, caller gateway.Caller, opts gateway.StreamOptions) *stream {
	return &stream{
		hub:     h,
		caller:  caller,
		opened:  time.Now(),
		ready:   make(chan struct{}, 1),
		notify:  opts.Notify,
		max:     orDefault(opts.MaxEvents, gateway.DefaultMaxEvents),
		maxSize: orDefault(opts.MaxBytes, gateway.DefaultMaxBytes),
		watches: map[gateway.WatchID]*watch{},
	}
}

// Watch implements gateway.Stream. The error has KindShuttingDown after the hub
// or the stream has ended, KindBusy if there are too many watches, and
// KindMalformed for options that mean nothing. EventSynced comes once for each
// start, behind a snapshot as well as behind what a cursor missed. Events of a
// snapshot have no cursor of their own, since to continue in the middle of a
// snapshot is to start afresh; that of EventSynced continues behind it.
func (s *stream) Watch(o gateway.WatchOptions) (gateway.WatchID, error) {
	if o.Match.String() == "" {
		return 0, gateway.Errorf(gateway.KindMalformed, "a watch needs a pattern")
	}
	if o.MinInterval < 0 {
		return 0, gateway.Errorf(gateway.KindMalformed, "shortest interval %v is negative", o.MinInterval)
	}
	w := &watch{
		stream: s, match: o.Match, cursor: o.Cursor, every: o.Every, interval: o.MinInterval,
		roles: o.Roles, mask: o.Mask,
	}
	if w.roles == 0 {
		w.roles = gateway.RoleBoth
	}
	if w.mask == 0 {
		w.mask = everything
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, gateway.Errorf(gateway.KindShuttingDown, "the stream is closed")
	}
	if len(s.watches) >= maxWatches {
		return 0, gateway.Errorf(gateway.KindBusy, "a connection cannot have more than %d watches", maxWatches)
	}
	if !s.hub.post(func() { s.hub.addWatch(w) }) {
		return 0, errShuttingDown()
	}
	s.lastID++
	w.id = s.lastID
	s.watches[w.id] = w
	return w.id, nil
}

// Unwatch implements gateway.Stream.
func (s *stream) Unwatch(id gateway.WatchID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.watches[id]; w != nil {
		s.end(w)
	}
}

// end must be called with s.mu held.
func (s *stream) end(w *watch) {
	delete(s.watches, w.id)
	w.ended.Store(true)
	w.snapshot = nil
	s.hub.post(func() { s.hub.removeWatch(w) })
}

// Ready implements gateway.Stream.
func (s *stream) Ready() <-chan struct{} { return s.ready }

func (s *stream) signal() {
	if s.notify != nil {
		s.notify()
		return
	}
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Close implements gateway.Stream.
func (s *stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, w := range s.watches {
		s.end(w)
	}
	s.closed = true
	s.queue, s.spare, s.merged, s.size = nil, nil, nil, 0
	s.hub.clients.remove(s)
}

// Stats implements gateway.Stream. Events of a snapshot that waits count as one.
func (s *stream) Stats() gateway.StreamStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Queued, stats.Bytes, stats.Watches = len(s.queue), s.size, len(s.watches)
	if s.merged != nil {
		stats.Queued += len(s.merged.items)
	}
	return stats
}

// push queues an event. It never waits for the reader and, while that keeps up,
// does not allocate.
func (s *stream) push(it item, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || it.watch.ended.Load() {
		return
	}
	switch {
	case s.merged == nil:
	case it.typ == eventSnapshot:
		s.mergeSnapshot(it)
		return
	case it.attr != nil:
		s.stats.Lost += s.merged.merge(it, true)
		s.merged.tidy()
		return
	}
	s.queue = append(s.queue, it)
	s.size += size
	// The start of each watch may always wait.
	if len(s.queue) > s.max+3*len(s.watches) || s.size > s.maxSize {
		s.overflow()
	}
}

// overflow falls back to the newest of each attribute. It must be called with
// s.mu held.
func (s *stream) overflow() {
	if s.merged == nil {
		s.merged = newMergeSet()
		s.stats.Overflows++
	}
	kept := s.queue[:0]
	for _, it := range s.queue {
		switch {
		case it.watch.ended.Load():
		case it.typ == eventSnapshot:
			s.mergeSnapshot(it)
		case it.attr == nil:
			kept = append(kept, it)
		default:
			s.stats.Lost += s.merged.merge(it, true)
		}
	}
	clear(s.queue[len(kept):])
	s.queue = kept
	s.size = 0
}

// mergeSnapshot must be called with s.mu held.
func (s *stream) mergeSnapshot(it item) {
	for _, attr := range it.watch.snapshot {
		s.merged.merge(item{attr: attr, watch: it.watch, n: it.n, typ: gateway.EventAdded, start: true}, true)
	}
	it.watch.snapshot = nil
	s.merged.tidy()
}

// Take implements gateway.Stream. The loop is never held up by a large queue:
// this only swaps it under the lock.
func (s *stream) Take(buf []gateway.Event) []gateway.Event {
	s.mu.Lock()
	queue, merged := s.queue, s.merged
	s.queue, s.spare, s.merged, s.size = s.spare, nil, nil, 0
	s.mu.Unlock()

	if merged != nil {
		queue = merged.sorted(queue)
	}
	before := len(buf)
	buf = slices.Grow(buf, len(queue))
	for i := range queue {
		if it := &queue[i]; !it.watch.ended.Load() {
			buf = s.appendEvents(buf, it)
		}
	}
	if queue = s.shrink(queue); merged != nil {
		queue = nil // after an overflow there is a burst at once, and silence behind it
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Delivered += uint64(len(buf) - before)
	if !s.closed {
		s.spare = queue
	}
	return buf
}

func (s *stream) appendEvents(buf []gateway.Event, it *item) []gateway.Event {
	event := gateway.Event{
		Type: it.typ, Watch: it.watch.id, Role: it.role, Mask: it.mask, Lost: it.lost, Attribute: it.attr,
		Cursor: gateway.Cursor{Epoch: s.hub.epoch, N: it.n},
	}
	switch {
	case it.typ == eventSnapshot:
		event.Type, event.Cursor = gateway.EventAdded, gateway.Cursor{}
		snapshot := s.takeSnapshot(it.watch)
		buf = slices.Grow(buf, len(snapshot))
		for _, event.Attribute = range snapshot {
			buf = append(buf, event)
		}
		return buf
	case it.start || it.typ == gateway.EventGap:
		event.Cursor = gateway.Cursor{}
	}
	return append(buf, event)
}

func (s *stream) setSnapshot(w *watch, snapshot []*gateway.Attribute) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !w.ended.Load() {
		w.snapshot = snapshot
	}
}

func (s *stream) takeSnapshot(w *watch) []*gateway.Attribute {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot := w.snapshot
	w.snapshot = nil
	return snapshot
}

// shrink empties a queue for the next events. A large one is kept only while
// it is needed time after time, so that a burst, such as the start of many
// watches, does not cost memory for ever. Only the reader calls it.
func (s *stream) shrink(queue []item) []item {
	const small = 64
	if cap(queue) > small {
		needed := len(queue) > cap(queue)/8
		again := needed && s.busy
		s.busy = needed
		if !again {
			return nil
		}
	}
	clear(queue)
	return queue[:0]
}
