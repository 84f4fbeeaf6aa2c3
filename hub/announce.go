package hub

import (
	"reflect"

	"github.com/polygate/gateway"
)

// staging collects the pieces of an announcement. Pieces come in order; when
// one is missing the rest is of no use.
type staging struct {
	revision   uint64
	next       int // the piece that must come next
	attributes []gateway.Announced
}

// onAnnouncement merges what an owner says of all it has. The announcement that
// the table already holds is merged piece by piece; a new one is applied in one
// turn, when it is complete.
func (h *Hub) onAnnouncement(a *gateway.Announcement) {
	d := h.devices[a.Device]
	switch {
	case d == nil:
		d = h.newDevice(a.Owner)
	case d.owner == a.Owner && !d.lost.left:
		d.heard = h.now
	case later(a.Owner, d.owner):
		h.takeOver(d, a.Owner)
	default:
		h.counts.ignored.Add(1)
		return
	}
	d.clock.read(a.Owner, a.State.Clock, h.now.Sub(h.began))
	if d.announced && a.Revision < d.revision {
		return
	}
	known := d.announced && a.Revision == d.revision
	complete, ok := d.staged.add(a, known)
	switch {
	case !ok:
		d.staged = staging{}
		h.askDescribe()
		h.refresh(d)
	case known:
		h.mergePiece(d, a)
		if complete {
			h.endLoss(d, a)
			h.refresh(d)
		}
	case complete:
		h.applySet(d, a)
	default:
		h.refresh(d) // lost, as takeOver says, until the last piece
	}
}

// add takes the next piece and reports whether it was the last, and whether it
// fits. With countingAlone it keeps nothing.
func (s *staging) add(a *gateway.Announcement, countingAlone bool) (complete, ok bool) {
	if a.Piece == 0 {
		*s = staging{revision: a.Revision}
	}
	if a.Piece != s.next || a.Revision != s.revision || a.Pieces <= a.Piece {
		return false, false
	}
	if !countingAlone {
		if uint64(a.Offset) != uint64(len(s.attributes)) {
			return false, false
		}
		s.attributes = append(s.attributes, a.Attributes...)
	}
	s.next++
	return s.next == a.Pieces, true
}

func (h *Hub) newDevice(owner gateway.Owner) *device {
	d := &device{name: owner.Device, owner: owner, heard: h.now}
	d.lost = loss{as: gateway.DriverLost, since: h.now, words: "the driver has not announced all it has yet"}
	d.heartbeat.fire = func() { h.onHeartbeatDeadline(d) }
	h.watchHeartbeat(d)
	h.devices[owner.Device] = d
	h.publish(d)
	h.table.addDevice(d)
	return d
}

// mergePiece merges the samples of an announcement whose descriptors are known.
func (h *Hub) mergePiece(d *device, a *gateway.Announcement) {
	for i := range a.Attributes {
		announced := &a.Attributes[i]
		e := d.entry(a.Offset + uint32(i))
		if e == nil || announced.Descriptor == nil || announced.Descriptor.Path != e.path() {
			continue
		}
		h.mergeAnnounced(e, announced)
	}
}

func (h *Hub) mergeAnnounced(e *entry, announced *gateway.Announced) {
	if announced.Readback != nil {
		h.merge(e, gateway.Readback, announced.Readback)
	}
	if announced.Setpoint != nil {
		h.merge(e, gateway.Setpoint, announced.Setpoint)
	}
}

// applySet makes the table hold what was announced and nothing else of the device.
func (h *Hub) applySet(d *device, a *gateway.Announcement) {
	announced := d.staged.attributes
	newOwner := !d.announced
	d.info, d.revision, d.announced = a.Info, a.Revision, true
	old := d.entries
	d.entries = make([]*entry, len(announced))

	seen := make(map[gateway.Path]bool, len(announced))
	var added, kept []int // indices
	for i := range announced {
		x := &announced[i]
		if x.Descriptor == nil || x.Descriptor.Path.Device() != d.name || seen[x.Descriptor.Path] {
			continue // not this owner's to say, or said before
		}
		seen[x.Descriptor.Path] = true
		if e := h.table.get(x.Descriptor.Path); e != nil {
			d.entries[i] = e
			kept = append(kept, i)
			continue
		}
		d.entries[i] = &entry{device: d}
		d.entries[i].attr.Store(newAttribute(x))
		added = append(added, i)
	}
	h.remove(missing(old, seen))
	// Samples first, then the state that makes them count as current.
	for _, i := range kept {
		h.describeEntry(d.entries[i], &announced[i])
		if newOwner {
			d.entries[i].unheard = announced[i].Descriptor.Roles()
		}
		h.mergeAnnounced(d.entries[i], &announced[i])
	}
	h.endLoss(d, a)
	h.publish(d) // whoever learns of an attribute finds its device as it is
	h.add(d, added)
	h.refresh(d)
}

