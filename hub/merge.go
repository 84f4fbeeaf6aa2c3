package hub

import (
	"time"

	"github.com/polygate/gateway"
)

// everything is the change of a sample whose predecessors are not known.
const everything = gateway.MaskValue | gateway.MaskLog | gateway.MaskAlarm

// onUpdate applies one exchange with a device in one turn.
func (h *Hub) onUpdate(u *gateway.Update) {
	d := h.speaker(u.Owner)
	if d == nil || !h.knows(d, u.Revision) {
		return
	}
	for i := range u.Samples {
		s := &u.Samples[i]
		if e := d.entry(s.Index); e != nil && s.Sample != nil {
			h.merge(e, s.Role, s.Sample)
		}
	}
	for i := range u.Samples {
		if id := u.Samples[i].Accepts; id.Hub == h.epoch {
			h.puts.accept(id.N)
		}
	}
}

// onVerdict applies the samples that came with a verdict and then ends the put.
// A verdict without an owner is the bus's own: nobody listened.
func (h *Hub) onVerdict(v *gateway.PutVerdict) {
	if v.Device != "" {
		if d := h.speaker(v.Owner); d != nil && h.knows(d, v.Revision) {
			h.mergeResult(d.entry(v.Index), &v.Verdict)
		}
	}
	if v.ID.Hub == h.epoch {
		h.puts.complete(v.ID.N, v.Verdict)
	}
}

func (h *Hub) mergeResult(e *entry, v *gateway.Verdict) {
	if e == nil {
		return
	}
	if v.Setpoint != nil {
		h.merge(e, gateway.Setpoint, v.Setpoint)
	}
	if v.Readback != nil {
		h.merge(e, gateway.Readback, v.Readback)
	}
}

// merge stores a sample if it is newer than what is there, and tells those who
// watch. The first word of a new owner counts as newer, whatever its number;
// until it has read something, the last known value stays, but not as a good one.
func (h *Hub) merge(e *entry, role gateway.Role, sample *gateway.Sample) {
	old := e.attr.Load()
	before := old.Sample(role)
	if before == nil || role == gateway.RoleBoth {
		return // the attribute has no such role
	}
	unheard := e.unheard&role != 0 && sample.Seq != 0
	var mask gateway.Mask
	switch {
	case sample.Seq == before.Seq && !sample.Time.After(before.Time):
		h.hear(e, role, sample) // the same again
		return
	case sample.Seq == before.Seq:
		// Only time moved on.
	case sample.Seq == before.Seq+1 && !unheard:
		mask = sample.Mask
	case sample.Seq > before.Seq || unheard:
		// What changed in between went by.
		mask = sample.Mask | everything
	default:
		return
	}
	h.store(e, role, h.rising(sample, before), mask)
	h.hear(e, role, sample)
}

// hear notes that the present owner has spoken of a role.
func (h *Hub) hear(e *entry, role gateway.Role, sample *gateway.Sample) {
	if e.unheard&role == 0 || sample.Seq == 0 && e.attr.Load().Sample(role).Seq != 0 {
		return
	}
	e.unheard &^= role
	// While the device is lost that is what counts; its end refreshes all.
	if role == gateway.Readback && e.device.lost.as == gateway.Available {
		h.refreshEntry(e, e.device.level())
	}
}

// rising returns the sample with a time behind that of the one before. Owners
// see to that; only one whose clock is behind its predecessor's cannot, and its
// samples must neither be lost nor go back in time.
func (h *Hub) rising(sample, before *gateway.Sample) *gateway.Sample {
	if sample.Time.After(before.Time) {
		return sample
	}
	moved := *sample
	moved.Time = before.Time.Add(time.Nanosecond)
	h.counts.restamped.Add(1)
	return &moved
}

func (h *Hub) store(e *entry, role gateway.Role, sample *gateway.Sample, mask gateway.Mask) {
	attr := *e.attr.Load()
	if role == gateway.Setpoint {
		attr.Setpoint = sample
	} else {
		attr.Readback = sample
	}
	e.attr.Store(&attr)
	h.emitSample(e, role, mask)
}

// emitSample is emit for the sample that the entry has now.
func (h *Hub) emitSample(e *entry, role gateway.Role, mask gateway.Mask) {
	attr := e.attr.Load()
	h.emit(e, item{attr: attr, typ: gateway.EventSample, role: role, mask: mask}, attr.Sample(role).Size())
}
