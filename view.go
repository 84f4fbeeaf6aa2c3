package gateway

import (
	"strconv"
	"strings"
	"time"
)

// A View is what the hub shows to frontends.
type View interface {
	// For returns what this caller may see and do.
	For(Caller) Session
}

// A Session is the view of one caller. All methods may be called from any
// goroutine; none of them waits for a device.
type Session interface {
	// Get returns the attribute or command, or an error of KindNotFound. The
	// result is a snapshot: one consistent state, never changed.
	Get(Path) (*Attribute, error)

	// List returns up to limit attributes and commands that match, sorted by
	// path, beginning behind after ("" for the start), and whether there are
	// more. A limit of 0 or less means all.
	List(match Pattern, after Path, limit int) (page []*Attribute, more bool)

	// Devices returns all devices, sorted by name.
	Devices() []*Device

	// Open makes the queue of one connection. The caller must Close it.
	Open(StreamOptions) Stream

	// Put validates the request and sends it on its way. The error is a
	// synchronous refusal: not found, read-only, wrong type, out of range,
	// too many puts under way (KindBusy), no owner (KindNotConnected),
	// KindBusDown, KindShuttingDown. Otherwise the Pending gets a verdict.
	Put(PutRequest) (Pending, error)

	// Execute is Put for a command.
	Execute(PutRequest) (Pending, error)

	// Refresh asks the driver to read the attribute from the device now,
	// before any poll whose time comes later. It takes the way of a put, with
	// its budget, mode and urgency, but has no value and changes no setpoint.
	// The verdict comes when the new readback is in the hub's table, or with
	// the reason why there is none: KindWriteOnly if the attribute cannot be
	// read, or is one that the device sends only by itself; KindUnknownOutcome
	// if the device gave no answer, or none that makes sense.
	Refresh(PutRequest) (Pending, error)
}

// An Attribute is a snapshot of an attribute or command and its samples.
type Attribute struct {
	*Descriptor
	// Readback and Setpoint are nil if the attribute does not have that role.
	Readback, Setpoint *Sample
	*Standing
}

// A Standing says whether what is known of an attribute is current. It lies over
// the samples and leaves them as they are. Attributes that stand alike, as most
// of a device do, share it; it is never changed.
type Standing struct {
	Availability Availability
	// AvailableSince is when Availability last changed.
	AvailableSince time.Time
	// Words say why, for people.
	Words string
}

// Sample returns the sample of a role, or nil.
func (a *Attribute) Sample(role Role) *Sample {
	if role == Setpoint {
		return a.Setpoint
	}
	return a.Readback
}

// EffectiveAlarm is the alarm that a client sees: the worse of the sample's own
// and that of the availability.
func (a *Attribute) EffectiveAlarm(role Role) Alarm {
	overlay := a.Availability.Alarm(a.Words)
	if sample := a.Sample(role); sample != nil {
		return sample.Alarm.Worse(overlay)
	}
	return overlay
}

// Availability is what the Standing of an attribute says, or that of a device.
type Availability uint8

// The availabilities, from good to bad.
const (
	Available    Availability = iota
	Stale                     // the driver's polls of this attribute are overdue
	Disconnected              // the driver has lost the device
	DriverLost                // the driver has gone silent or left
	BusLost                   // this process has lost the bus
)

var availabilityNames = [...]string{"connected", "stale", "disconnected", "driver_lost", "bus_lost"}

// String returns the one spelling on every protocol.
func (a Availability) String() string {
	if int(a) < len(availabilityNames) {
		return availabilityNames[a]
	}
	return "bus_lost"
}

// Alarm returns the alarm that an availability stands for.
func (a Availability) Alarm(words string) Alarm {
	switch a {
	case Available:
		return Alarm{}
	case Stale:
		return Alarm{Severity: Invalid, Status: StatusTimeout, Text: textOr(words, "stale")}
	case Disconnected:
		return Alarm{Severity: Invalid, Status: StatusComm, Text: textOr(words, "device not connected")}
	case DriverLost:
		return Alarm{Severity: Invalid, Status: StatusComm, Text: textOr(words, "driver lost")}
	default:
		return Alarm{Severity: Invalid, Status: StatusComm, Text: textOr(words, "bus lost")}
	}
}

