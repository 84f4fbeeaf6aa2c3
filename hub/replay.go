package hub

import "github.com/polygate/gateway"

// A replayRing keeps the latest events for watches that continue behind a
// cursor, bounded in events and bytes. It belongs to the loop.
type replayRing struct {
	max, maxSize int

	items []replayItem // a ring once it has grown to max
	head  int          // the oldest
	count int
	size  int

	evicted uint64 // number of the newest event that was dropped
	// everies is the number of watches that want events in which only time
	// moved. While there is none these are not kept, so that polls without
	// news do not push the news out.
	everies int
	passed  uint64 // number of the newest event that was not kept for that reason
}

type replayItem struct {
	item
	bytes int
}

func (r *replayRing) init(maxEvents, maxBytes int) {
	r.max, r.maxSize = maxEvents, maxBytes
}

// add keeps an event.
func (r *replayRing) add(it item, size int) {
	if it.typ == gateway.EventSample && it.mask == 0 && r.everies == 0 {
		r.passed = it.n
		return
	}
	for r.count > 0 && (r.count == r.max || r.size+size > r.maxSize) {
		r.evict()
	}
	if r.count == len(r.items) {
		r.grow()
	}
	r.items[(r.head+r.count)%len(r.items)] = replayItem{item: it, bytes: size}
	r.count++
	r.size += size
}

func (r *replayRing) evict() {
	oldest := &r.items[r.head]
	r.evicted = oldest.n
	r.size -= oldest.bytes
	*oldest = replayItem{}
	r.head = (r.head + 1) % len(r.items)
	r.count--
}

func (r *replayRing) grow() {
	items := make([]replayItem, min(max(2*len(r.items), 64), r.max))
	for i := range r.count {
		items[i] = r.items[(r.head+i)%len(r.items)]
	}
	r.items, r.head = items, 0
}

// reaches reports whether every event behind n is still there, for a watch
// that does or does not want those in which only time moved.
func (r *replayRing) reaches(n uint64, every bool) bool {
	return n >= r.evicted && (!every || n >= r.passed)
}

// behind calls yield for each event behind n, oldest first.
func (r *replayRing) behind(n uint64, yield func(it item, size int)) {
	for i := range r.count {
		if x := &r.items[(r.head+i)%len(r.items)]; x.n > n {
			yield(x.item, x.bytes)
		}
	}
}
