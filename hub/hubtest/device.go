package hubtest

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/polygate/gateway"
)

// A Line carries what devices say, and brings them puts and requests to announce.
type Line interface {
	// Say sends an *Announcement, *Update, *DeviceState or *PutVerdict. It
	// does not wait for the other side.
	Say(gateway.Message)
	// Own makes d get what is addressed to owner, through its HandlePut and
	// Announce.
	Own(owner gateway.Owner, d *Device)
	// Disown ends that.
	Disown(owner gateway.Owner)
}

// A Device plays a driver with its device. Its methods may be called from any
// goroutine; each says one thing on the bus.
type Device struct {
	line Line
	name string

	mu         sync.Mutex
	owner      gateway.Owner
	revision   uint64
	pieceSize  int
	info       gateway.DeviceInfo
	state      gateway.DeviceState
	attributes []gateway.Announced
	answer     func(*Device, *gateway.Put)
	silent     bool // says and hears nothing
	left       bool // nobody listens any more
	lastTime   time.Time
	puts       []*gateway.Put
}

// NewDevice adds a connected device to a bus and announces it.
func NewDevice(line Line, name string, descriptors ...*gateway.Descriptor) *Device {
	d := &Device{
		line: line, name: name, pieceSize: math.MaxInt32, revision: 1,
		owner: gateway.Owner{Device: name, Instance: "i1", Term: 1},
		info:  gateway.DeviceInfo{Description: "a scripted device", Driver: "scripted"},
		state: gateway.DeviceState{Connected: true, Since: time.Now()},
	}
	d.setAttributes(descriptors)
	line.Own(d.owner, d)
	d.Announce()
	return d
}

func (d *Device) setAttributes(descriptors []*gateway.Descriptor) {
	old := map[gateway.Path]gateway.Announced{}
	for _, a := range d.attributes {
		old[a.Descriptor.Path] = a
	}
	d.attributes = nil
	for _, desc := range descriptors {
		a := gateway.Announced{Descriptor: desc}
		known, ok := old[desc.Path]
		if desc.Roles()&gateway.Readback != 0 {
			a.Readback = gateway.NeverRead
			if ok && known.Readback != nil {
				a.Readback = known.Readback
			}
		}
		if desc.Roles()&gateway.Setpoint != 0 {
			a.Setpoint = gateway.NeverRead
			if ok && known.Setpoint != nil {
				a.Setpoint = known.Setpoint
			}
		}
		d.attributes = append(d.attributes, a)
	}
}

// Owner returns the running owner.
func (d *Device) Owner() gateway.Owner {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owner
}

// Announce says what the device has.
func (d *Device) Announce() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.silent {
		return
	}
	for _, piece := range d.pieces() {
		d.line.Say(piece)
	}
}

func (d *Device) pieces() []*gateway.Announcement {
	count := max((len(d.attributes)+d.pieceSize-1)/d.pieceSize, 1)
	var pieces []*gateway.Announcement
	for i := range count {
		first := i * d.pieceSize
		last := min(first+d.pieceSize, len(d.attributes))
		pieces = append(pieces, &gateway.Announcement{
			Owner: d.owner, Revision: d.revision, Piece: i, Pieces: count, Info: d.info, State: d.currentState(),
			Offset: uint32(first), Attributes: append([]gateway.Announced(nil), d.attributes[first:last]...),
		})
	}
	return pieces
}

func (d *Device) currentState() gateway.DeviceState {
	state := d.state
	state.Owner, state.Revision = d.owner, d.revision
	return state
}

// SetPieceSize sets how many attributes go into one piece of an announcement;
// all at first. It is for lines that do not cut announcements themselves.
func (d *Device) SetPieceSize(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pieceSize = n
}

// Redescribe replaces what the device has. Samples of paths that stay are kept.
func (d *Device) Redescribe(descriptors ...*gateway.Descriptor) {
	d.mu.Lock()
	d.revision++
	d.setAttributes(descriptors)
	d.mu.Unlock()
	d.Announce()
}

// Descriptors returns what the device has.
func (d *Device) Descriptors() []*gateway.Descriptor {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*gateway.Descriptor
	for _, a := range d.attributes {
		list = append(list, a.Descriptor)
	}
	return list
}

