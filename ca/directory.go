package ca

import (
	"context"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

// A directory knows the names of all process variables. Its Serve follows the
// hub; lookups may come from any goroutine.
//
// Most names of a large gateway are never asked for. So there is one entry for
// both roles of an attribute, and a record is made when its name is first asked for.
type directory struct {
	view    gateway.View
	log     zerolog.Logger
	changed func(added bool) // called without a lock when names or records have changed

	synced chan struct{} // closed when what existed at first is known
	once   sync.Once     // for that

	mu       sync.RWMutex
	listed   map[string]*gateway.Descriptor // by name, which is that of the setpoint where there are two
	given    map[gateway.Path]string        // the name, where an annotation gives it
	prefixes map[string]string              // by device
	records  map[string]*record             // by each name that was asked for
}

func newDirectory(view gateway.View, log zerolog.Logger, changed func(bool)) *directory {
	return &directory{
		view: view, log: log, changed: changed, synced: make(chan struct{}),
		listed: map[string]*gateway.Descriptor{}, given: map[gateway.Path]string{},
		prefixes: map[string]string{}, records: map[string]*record{},
	}
}

// keptEvents is the largest room for events that is kept.
const keptEvents = 1024

// serve follows the hub until ctx ends.
func (d *directory) serve(ctx context.Context) error {
	session := d.view.For(gateway.Caller{Protocol: protocol, Peer: "directory"})
	stream := session.Open(gateway.StreamOptions{})
	defer stream.Close()
	// Of samples nothing is wanted.
	if _, err := stream.Watch(gateway.WatchOptions{Match: gateway.MatchAll, Mask: gateway.MaskProperty}); err != nil {
		return err
	}
	var room []gateway.Event
	for {
		room = d.take(session, stream, room)
		select {
		case <-ctx.Done():
			return nil
		case <-stream.Ready():
		}
	}
}

// take takes over what is queued, and returns the room for what comes next. All
// names come at once, but rarely, and room for them is not kept.
func (d *directory) take(session gateway.Session, stream gateway.Stream, room []gateway.Event) []gateway.Event {
	events := stream.Take(room[:0])
	d.apply(session, events)
	if cap(events) > keptEvents {
		return nil
	}
	clear(events)
	return events
}

// apply takes over what has changed.
func (d *directory) apply(session gateway.Session, events []gateway.Event) {
	devices := session.Devices()
	d.mu.Lock()
	added, synced := d.setPrefixes(devices), false
	changed := added
	for i := range events {
		e := &events[i]
		switch e.Type {
		case gateway.EventSynced:
			synced = true
		case gateway.EventAdded, gateway.EventDescribed:
			if d.put(e.Attribute.Descriptor) {
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
	if synced {
		d.once.Do(func() { close(d.synced) })
	}
}

// setPrefixes names the attributes of a device anew whose prefix has changed, as
// that of one that comes back may have. It reports whether there is one.
func (d *directory) setPrefixes(devices []*gateway.Device) (changed bool) {
	for _, device := range devices {
		before, known := d.prefixes[device.Name]
		prefix := device.Annotations[AnnotationPrefix]
		if known && prefix == before {
			continue
		}
		var of []*gateway.Descriptor
		for _, desc := range d.listed {
			if known && desc.Path.Device() == device.Name {
				of = append(of, desc)
			}
		}
		for _, desc := range of {
			d.drop(desc.Path)
		}
		d.prefixes[device.Name] = prefix
		for _, desc := range of {
			d.put(desc)
		}
		changed = changed || len(of) > 0
	}
	return changed
}

// put enters an attribute, and reports whether that is news.
func (d *directory) put(desc *gateway.Descriptor) bool {
	name, given := desc.Annotations[AnnotationName], true
	if name == "" {
		name, given = defaultName(desc.Path, d.prefixes[desc.Path.Device()]), false
	}
	before := d.name(desc.Path)
	known := d.listed[before]
	if known != nil && known.Path != desc.Path {
		known = nil // another's
	}
	if known == desc && before == name {
		return false
	}
	free := d.free(name, desc)
	if known != nil {
		d.drop(desc.Path)
	}
	if !free {
		return known != nil
	}
	d.listed[name] = desc
	if given {
		d.given[desc.Path] = name
	}
	return true
}

// name is that under which an attribute is listed, if it is.
func (d *directory) name(path gateway.Path) string {
	if name, ok := d.given[path]; ok {
		return name
	}
	return defaultName(path, d.prefixes[path.Device()])
}

// free reports whether an attribute can be listed under a name, and complains
// about each name that cannot be served. Where that is the one of the readback,
// the setpoint is served all the same.
func (d *directory) free(name string, desc *gateway.Descriptor) bool {
	names := namesFrom(name, desc)
	free := len(name) <= MaxName
	for _, pv := range []string{names.Setpoint, names.Readback} {
		if len(pv) > MaxName {
			d.log.Warn().Str("pv", pv).Str("attribute", string(desc.Path)).Msg("not served: its PV name is too long")
		}
		if other, _ := d.lookup(pv); other != nil && other.Path != desc.Path {
			d.log.Warn().Str("pv", pv).Str("attribute", string(desc.Path)).Str("other", string(other.Path)).
				Msg("two attributes have one PV name; the first one is served")
			free = free && pv != name
		}
	}
	return free
}

func (d *directory) drop(path gateway.Path) {
	name := d.name(path)
	if desc := d.listed[name]; desc != nil && desc.Path == path {
		delete(d.listed, name)
		d.forget(name)
	}
	delete(d.given, path)
}

// forget drops the records that go by a name.
func (d *directory) forget(name string) {
	if len(d.records) > 0 {
		delete(d.records, name)
		delete(d.records, name+ReadbackSuffix)
	}
}

// lookup returns what a name stands for, or nil.
func (d *directory) lookup(name string) (*gateway.Descriptor, gateway.Role) {
	if len(name) > MaxName {
		return nil, 0
	}
	if desc := d.listed[name]; desc != nil {
		if desc.Roles()&gateway.Setpoint != 0 {
			return desc, gateway.Setpoint
		}
		return desc, gateway.Readback
	}
	if base, ok := strings.CutSuffix(name, ReadbackSuffix); ok {
		if desc := d.listed[base]; desc != nil && desc.Roles() == gateway.RoleBoth {
			return desc, gateway.Readback
		}
	}
	return nil, 0
}

// record returns the record of a name, or nil. The name may be a part of a
// buffer; it is not kept.
func (d *directory) record(name string) *record {
	d.mu.RLock()
	known := d.records[name]
	desc, _ := d.lookup(name)
	d.mu.RUnlock()
	if known != nil || desc == nil {
		return known
	}
	return d.makeRecord(name)
}

func (d *directory) makeRecord(name string) *record {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.records[name]; known != nil {
		return known // another client was faster
	}
	desc, role := d.lookup(name)
	if desc == nil {
		return nil // gone meanwhile
	}
	made := newRecord(strings.Clone(name), desc, role)
	d.records[made.name] = made
	return made
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
	n := 0
	for name, desc := range d.listed {
		n++
		if desc.Roles() == gateway.RoleBoth && len(name+ReadbackSuffix) <= MaxName && d.listed[name+ReadbackSuffix] == nil {
			n++
		}
	}
	return n
}
