package hub

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/polygate/gateway"
)

// An entry is one attribute of the table. Readers use attr alone, the rest
// belongs to the loop.
type entry struct {
	attr   atomic.Pointer[gateway.Attribute]
	device *device
	groups []*group // who watches it
	stale  bool     // the driver says so
	// unheard are the roles of which the present owner has not said anything
	// yet, so that what is there is its predecessor's.
	unheard gateway.Role
}

func (e *entry) path() gateway.Path { return e.attr.Load().Path }

// shardCount keeps the maps small that are copied when an attribute comes or
// goes, so that many small additions stay cheap.
const shardCount = 1024

// A table finds entries. The loop changes it, any goroutine reads it without a
// lock: each shard is an immutable map behind an atomic pointer.
type table struct {
	seed   maphash.Seed
	shards [shardCount]atomic.Pointer[map[gateway.Path]*entry]
	size   atomic.Int64
	edit   sync.Mutex // held while a change is made, so that a list sees all of it or nothing

	// generation counts changes, so that the sorted list is made again when,
	// and only when, someone asks for it.
	generation atomic.Uint64
	mu         sync.Mutex // guards the making of sorted, and devices
	sorted     atomic.Pointer[sortedEntries]
	devices    []*device // only ever appended to
}

type sortedEntries struct {
	generation uint64
	entries    []*entry
}

func (t *table) init() { t.seed = maphash.MakeSeed() }

func (t *table) shard(p gateway.Path) *atomic.Pointer[map[gateway.Path]*entry] {
	return &t.shards[maphash.String(t.seed, string(p))%shardCount]
}

// get returns the entry of a path, or nil.
func (t *table) get(p gateway.Path) *entry {
	m := t.shard(p).Load()
	if m == nil {
		return nil
	}
	return (*m)[p]
}

// change adds and removes entries. Each map is copied at most once.
func (t *table) change(add, remove []*entry) {
	if len(add) == 0 && len(remove) == 0 {
		return
	}
	type edit struct{ add, remove []*entry }
	edits := map[*atomic.Pointer[map[gateway.Path]*entry]]*edit{}
	of := func(e *entry) *edit {
		shard := t.shard(e.path())
		if edits[shard] == nil {
			edits[shard] = &edit{}
		}
		return edits[shard]
	}
	for _, e := range remove {
		ed := of(e)
		ed.remove = append(ed.remove, e)
	}
	for _, e := range add {
		ed := of(e)
		ed.add = append(ed.add, e)
	}
	changed := make(map[*atomic.Pointer[map[gateway.Path]*entry]]*map[gateway.Path]*entry, len(edits))
	for shard, ed := range edits {
		size := len(ed.add)
		old := shard.Load()
		if old != nil {
			size += len(*old)
		}
		m := make(map[gateway.Path]*entry, size)
		if old != nil {
			for p, e := range *old {
				m[p] = e
			}
		}
		for _, e := range ed.remove {
			delete(m, e.path())
		}
		for _, e := range ed.add {
			m[e.path()] = e
		}
		changed[shard] = &m
	}
	t.edit.Lock()
	defer t.edit.Unlock()
	for shard, m := range changed {
		shard.Store(m)
	}
	t.size.Add(int64(len(add) - len(remove)))
	t.generation.Add(1)
}

// all returns all entries, sorted by path. The slice is shared.
func (t *table) all() []*entry {
	if s := t.sorted.Load(); s != nil && s.generation == t.generation.Load() {
		return s.entries
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps, generation := t.snapshot()
	if s := t.sorted.Load(); s != nil && s.generation == generation {
		return s.entries
	}
	entries := make([]*entry, 0, t.size.Load())
	for _, m := range maps {
		for _, e := range *m {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return strings.Compare(string(a.path()), string(b.path())) })
	t.sorted.Store(&sortedEntries{generation: generation, entries: entries})
	return entries
}

// snapshot returns all maps as they are between two changes. It holds the loop
// up for no longer than it takes to copy the pointers.
func (t *table) snapshot() (maps []*map[gateway.Path]*entry, generation uint64) {
	maps = make([]*map[gateway.Path]*entry, 0, len(t.shards))
	t.edit.Lock()
	defer t.edit.Unlock()
	for i := range t.shards {
		if m := t.shards[i].Load(); m != nil {
			maps = append(maps, m)
		}
	}
	return maps, t.generation.Load()
}

// matching calls yield for each entry that matches, sorted by path, beginning
// behind after, until yield returns false.
func (t *table) matching(match gateway.Pattern, after gateway.Path, yield func(*entry) bool) {
	if p, ok := match.Exact(); ok {
		if e := t.get(p); e != nil && p > after {
			yield(e)
		}
		return
	}
	prefix := literalPrefix(match)
	entries := t.all()
	start, _ := slices.BinarySearchFunc(entries, max(prefix, string(after)), func(e *entry, p string) int {
		return strings.Compare(string(e.path()), p)
	})
	for _, e := range entries[start:] {
		p := e.path()
		if !strings.HasPrefix(string(p), prefix) {
			if string(p) < prefix {
				continue
			}
			return
		}
		if p != after && match.Match(p) && !yield(e) {
			return
		}
	}
}

// literalPrefix returns what every path that matches begins with.
func literalPrefix(match gateway.Pattern) string {
	text := match.String()
	if i := strings.IndexAny(text, "*>"); i >= 0 {
		return text[:i]
	}
	return text
}

func (t *table) addDevice(d *device) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.devices = append(t.devices, d)
}

// deviceList returns snapshots of all devices, sorted by name.
func (t *table) deviceList() []*gateway.Device {
	t.mu.Lock()
	devices := t.devices
	t.mu.Unlock()
	list := make([]*gateway.Device, 0, len(devices))
	for _, d := range devices {
		list = append(list, d.snapshot.Load())
	}
	slices.SortFunc(list, func(a, b *gateway.Device) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (t *table) deviceCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.devices)
}
