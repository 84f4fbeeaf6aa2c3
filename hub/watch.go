package hub

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/polygate/gateway"
)

// A watch is one selection of one stream.
type watch struct {
	stream *stream
	id     gateway.WatchID
	match  gateway.Pattern
	cursor gateway.Cursor
	roles  gateway.Role
	mask   gateway.Mask
	every  bool

	interval time.Duration

	ended    atomic.Bool          // nothing of it is delivered any more
	snapshot []*gateway.Attribute // what it begins with, until taken; guarded by stream.mu

	// The rest belongs to the loop.

	group *group // nil before it is added and after it is removed
	pos   int    // place in group.watches
	held  *mergeSet
	next  time.Time // with an interval: no delivery before this
	turn  uint64    // the turn of the last delivery
	flush deadline
}

// A group is all watches with the same pattern, so that an attribute that a
// thousand connections watch has one group rather than a thousand watches.
type group struct {
	match   gateway.Pattern
	watches []*watch
}

// groups finds the groups that a new attribute belongs to. It belongs to the loop.
type groups struct {
	exact map[gateway.Path]*group
	wild  map[string]*group
}

func (g *groups) init() {
	g.exact = map[gateway.Path]*group{}
	g.wild = map[string]*group{}
}

func (g *groups) find(match gateway.Pattern) *group {
	if p, ok := match.Exact(); ok {
		return g.exact[p]
	}
	return g.wild[match.String()]
}

func (g *groups) put(x *group) {
	if p, ok := x.match.Exact(); ok {
		g.exact[p] = x
		return
	}
	g.wild[x.match.String()] = x
}

func (g *groups) drop(x *group) {
	if p, ok := x.match.Exact(); ok {
		delete(g.exact, p)
		return
	}
	delete(g.wild, x.match.String())
}

// matching returns the groups that watch a path.
func (g *groups) matching(p gateway.Path) []*group {
	var found []*group
	if x := g.exact[p]; x != nil {
		found = append(found, x)
	}
	for _, x := range g.wild {
		if x.match.Match(p) {
			found = append(found, x)
		}
	}
	return found
}

// wants reports whether an event is part of the selection.
func (w *watch) wants(it *item) bool {
	if it.typ != gateway.EventSample {
		return true
	}
	return it.role&w.roles != 0 && (w.every || it.mask&w.mask != 0)
}

// addWatch begins a watch: with what is known, or with what came behind its cursor.
func (h *Hub) addWatch(w *watch) {
	if w.ended.Load() {
		return
	}
	g := h.groups.find(w.match)
	if g == nil {
		g = &group{match: w.match}
		h.groups.put(g)
		h.table.matching(w.match, "", func(e *entry) bool {
			e.groups = append(e.groups, g)
			return true
		})
	}
	w.group, w.pos = g, len(g.watches)
	g.watches = append(g.watches, w)
	if w.every {
		h.replay.everies++
	}
	h.begin(w)
	if w.interval > 0 {
		w.flush.fire = func() { h.flushWatch(w) }
		w.delivered(h)
	}
}

// begin queues what a watch starts with, up to EventSynced.
func (h *Hub) begin(w *watch) {
	synced := item{watch: w, n: h.n, typ: gateway.EventSynced}
	if w.cursor.Epoch == h.epoch && w.cursor.N <= h.n && h.replay.reaches(w.cursor.N, w.every) {
		h.replay.behind(w.cursor.N, func(it item, size int) {
			if w.wants(&it) && w.match.Match(it.attr.Path) {
				it.watch = w
				h.push(w.stream, it, size)
			}
		})
		h.push(w.stream, synced, changeSize)
		return
	}
	if w.cursor.Epoch != 0 {
		h.push(w.stream, item{watch: w, n: h.n, typ: gateway.EventGap}, changeSize)
	}
	var snapshot []*gateway.Attribute
	h.table.matching(w.match, "", func(e *entry) bool {
		snapshot = append(snapshot, e.attr.Load())
		return true
	})
	if len(snapshot) > 0 {
		w.stream.setSnapshot(w, snapshot)
		h.push(w.stream, item{watch: w, n: h.n, typ: eventSnapshot}, changeSize)
	}
	h.push(w.stream, synced, changeSize)
}

// removeWatch ends a watch and frees what it held.
func (h *Hub) removeWatch(w *watch) {
	g := w.group
	if g == nil {
		return // ended before it began
	}
	w.group, w.held = nil, nil
	h.deadlines.cancel(&w.flush)
	if w.every {
		h.replay.everies--
	}
	last := len(g.watches) - 1
	moved := g.watches[last]
	g.watches[w.pos], moved.pos = moved, w.pos
	g.watches[last] = nil
	g.watches = g.watches[:last]
	if last > 0 {
		return
	}
	h.groups.drop(g)
	h.table.matching(g.match, "", func(e *entry) bool {
		e.groups = slices.DeleteFunc(e.groups, func(x *group) bool { return x == g })
		return true
	})
}

// holds keeps back an event of a watch with an interval if it is too early for
// it, and reports whether it did. What one turn brings is one delivery.
func (w *watch) holds(h *Hub, it item) bool {
	if w.turn == h.turn && w.held == nil {
		return false
	}
	if w.held == nil && !h.now.Before(w.next) {
		w.delivered(h)
		return false
	}
	if w.held == nil {
		w.held = newMergeSet()
		h.deadlines.set(&w.flush, w.next)
	}
	w.held.merge(it, false)
	return true
}

func (w *watch) delivered(h *Hub) {
	w.turn, w.next = h.turn, h.now.Add(w.interval)
}

// flushWatch delivers what was held back.
func (h *Hub) flushWatch(w *watch) {
	held := w.held
	if held == nil {
		return
	}
	w.held = nil
	w.delivered(h)
	for _, it := range held.sorted(nil) {
		size := changeSize
		if it.typ == gateway.EventSample {
			size = it.attr.Sample(it.role).Size()
		}
		h.push(w.stream, it, size)
	}
}
