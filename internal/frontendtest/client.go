// Package frontendtest is the suite that every frontend passes: on a scripted
// bus, and over a real broker. A frontend's test gives Run a Start function that
// serves a view on loopback, and a Client that speaks its protocol as users do.
//
//	func TestSuite(t *testing.T) { frontendtest.Run(t, start) }
//
// The package also gives other tests a scripted view: see NewScripted.
package frontendtest

import (
	"context"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

// Start serves a view with a frontend on loopback ports that it finds itself.
type Start func(t testing.TB, view gateway.View) *Frontend

// A Frontend is one that runs.
type Frontend struct {
	// Dial makes a connection of one more client, which the suite closes.
	Dial func(t testing.TB) Client
	// Stop ends the frontend as the program does: connections are closed,
	// and it returns when nothing of it runs any more. The suite calls it once.
	Stop func(ctx context.Context) error
	// Protocol is what the frontend says in gateway.Caller.
	Protocol string
	// Lacks names what the protocol cannot say; the suite skips what needs it.
	Lacks Lacks
}

// Lacks is what a protocol cannot say.
type Lacks struct {
	Latest bool // Put.Mode, together with a verdict
	Budget bool // Put.Budget
}

// A Client is one user of a frontend. Values are JSON, as REST shows them:
// 12.5, "On", [1,2]; the suite compares them as JSON, so 1.0 is 1. Every method
// returns when ctx ends. A refusal or a failed put is a *ProtocolError; other errors
// fail the test.
//
// A Client may also be a Lister, a Resumer or a PatternWatcher.
type Client interface {
	Get(ctx context.Context, path string) (Reading, error)
	// Put returns when there is a verdict.
	Put(ctx context.Context, put Put) error
	// Execute runs a command without an argument.
	Execute(ctx context.Context, path string) error
	// Watch begins to deliver an attribute, which need not exist yet. When it
	// returns the frontend knows of it, or will before the client's next request.
	Watch(ctx context.Context, path string) (Watch, error)
	// Code returns what the protocol calls an error of a kind: what
	// ProtocolError has as its Code. Several kinds may share one.
	Code(kind gateway.ErrorKind) string
	Close() error
}

// A Put is what a client asks for.
type Put struct {
	Path   string
	Value  string // JSON
	Mode   gateway.Mode
	Budget time.Duration // 0 for the frontend's own
}

// A ProtocolError is an error that the frontend told its client, in the protocol's words.
type ProtocolError struct {
	Code  string
	Words string // all that was said beside it, for messages
}

// Error returns code and words.
func (f *ProtocolError) Error() string { return f.Code + ": " + f.Words }

// A Reading is what a client is shown of an attribute. A role that it does not
// have, or that the protocol does not show, is nil.
type Reading struct {
	Readback, Setpoint *Sample
}

// Sample returns the sample of a role, or nil.
func (r Reading) Sample(role gateway.Role) *Sample {
	if role == gateway.Setpoint {
		return r.Setpoint
	}
	return r.Readback
}

// A Sample is what a client is shown of one sample.
type Sample struct {
	Value    string // JSON; null where nothing is known and the protocol can say so, else empty
	Time     time.Time
	Severity string // of the effective alarm, in EPICS's words
	Status   string
	Seq      uint64 // 0 if the protocol does not show it
}

// A Watch delivers events. It reads from its connection only when Next is
// called, so that the suite can be a slow reader.
type Watch interface {
	// Next waits for the next event. An error means that there will be no more.
	Next(ctx context.Context) (Event, error)
	Close() error
}

// An Event is one sample that a watch shows: what is known at first, a new
// sample, or a new availability with the sample as it was. An attribute with
// two roles makes an event for each.
type Event struct {
	Path    string
	Role    gateway.Role
	Sample  Sample
	Removed bool   // the attribute is gone; Role and Sample are empty
	Gap     bool   // the watch could not continue; the rest is empty
	Cursor  string // continues behind this event; empty if there is none
}

// A Lister can list attributes.
type Lister interface {
	List(ctx context.Context, match string) ([]string, error)
}

// A PatternWatcher can watch more than one attribute with a pattern.
type PatternWatcher interface {
	WatchPattern(ctx context.Context, match string) (Watch, error)
}

// A Resumer can continue a watch behind the cursor of an event.
type Resumer interface {
	Resume(ctx context.Context, path, cursor string) (Watch, error)
}
