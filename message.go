package gateway

import (
	"fmt"
	"time"
)

// This file holds what travels over the bus between drivers and hubs. The bus
// encodes and decodes these; hub and device know nothing of its subjects.

// An Owner names one running owner of a device. A later owner has a higher
// term, and what it says beats an earlier one.
type Owner struct {
	Device   string
	Instance string // unique for each start of a driver
	Term     uint64
}

// String describes an owner in log lines.
func (o Owner) String() string { return fmt.Sprintf("%s/%s (term %d)", o.Device, o.Instance, o.Term) }

// A Message is what a hub receives: *Update, *Announcement, *DeviceState,
// *PutVerdict, *BusState, *Dropped, *Absent or *Echo. The receiver owns it.
type Message interface{ message() }

// An Update is one exchange with a device: all samples that it refreshed. A hub
// applies it in one turn.
type Update struct {
	Owner
	// Revision is that of the announcement whose indices Samples use. A hub
	// that has another one asks for a new announcement.
	Revision uint64
	Samples  []SampleUpdate
}

// A SampleUpdate is the new sample of one role of one attribute.
type SampleUpdate struct {
	Index  uint32 // of the attribute in the announcement
	Role   Role
	Sample *Sample
	// Accepts names the put whose acceptance made this setpoint, or is zero.
	Accepts PutID
}

// An Announcement says what a device has: all of its attributes and commands in
// one or more pieces. When the last piece has come, what was in none is gone.
type Announcement struct {
	Owner
	Revision      uint64
	Piece, Pieces int // Piece counts from 0
	Info          DeviceInfo
	State         DeviceState // its Owner is that of the announcement
	// Offset is the index of the first of Attributes.
	Offset     uint32
	Attributes []Announced
}

// Announced is one attribute of an announcement with its current samples. A
// sample is nil if the attribute does not have that role.
type Announced struct {
	Descriptor         *Descriptor
	Readback, Setpoint *Sample
}

// DeviceInfo describes a device to people and frontends.
type DeviceInfo struct {
	Description string
	Driver      string            // such as "serial"
	Link        string            // such as "/dev/ttyUSB0 at 9600 8N1"
	Annotations map[string]string // what single frontends want to know, such as "ca.prefix"
}

// A DeviceState is what a driver says of its device as a whole. On an outside
// bus it is repeated every second, so that hubs notice a driver that died.
type DeviceState struct {
	Owner
	Revision  uint64
	Connected bool
	Since     time.Time // of the last change of Connected
	Words     string    // why, for people
	// Stale lists the indices of attributes whose polls are overdue, rising.
	Stale []uint32
	// Clock is how long ago the owner began, by its own monotonic clock, when
	// it said this. A hub that knows it can tell an owner until when a put
	// counts, without clocks that agree.
	Clock time.Duration
	// Leaving says that this owner has stopped and will not speak again.
	Leaving bool
}

// PutID names a put among all puts of all hubs. The zero PutID is none.
type PutID struct {
	Hub uint64 // drawn at random at each start of a hub
	N   uint64
}

// A Put is a put, the execution of a command or a refresh on its way to the
// owner of its device.
type Put struct {
	ID PutID
	To Owner // as the hub knows it; only that owner may act
	PutRequest
	// Refresh means that nothing is put: the attribute is read from the device
	// now. The request has no value.
	Refresh bool
	Caller  Caller
	// NotAfter is when the budget ends, by the clock of DeviceState.Clock. It
	// keeps a put that was held on its way from being run late. 0 if the hub
	// does not know the clock.
	NotAfter time.Duration
}

// A PutVerdict is a verdict on its way back to the hub that asked. The setpoint
// and readback in it are also sent to everyone as updates.
type PutVerdict struct {
	Owner
	ID       PutID
	Revision uint64
	Index    uint32
	Verdict  Verdict
}

// A BusState says whether this process is connected to the bus.
type BusState struct {
	Connected bool
	Since     time.Time
	Words     string
}

// Dropped says that messages were lost on their way to this process, so that
// the hub must ask for everything again.
type Dropped struct{ Count uint64 }

// Absent says that nobody hears what is sent to an owner that a hub asked for: its
// process has ended, or has lost the bus.
type Absent struct{ Owner }

// An Echo is what a hub sent to itself. What comes behind it was sent later.
type Echo struct{}

func (*Update) message()       {}
func (*Announcement) message() {}
func (*DeviceState) message()  {}
func (*PutVerdict) message()   {}
func (*BusState) message()     {}
func (*Dropped) message()      {}
func (*Absent) message()       {}
func (*Echo) message()         {}