// Restart makes a new owner with a higher term. With forget it knows no
// samples. It has not announced yet.
func (d *Device) Restart(forget bool) {
	d.mu.Lock()
	old := d.owner
	d.owner.Term++
	d.owner.Instance = fmt.Sprintf("i%d", d.owner.Term)
	d.revision = 1
	d.silent, d.left = false, false
	if forget {
		descriptors := make([]*gateway.Descriptor, len(d.attributes))
		for i, a := range d.attributes {
			descriptors[i] = a.Descriptor
		}
		d.attributes = nil
		d.setAttributes(descriptors)
	}
	owner := d.owner
	d.mu.Unlock()
	// Outside the lock: a line may wait for calls of ours that are under way.
	d.line.Disown(old)
	d.line.Own(owner, d)
}

// SetState says that the device is connected or lost.
func (d *Device) SetState(connected bool, words string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if connected != d.state.Connected {
		d.state.Since = time.Now()
	}
	d.state.Connected, d.state.Words = connected, words
	d.sayState()
}

// SetStale says that the attributes with these indices, rising, are overdue.
func (d *Device) SetStale(indices ...uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.Stale = indices
	d.sayState()
}

// Heartbeat repeats the device's state.
func (d *Device) Heartbeat() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sayState()
}

// Leave says that this owner has stopped. It is silent until Restart.
func (d *Device) Leave(words string) {
	d.mu.Lock()
	state := d.currentState()
	state.Leaving, state.Words = true, words
	d.line.Say(&state)
	d.silent, d.left = true, true
	d.mu.Unlock()
	d.line.Disown(state.Owner)
}

// Die ends the driver's process without a word, until Restart.
func (d *Device) Die() {
	d.mu.Lock()
	d.silent, d.left = true, true
	owner := d.owner
	d.mu.Unlock()
	d.line.Disown(owner)
}

// listens reports whether the device is this owner's, also if it is silent.
func (d *Device) listens(o gateway.Owner) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return o == d.owner && !d.left
}

// SetSilent makes the driver say nothing and hear nothing, or come back.
func (d *Device) SetSilent(silent bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent = silent
}

func (d *Device) sayState() {
	if d.silent {
		return
	}
	state := d.currentState()
	d.line.Say(&state)
}

// A Change is a new sample of one attribute.
type Change struct {
	Path  gateway.Path
	Role  gateway.Role
	Value gateway.Value
	Alarm gateway.Alarm
	// Same keeps the sequence number: a poll that changed nothing but time.
	Same bool
}

// Update says the new samples of one exchange. It panics for a path that the
// device does not have, as a test that does that is wrong.
func (d *Device) Update(changes ...Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.update(changes, gateway.PutID{})
	if !d.silent {
		d.line.Say(u)
	}
}

// Set says one new readback.
func (d *Device) Set(path gateway.Path, v gateway.Value) {
	d.Update(Change{Path: path, Role: gateway.Readback, Value: v})
}

func (d *Device) update(changes []Change, accepts gateway.PutID) *gateway.Update {
	u := &gateway.Update{Owner: d.owner, Revision: d.revision}
	now := d.now()
	for _, c := range changes {
		index := d.index(c.Path)
		a := &d.attributes[index]
		slot := &a.Readback
		if c.Role == gateway.Setpoint {
			slot = &a.Setpoint
		}
		*slot = next(*slot, c, now)
		u.Samples = append(u.Samples, gateway.SampleUpdate{Index: uint32(index), Role: c.Role, Sample: *slot, Accepts: accepts})
	}
	return u
}

func next(before *gateway.Sample, c Change, now time.Time) *gateway.Sample {
	s := &gateway.Sample{Value: c.Value, Time: gateway.TimeOf(now), LastGood: gateway.TimeOf(now), Alarm: c.Alarm, Seq: before.Seq}
	if c.Alarm.Severity == gateway.Invalid {
		s.LastGood = before.LastGood
	}
	if !c.Same {
		s.Seq++
		s.Mask = gateway.MaskValue | gateway.MaskLog
		if c.Alarm != before.Alarm {
			s.Mask |= gateway.MaskAlarm
		}
	}
	return s
}

// now returns strictly rising times.
func (d *Device) now() time.Time {
	now := time.Now()
	if !now.After(d.lastTime) {
		now = d.lastTime.Add(time.Nanosecond)
	}
	d.lastTime = now
	return now
}

func (d *Device) index(path gateway.Path) int {
	for i := range d.attributes {
		if d.attributes[i].Descriptor.Path == path {
			return i
		}
	}
	//nolint:forbidigo // a test that changes what it did not announce is wrong.
	panic(fmt.Sprintf("device %s has no %s", d.name, path))
}