func textOr(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// A Device is a snapshot of a device as a whole.
type Device struct {
	Name string
	DeviceInfo
	Availability Availability // never Stale, which is about single attributes
	Since        time.Time
	Words        string
	Attributes   int // attributes and commands
	Stale        int // attributes whose polls are overdue
	Owner        Owner
}

// StreamOptions bound the queue of one connection, and say how its reader is woken.
type StreamOptions struct {
	// MaxEvents and MaxBytes bound what waits to be taken; 0 means
	// DefaultMaxEvents and DefaultMaxBytes. Beyond them the queue falls back
	// to the newest sample of each attribute.
	MaxEvents, MaxBytes int
	// Notify is called when there may be something to take, in place of Ready
	// receiving a value. It must neither block nor call the stream. nil leaves
	// it to Ready.
	Notify func()
}

// The bounds of a stream's queue where its options set none.
const (
	DefaultMaxEvents = 16384
	DefaultMaxBytes  = 8 << 20
)

// A Stream is the queue of events of one connection. It may be shared by many
// watches. Take must not be called by two goroutines at a time; everything
// else may be called from any goroutine.
type Stream interface {
	// Watch adds a selection. Its events come with the returned id: first an
	// EventAdded for each attribute that exists, then EventSynced, then every
	// later event with no gap. With a cursor that is still known it continues
	// behind it instead; with one that is not, EventGap comes first.
	Watch(WatchOptions) (WatchID, error)
	// Unwatch ends a watch: Take returns no event of it afterwards.
	Unwatch(WatchID)
	// Ready receives a value when there may be something to take. It is
	// never closed, and is the same channel for the stream's whole life.
	Ready() <-chan struct{}
	// Take appends what is queued to buf, in the hub's order, and returns
	// it. It never blocks. Events are valid for ever, being immutable.
	Take(buf []Event) []Event
	// Stats returns counters for status pages.
	Stats() StreamStats
	// Close ends the stream and all its watches. It may be called twice.
	Close()
}

// StreamStats count what became of a stream's events since it was opened.
type StreamStats struct {
	Queued    int    // events waiting now
	Bytes     int    // bytes of samples waiting now
	Delivered uint64 // events taken
	Lost      uint64 // sample events merged into a newer one because the reader was slow
	Overflows uint64 // how often the queue was full
	Watches   int
}

// WatchOptions select what a watch delivers.
type WatchOptions struct {
	Match Pattern
	// Roles selects samples; 0 means RoleBoth.
	Roles Role
	// Mask selects changes; 0 means MaskValue|MaskLog|MaskAlarm.
	Mask Mask
	// Every also delivers polls that changed nothing but time.
	Every bool
	// MinInterval is the shortest time between two deliveries of this
	// watch; in between only the newest sample of each attribute is kept.
	// 0 means no limit.
	MinInterval time.Duration
	// Cursor continues an earlier watch of the same selection. The zero
	// Cursor starts afresh.
	Cursor Cursor
}

// A WatchID names a watch within its stream.
type WatchID uint32

// EventType says what happened.
type EventType uint8

// The types of events.
const (
	EventAdded        EventType = iota + 1 // Attribute exists, with all that is known of it
	EventSynced                            // all that existed when the watch began has been delivered
	EventSample                            // Attribute has a new sample in Role
	EventAvailability                      // Attribute.Availability changed
	EventDescribed                         // Attribute.Descriptor changed
	EventRemoved                           // Attribute no longer exists; its last state comes with it
	EventGap                               // events were lost for good: a fresh snapshot follows
)

var eventTypeNames = [...]string{"", "added", "synced", "sample", "availability", "described", "removed", "gap"}

// String returns the one spelling on every protocol.
func (t EventType) String() string {
	if int(t) < len(eventTypeNames) {
		return eventTypeNames[t]
	}
	return ""
}

// An Event is one change, with the state of the attribute after it.
type Event struct {
	Type  EventType
	Watch WatchID
	Role  Role // of EventSample
	// Mask is what changed, including what was lost before; 0 if only time moved on.
	Mask Mask
	// Lost counts the sample events of this attribute and role that were
	// merged into this one because the reader was slow.
	Lost      uint32
	Attribute *Attribute // nil for EventSynced and EventGap
	// Cursor continues behind this event.
	Cursor Cursor
}

// Sample returns the sample that an EventSample is about.
func (e *Event) Sample() *Sample { return e.Attribute.Sample(e.Role) }

// A Cursor names a place in one hub's sequence of events. It is opaque to
// clients and dies with the hub. The zero Cursor is none.
type Cursor struct {
	Epoch uint64 // of the hub; drawn at random at its start, never 0
	N     uint64
}

// String writes a cursor as clients keep it; empty for the zero Cursor.
func (c Cursor) String() string {
	if c.Epoch == 0 {
		return ""
	}
	return strconv.FormatUint(c.Epoch, 36) + "-" + strconv.FormatUint(c.N, 36)
}

// ParseCursor reads what String wrote. The empty text is the zero Cursor. The
// error has KindMalformed.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	epochText, nText, _ := strings.Cut(s, "-")
	epoch, err := strconv.ParseUint(epochText, 36, 64)
	if err != nil || epoch == 0 {
		return Cursor{}, Errorf(KindMalformed, "%q is not a cursor", Quotable(s))
	}
	n, err := strconv.ParseUint(nText, 36, 64)
	if err != nil {
		return Cursor{}, Errorf(KindMalformed, "%q is not a cursor", Quotable(s))
	}
	return Cursor{Epoch: epoch, N: n}, nil
}
