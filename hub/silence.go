package hub

import (
	"time"

	"github.com/polygate/gateway"
)

// maxAsked is how often the hub asks for a silent owner before it gives it up.
const maxAsked = 2

// patience is how long an owner may be silent before the hub asks for it.
func (h *Hub) patience() time.Duration { return h.opts.HeartbeatTimeout / (maxAsked + 1) }

// watchHeartbeat begins to judge the owner of d by its silence, where silence
// says something. It must be called when d.heard was set.
func (h *Hub) watchHeartbeat(d *device) {
	if h.opts.HeartbeatTimeout > 0 && h.busUp {
		d.asked, d.askedOf = 0, d.heard
		h.deadlines.set(&d.heartbeat, d.heard.Add(h.patience()))
	}
}

// onHeartbeatDeadline looks whether the owner has spoken; it does not run once per
// message. A silent owner is asked for: if its process is gone, the bus says so at
// once. If all is in vain it is lost. Time alone does not tell, as this process may
// have been held, and what the owner said meanwhile has yet to arrive.
func (h *Hub) onHeartbeatDeadline(d *device) {
	if d.heard.After(d.askedOf) {
		d.asked, d.askedOf = 0, d.heard
	}
	switch {
	case h.now.Sub(d.heard) < h.patience():
		h.watchHeartbeat(d)
		return
	case d.asked == maxAsked:
		h.loseDriver(d, "the driver is silent")
		return
	}
	d.asked++
	_ = h.bus.Ask(d.owner) // it fails if the bus is away, which the bus itself will say
	h.deadlines.set(&d.heartbeat, h.now.Add(h.patience()))
}

// onAbsent takes notice that the bus does not know an owner, which was silent before.
func (h *Hub) onAbsent(a *gateway.Absent) {
	d := h.devices[a.Device]
	if d == nil || d.owner != a.Owner || d.lost.left || h.now.Sub(d.heard) < h.patience() {
		return
	}
	h.deadlines.cancel(&d.heartbeat)
	h.loseDriver(d, "the driver is gone")
	h.puts.failOwner(a.Owner, "the driver was gone before the verdict came")
}

// loseDriver keeps a left mark: who left does not come back by itself.
func (h *Hub) loseDriver(d *device, words string) {
	d.lost = loss{as: gateway.DriverLost, since: h.now, words: words, left: d.lost.left}
	h.refresh(d)
}

// wasHeld reports whether this process was held up, so that what has come may be as
// old as no value may be. It wakes by itself for every owner's heartbeat.
func (h *Hub) wasHeld() bool {
	return h.opts.HeartbeatTimeout > 0 && h.busUp && h.deadlines.late(h.now) > h.opts.HeartbeatTimeout-h.patience()
}

// catchUp lays a loss over all devices until what is there already has been taken
// and their owners have announced everything anew.
func (h *Hub) catchUp() {
	for _, d := range h.devices {
		if d.lost.left {
			continue
		}
		d.lost = loss{as: gateway.BusLost, since: h.now, words: "this gateway was held up"}
		d.heard = h.now
		h.watchHeartbeat(d)
		h.refresh(d)
	}
	h.behind = true
	h.askEcho()
}

func (h *Hub) askEcho() {
	_ = h.bus.Echo() // it fails if the bus is away, which the bus itself will say
}

// caughtUp ends that: whatever is announced from now on is current.
func (h *Hub) caughtUp() {
	if h.behind {
		h.behind = false
		h.describeNow()
	}
}
