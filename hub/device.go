package hub

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/polygate/gateway"
)

// A device is what the loop knows of a device and its owner. Readers use the
// snapshot alone. A device stays until the hub ends, even if its driver left.
type device struct {
	name     string
	snapshot atomic.Pointer[gateway.Device]

	owner     gateway.Owner
	announced bool     // by this owner, so that revision and the order of entries are its own
	revision  uint64   // of the announcement that entries came with
	entries   []*entry // by index of the announcement; nil where it was unusable
	staged    staging
	info      gateway.DeviceInfo
	state     gateway.DeviceState

	lost      loss
	recovered time.Time // when the last loss ended
	heard     time.Time // when the owner last spoke
	heartbeat deadline
	asked     int       // how often the hub has asked for the owner
	askedOf   time.Time // heard, when it began to ask
	clock     ownerClock
}

// A loss is why nothing that is known of a device counts as current. It ends
// when the owner has announced everything anew: what came in between was missed.
type loss struct {
	as    gateway.Availability // Available for no loss
	since time.Time
	words string
	left  bool // the owner said that it will not speak again
}

// speaker returns the device that owner speaks for, or nil if it is not for
// this owner to speak, or not known what its words mean.
func (h *Hub) speaker(owner gateway.Owner) *device {
	d := h.devices[owner.Device]
	switch {
	case d == nil:
		h.askDescribe()
		return nil
	case d.owner == owner && d.lost.left:
		h.counts.ignored.Add(1)
		return nil
	case d.owner == owner:
		d.heard = h.now
		if d.lost.as != gateway.Available {
			h.askDescribe()
		}
		return d
	case later(owner, d.owner):
		h.takeOver(d, owner)
		h.refresh(d)
		h.askDescribe()
		return nil
	default:
		h.counts.ignored.Add(1)
		return nil
	}
}

// later reports whether what a says beats b. Equal terms should not happen; if
// they do, every hub must still choose the same owner.
func later(a, b gateway.Owner) bool {
	if a.Term != b.Term {
		return a.Term > b.Term
	}
	return a.Instance > b.Instance
}

// takeOver makes owner the owner of d. Until it has announced what it has, the
// device is lost.
func (h *Hub) takeOver(d *device, owner gateway.Owner) {
	old := d.owner
	d.owner = owner
	d.announced = false
	d.staged = staging{}
	d.heard = h.now
	d.lost = loss{as: gateway.DriverLost, since: h.now, words: "a new driver has not announced itself yet"}
	h.watchHeartbeat(d)
	h.publish(d)
	// After the new owner is public: a put that is registered for the old one
	// later than this sees that it changed.
	h.puts.failOwner(old, "another driver took the device over before the verdict came")
}

// publish makes the snapshot that readers see.
func (h *Hub) publish(d *device) {
	level := d.level()
	attributes := 0
	for _, e := range d.entries {
		if e != nil {
			attributes++
		}
	}
	d.snapshot.Store(&gateway.Device{
		Name:         d.name,
		DeviceInfo:   d.info,
		Availability: level.Availability,
		Since:        level.AvailableSince,
		Words:        level.Words,
		Attributes:   attributes,
		Stale:        len(d.state.Stale),
		Owner:        d.owner,
	})
}

func (d *device) entry(index uint32) *entry {
	if uint64(index) >= uint64(len(d.entries)) {
		return nil
	}
	return d.entries[index]
}

func (h *Hub) onDeviceState(s *gateway.DeviceState) {
	d := h.speaker(s.Owner)
	if d == nil {
		return
	}
	d.clock.read(s.Owner, s.Clock, h.now.Sub(h.began))
	if s.Leaving {
		d.state = *s
		d.state.Stale = nil
		d.lost = loss{as: gateway.DriverLost, since: h.now, words: s.Words, left: true}
		h.deadlines.cancel(&d.heartbeat)
		h.refresh(d)
		h.puts.failOwner(s.Owner, "the driver left before the verdict came")
		return
	}
	if h.knows(d, s.Revision) {
		h.setState(d, s)
	}
}

// knows reports whether the table holds this revision of what the owner has.
// If not, indices that come with it mean nothing here, and the hub asks. An
// older revision can only be a straggler.
func (h *Hub) knows(d *device, revision uint64) bool {
	if d.announced && revision == d.revision {
		return true
	}
	if !d.announced || revision > d.revision {
		h.askDescribe()
	}
	return false
}

// setState takes over what the owner says of its device, if it is news.
func (h *Hub) setState(d *device, s *gateway.DeviceState) {
	if s.Connected == d.state.Connected && s.Words == d.state.Words && s.Since.Equal(d.state.Since) &&
		slices.Equal(s.Stale, d.state.Stale) {
		return
	}
	d.state = *s
	h.markStale(d)
	h.refresh(d)
}

// markStale puts the state's list of overdue attributes onto the entries.
func (h *Hub) markStale(d *device) {
	for _, e := range d.entries {
		if e != nil {
			e.stale = false
		}
	}
	for _, index := range d.state.Stale {
		if e := d.entry(index); e != nil {
			e.stale = true
		}
	}
}