// endLoss takes over the state that came with a complete announcement: all
// that the owner knows is in the table now.
func (h *Hub) endLoss(d *device, a *gateway.Announcement) {
	d.staged = staging{}
	d.state = a.State
	if d.lost.as != gateway.Available && !h.behind {
		d.lost = loss{}
		d.recovered = h.now
		h.watchHeartbeat(d)
	}
	h.markStale(d)
}

// add makes new attributes public with the availability that they begin with.
func (h *Hub) add(d *device, indices []int) {
	if len(indices) == 0 {
		return
	}
	level := d.level()
	entries := make([]*entry, 0, len(indices))
	for _, i := range indices {
		e := d.entries[i]
		attr := e.attr.Load() // nobody else knows of it yet
		attr.Standing = h.share(h.standingOf(e, level))
		e.groups = h.groups.matching(attr.Path)
		entries = append(entries, e)
	}
	// Whoever learns of them from an event can read them.
	h.table.change(entries, nil)
	for _, e := range entries {
		h.emitChange(e, gateway.EventAdded, 0)
	}
}

func (h *Hub) remove(entries []*entry) {
	h.table.change(nil, entries)
	for _, e := range entries {
		h.emitChange(e, gateway.EventRemoved, 0)
	}
}

// missing returns the entries whose paths were not seen.
func missing(entries []*entry, seen map[gateway.Path]bool) []*entry {
	var missing []*entry
	for _, e := range entries {
		if e != nil && !seen[e.path()] {
			missing = append(missing, e)
		}
	}
	return missing
}

// newAttribute makes the first snapshot of an attribute, without its standing.
func newAttribute(announced *gateway.Announced) *gateway.Attribute {
	attr := &gateway.Attribute{Descriptor: announced.Descriptor}
	roles := announced.Descriptor.Roles()
	if roles&gateway.Readback != 0 {
		attr.Readback = orNeverRead(announced.Readback)
	}
	if roles&gateway.Setpoint != 0 {
		attr.Setpoint = orNeverRead(announced.Setpoint)
	}
	return attr
}

func orNeverRead(s *gateway.Sample) *gateway.Sample {
	if s == nil {
		return gateway.NeverRead
	}
	return s
}

// describeEntry gives a known attribute its new descriptor, unless that says
// the same as the old one.
func (h *Hub) describeEntry(e *entry, announced *gateway.Announced) {
	old := e.attr.Load()
	if sameDescriptor(old.Descriptor, announced.Descriptor) {
		return
	}
	attr := *old
	attr.Descriptor = announced.Descriptor
	fresh := newAttribute(announced)
	sameForm := sameForm(old.Descriptor, announced.Descriptor)
	// Values of the old type, and of roles that came or went, are of no use.
	replaceReadback := !sameForm || old.Readback == nil || fresh.Readback == nil
	replaceSetpoint := !sameForm || old.Setpoint == nil || fresh.Setpoint == nil
	if replaceReadback {
		attr.Readback = fresh.Readback
	}
	if replaceSetpoint {
		attr.Setpoint = fresh.Setpoint
	}
	e.attr.Store(&attr)
	h.emitChange(e, gateway.EventDescribed, gateway.MaskProperty)
	if replaceReadback && attr.Readback != nil {
		h.emitSample(e, gateway.Readback, everything)
	}
	if replaceSetpoint && attr.Setpoint != nil {
		h.emitSample(e, gateway.Setpoint, everything)
	}
}

// sameDescriptor compares all but the revision, which counts announcements
// rather than changes.
func sameDescriptor(a, b *gateway.Descriptor) bool {
	if a == b {
		return true
	}
	x := *b
	x.Revision = a.Revision
	return reflect.DeepEqual(a, &x)
}

// sameForm reports whether values of a are values of b.
func sameForm(a, b *gateway.Descriptor) bool {
	return a.Kind == b.Kind && a.IsArray() == b.IsArray() && (a.Kind != gateway.Enum || reflect.DeepEqual(a.States, b.States))
}
