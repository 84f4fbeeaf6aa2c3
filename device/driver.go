// Package device drives instruments: it says what a driver is, and supervises
// one driver for each device. The supervisor owns everything that must be the
// same for all instruments: when to poll, which put goes next, limits and
// dead-bands, sequence numbers, freshness, reconnects and ownership. A driver
// only speaks its instrument's language.
package device

import (
	"context"
	"errors"
	"time"

	"github.com/polygate/gateway"
)

// A Driver speaks the language of one device. The supervisor calls Model first
// and once, then Connect, Poll, Put and Close from one goroutine, never two at
// a time, so a driver needs no locks for its own state.
//
// Every method that takes a context returns soon after it has ended. Bytes
// that were already sent stay sent: Put reports that in its outcome.
type Driver interface {
	// Model says what the device has. The result is kept and not changed.
	Model() Model

	// Connect makes the device ready for exchanges: it waits until the link
	// is open, identifies the device, runs start-up queries and delivers what
	// they read to out. After an error the supervisor closes the driver and
	// connects again, with a back-off. Unsolicited values go to out until
	// Close returns. A device that is polled counts as connected once
	// something has answered; if it falls silent behind an open link and
	// answers again, it is closed and connected afresh.
	Connect(ctx context.Context, out Sink) error

	// Poll runs the exchange of one of the model's polls and appends a
	// reading for each attribute that it is about: a good one or one with a
	// fault. The error is for a lost link alone (ErrLost); the supervisor then
	// closes the driver and connects again.
	Poll(ctx context.Context, poll int, into []Reading) ([]Reading, error)

	// Put sends a value to attribute index, or runs the command index with
	// value as its argument. It returns after the device's answer, and after
	// the read-back where the device has one. The context ends when the
	// put's budget is out.
	Put(ctx context.Context, index int, value gateway.Value) Outcome

	// Refresh reads attribute index now and appends its reading, as Poll
	// does. An attribute that cannot be read, or that the device sends only by
	// itself, appends nothing. The supervisor asks for it when a client does,
	// and after a put whose outcome is not known.
	Refresh(ctx context.Context, index int, into []Reading) ([]Reading, error)

	// Close gives the link back. It is called after every Connect, also one
	// that failed, and after a panic. The driver can be connected again.
	Close() error
}

// A Model is what a device has.
type Model struct {
	Info       gateway.DeviceInfo
	Attributes []gateway.Descriptor // commands too; New sets the revisions and shares equal traits, nobody changes them afterwards
	Polls      []Poll
	// ReplyTimeout is the longest that an exchange waits for its reply; it
	// enters the freshness limit.
	ReplyTimeout time.Duration
}

// A Poll is an exchange that the supervisor repeats.
type Poll struct {
	Period  time.Duration
	Indices []int // of the attributes that it refreshes
	// MaxAge overrides when they are stale; 0 means the larger of three
	// achieved periods and one period plus the reply timeout.
	MaxAge time.Duration
}

// A Sink takes what a device says by itself. Its methods may be called from any
// goroutine, also within a call of the driver; they do not wait for anything.
type Sink interface {
	// Deliver publishes the readings of one unsolicited message or start-up
	// query. It does not keep the slice.
	Deliver([]Reading)
	// Down says why the link is not open yet, while Connect waits for it. It
	// may be called again with the same reason, as after each attempt.
	Down(error)
	// Lost reports that the link is gone while no exchange was running. The
	// supervisor will Close the driver; Lost does not wait for that.
	Lost(error)
}

// A Reading is what one exchange says of one attribute.
type Reading struct {
	Index int
	// Role is Readback, or Setpoint where a query reads the device's own
	// setpoint. The latter does not count while a put waits or has failed.
	Role gateway.Role
	// Value is of the attribute's type, or the zero Value if there is none.
	Value gateway.Value
	// Time is when the last byte of the reply arrived, or when the fault was noticed.
	Time time.Time
	// Alarm is the device's or the driver's own: for a fault INVALID with
	// TIMEOUT (no answer), READ (stopped in mid-reply), CALC (the text did
	// not match) or STATE (no such state), together with the zero Value; for a
	// value that comes with an alarm, both. Limits are evaluated by the
	// supervisor.
	Alarm gateway.Alarm
}

// Failed reports whether the reading has no value.
func (r *Reading) Failed() bool { return !r.Value.Known() }

// An Outcome is how a put ended at the device.
type Outcome struct {
	// Stage is StageAccepted (nothing was sent), StageSent, StageAcknowledged
	// or StageVerified.
	Stage gateway.Stage
	// Err is nil for success. Its kind is one of KindNotConnected,
	// KindExpired, KindOutOfRange and KindWrongType (never sent; the last two:
	// the value cannot be written in the device's language),
	// KindRefusedByDevice, KindUnknownOutcome or KindInternal. An outcome with neither an error nor at least StageSent
	// is a fault of the driver.
	Err *gateway.Error
	// Readings are what was read back.
	Readings []Reading
	// Result is what a command returned.
	Result gateway.Value
	// Lost is set (to an ErrLost) if the link was lost on the way.
	Lost error
}

// ErrLost is wrapped by errors that mean: the link is gone, connect again.
var ErrLost = errors.New("link lost")

// A Bus carries what a supervisor says, and brings what it is asked. Its
// methods do not wait for the other side, do not change what they are given and
// do not keep it (samples excepted, which nobody changes), and send in the order
// of the calls. Errors of kind KindBusDown mean that
// nothing was sent; the supervisor announces everything again when the bus is back.
type Bus interface {
	// Announce takes the whole announcement; the bus cuts it into pieces.
	Announce(*gateway.Announcement) error
	Update(*gateway.Update) error
	State(*gateway.DeviceState) error

	// Own makes h get what is addressed to the owner, one call at a time in
	// the order of arrival, until release is called (it waits for a call in
	// progress). Own returns once the server knows of the subscriptions.
	Own(owner gateway.Owner, h Handler) (release func(), err error)
}

// A Lease is the right to talk to a device, which one process at a time has.
// Terms order what owners say where there is none; the lease orders what they do.
type Lease interface {
	// Await waits until this process holds the lease. Held ends when it does
	// not any more, with the reason as its cause. Nobody who held it before
	// had a term as high. The error is that of ctx.
	Await(ctx context.Context) (held context.Context, term uint64, err error)
	// Check returns until when something may be said to the device, or why
	// it may not. It knows that before held has ended, and does not wait.
	Check() (until time.Time, err error)
}

// A Handler is what an owner does when the bus calls. Its methods must return
// quickly: they queue work and do not run exchanges. They may call the Bus, so
// it must not hold a lock during the call that these calls need.
type Handler interface {
	// HandlePut takes a put. The handler answers exactly once, from any goroutine.
	HandlePut(put *gateway.Put, answer func(*gateway.PutVerdict))
	// HandleDescribe is called when a hub asks everyone to announce.
	HandleDescribe()
	// HandleRival is called when another owner of the same device speaks, at
	// least for one whose term is not lower. Leaving says that it will not
	// speak again.
	HandleRival(rival gateway.Owner, leaving bool)
	// HandleBus is called when this process loses or regains the bus, and
	// may be called with the present state first.
	HandleBus(gateway.BusState)
}
