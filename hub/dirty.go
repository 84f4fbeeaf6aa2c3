package hub

import (
	"cmp"
	"math"
	"slices"

	"github.com/polygate/gateway"
)

// An item is an event on its way to one watch.
type item struct {
	attr  *gateway.Attribute
	watch *watch
	n     uint64 // number of the event, in hub order
	lost  uint32
	typ   gateway.EventType
	role  gateway.Role
	mask  gateway.Mask
	start bool // an EventAdded out of the snapshot that a watch begins with
}

// eventSnapshot stands for an EventAdded for each attribute of watch.snapshot.
const eventSnapshot gateway.EventType = 255

// changeSize is what an event without a new sample counts for in a queue, in bytes.
const changeSize = 128

// A mergeSet is what a queue falls back to when it is full: of each watch and
// attribute at most one event of each type and role, the newest. It cannot grow
// beyond what the table holds.
//
// What came and went unseen leaves nothing, and what follows an unseen
// EventAdded goes into it.
type mergeSet struct {
	items map[mergeKey]item
	purge int // when there are more than this, it is time to look for ended watches
}

type mergeKey struct {
	watch *watch
	path  gateway.Path
	typ   gateway.EventType
	role  gateway.Role
}

func newMergeSet() *mergeSet { return &mergeSet{items: map[mergeKey]item{}, purge: minPurge} }

const minPurge = 1024

// merge adds an event and returns the number of sample events that went into
// another one by it. With count they are counted in the events as well.
func (m *mergeSet) merge(it item, count bool) (lost uint64) {
	key := mergeKey{watch: it.watch, path: it.attr.Path, typ: it.typ, role: it.role}
	added := mergeKey{watch: it.watch, path: it.attr.Path, typ: gateway.EventAdded}
	switch it.typ {
	case gateway.EventAdded:
		lost = m.forget(key)
	case gateway.EventRemoved:
		lost = m.forget(key)
		if _, ok := m.items[added]; ok {
			delete(m.items, added)
			return lost
		}
	default:
		if old, ok := m.items[added]; ok {
			old.attr = it.attr
			if it.typ == gateway.EventSample {
				lost = 1
				if count {
					old.lost = addLost(old.lost, it.lost, 1)
				}
			}
			m.items[added] = old
			return lost
		}
		if old, ok := m.items[key]; ok {
			it.mask |= old.mask
			if it.typ == gateway.EventSample {
				lost = 1
				if count {
					it.lost = addLost(old.lost, it.lost, 1)
				}
			}
		}
	}
	m.items[key] = it
	return lost
}

// forget drops what an EventAdded or EventRemoved makes pointless, and returns
// how many samples were among it.
func (m *mergeSet) forget(key mergeKey) (lost uint64) {
	key.role = 0
	for _, key.typ = range []gateway.EventType{gateway.EventAvailability, gateway.EventDescribed} {
		delete(m.items, key)
	}
	key.typ = gateway.EventSample
	for _, key.role = range []gateway.Role{gateway.Readback, gateway.Setpoint} {
		if _, ok := m.items[key]; ok {
			delete(m.items, key)
			lost++
		}
	}
	return lost
}

// tidy drops what belongs to watches that have ended, each time that the set
// has doubled.
func (m *mergeSet) tidy() {
	if len(m.items) <= m.purge {
		return
	}
	for key := range m.items {
		if key.watch.ended.Load() {
			delete(m.items, key)
		}
	}
	m.purge = max(minPurge, 2*len(m.items))
}

// sorted appends the events in hub order to what came beside them, and returns all.
func (m *mergeSet) sorted(beside []item) []item {
	for _, it := range m.items {
		beside = append(beside, it)
	}
	slices.SortFunc(beside, func(a, b item) int {
		if c := cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.watch.id, b.watch.id)); c != 0 {
			return c
		}
		if a.attr == nil || b.attr == nil {
			return 0
		}
		return cmp.Compare(a.attr.Path, b.attr.Path)
	})
	return beside
}

// rank orders what has one number: the start of a watch has that of the event before it.
func (it *item) rank() int {
	switch {
	case it.typ == gateway.EventGap:
		return 1
	case it.start || it.typ == eventSnapshot:
		return 2
	case it.typ == gateway.EventSynced:
		return 3
	default:
		return 0
	}
}

func addLost(a, b, c uint32) uint32 {
	return uint32(min(uint64(a)+uint64(b)+uint64(c), math.MaxUint32))
}
