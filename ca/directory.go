package ca

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

// A directory knows the names of all process variables. Its Serve follows the
// hub; lookups may come from any goroutine.
type directory struct {
	view    gateway.View
	log     zerolog.Logger
	changed func(added bool) // called without a lock when names or records have changed

	synced chan struct{} // closed when what existed at first is known

	mu       sync.RWMutex
	listings map[string]*listing
	names    map[gateway.Path]Names
}

// A listing is what a name stands for. Its record is made when somebody asks for
// it, since most names of a large gateway are never asked for.
type listing struct {
	desc *gateway.Descriptor
	role gateway.Role
	made atomic.Pointer[record]
}

func (l *listing) record(name string) *record {
	if r := l.made.Load(); r != nil {
		return r
	}
	l.made.CompareAndSwap(nil, newRecord(strings.Clone(name), l.desc, l.role))
	return l.made.Load()
}

func newDirectory(view gateway.View, log zerolog.Logger, changed func(bool)) *directory {
	return &directory{
		view: view, log: log, changed: changed, synced: make(chan struct{}),
		listings: map[string]*listing{}, names: map[gateway.Path]Names{},
	}
}

// serve follows the hub until ctx ends.
func (d *directory) serve(ctx context.Context) error {
	session := d.view.For(gateway.Caller{Protocol: protocol, Peer: "directory"})
	stream := session.Open(gateway.StreamOptions{})
	defer stream.Close()
	// Of samples nothing is wanted.
	if _, err := stream.Watch(gateway.WatchOptions{Match: gateway.MatchAll, Mask: gateway.MaskProperty}); err != nil {
		return err
	}
	var events []gateway.Event
	first := true
	for {
		events = stream.Take(events[:0])
		if d.apply(session, events) && first {
			close(d.synced)
			first = false
		}
		clear(events)
		select {
		case <-ctx.Done():
			return nil
		case <-stream.Ready():
		}
	}
}

// apply takes over what has changed and reports whether the first snapshot is complete.
func (d *directory) apply(session gateway.Session, events []gateway.Event) (synced bool) {
	annotations := map[string]map[string]string{}
	for _, device := range session.Devices() {
		annotations[device.Name] = device.Annotations
	}
	added, changed := false, false
	d.mu.Lock()
	for i := range events {
		e := &events[i]
		switch e.Type {
		case gateway.EventSynced:
			synced = true
		case gateway.EventAdded, gateway.EventDescribed, gateway.EventAvailability:
			// A device that comes back may have another prefix.
			if d.put(e.Attribute.Descriptor, annotations[e.Attribute.Path.Device()]) {
				changed = true
				added = added || e.Type == gateway.EventAdded
			}
		case gateway.EventRemoved:
			changed = true
			d.drop(e.Attribute.Path)
		}
	}
	d.mu.Unlock()
	if changed {
		d.changed(added)
	}
	return synced
}

// put enters an attribute, and reports whether that is news.
func (d *directory) put(desc *gateway.Descriptor, annotations map[string]string) bool {
	names := NamesOf(desc, annotations)
	before, known := d.names[desc.Path]
	if known && before != names {
		d.drop(desc.Path)
	}
	d.names[desc.Path] = names
	readback := d.list(names.Readback, desc, gateway.Readback)
	setpoint := d.list(names.Setpoint, desc, gateway.Setpoint)
	return readback || setpoint
}

func (d *directory) list(name string, desc *gateway.Descriptor, role gateway.Role) bool {
	if name == "" {
		return false
	}
	known := d.listings[name]
	switch {
	case known != nil && known.desc.Path != desc.Path:
		d.log.Warn().Str("pv", name).Str("attribute", string(desc.Path)).Str("other", string(known.desc.Path)).
			Msg("two attributes have one PV name; the first one is served")
		return false
	case known != nil && known.desc == desc:
		return false
	case known == nil && len(name) > MaxName:
		d.log.Warn().Str("pv", name).Str("attribute", string(desc.Path)).Msg("not served: its PV name is too long")
		return false
	}
	d.listings[name] = &listing{desc: desc, role: role}
	return true
}

func (d *directory) drop(path gateway.Path) {
	names := d.names[path]
	delete(d.names, path)
	for _, name := range []string{names.Readback, names.Setpoint} {
		if l := d.listings[name]; l != nil && l.desc.Path == path {
			delete(d.listings, name)
		}
	}
}

// record returns the record of a name, or nil. The name may be a part of a
// buffer; it is not kept.
func (d *directory) record(name string) *record {
	d.mu.RLock()
	l := d.listings[name]
	d.mu.RUnlock()
	if l == nil {
		return nil
	}
	return l.record(name)
}

// has tells whether a channel can be found.
func (d *directory) has(name []byte) bool {
	_, found := d.find(string(name))
	return found
}

// find returns the channel of a client's name for it.
func (d *directory) find(name string) (target, bool) {
	base, fieldName, long := splitName(name)
	r := d.record(base)
	if r == nil {
		return target{}, false
	}
	return r.resolve(fieldName, long)
}

// describe returns the record of r's name for the descriptor of an event or a
// snapshot, which may be newer or older than what the directory has heard of.
func (d *directory) describe(r *record, desc *gateway.Descriptor) *record {
	if known := d.record(r.name); known != nil && known.desc == desc {
		return known
	}
	role := r.role
	if desc.Roles()&role == 0 { // the directory will say the same
		role = desc.Roles()
	}
	return newRecord(r.name, desc, role)
}

// count is the number of names.
func (d *directory) count() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.listings)
}
