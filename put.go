package gateway

import (
	"context"
	"time"
)

// A Caller is who asks. Frontends fill in what their protocol tells them; it
// travels with a put to the driver and into logs.
type Caller struct {
	Identity    string // user or subject; empty if the protocol has none
	Protocol    string // "rest", "graphql", "grpc", "ca", "cli"
	Peer        string // remote address
	Correlation string // the client's or the frontend's id of this request
}

// A Mode says what may happen to a put that waits for its device.
type Mode uint8

const (
	// Each puts run first in, first out, each with its own verdict.
	Each Mode = iota
	// Latest lets a newer Latest put take the place of one that has not
	// started; the older ends as superseded. Sliders use it.
	Latest
)

// A Stage says how far a put had come when it ended.
type Stage uint8

// The stages, in the order in which a put goes through them.
const (
	StageNone         Stage = iota
	StageRefused            // not accepted; nothing changed and there is no alarm
	StageSuperseded         // accepted, replaced by a newer put, never sent
	StageAccepted           // accepted, then failed before it was sent
	StageSent               // sent to the device; whether it took it is not known
	StageAcknowledged       // the device said yes, or the line has no replies and the bytes are out
	StageVerified           // read back after it was sent, and it is what was asked for
)

var stageNames = [...]string{"", "refused", "superseded", "accepted", "sent", "acknowledged", "verified"}

// String returns the stage's one spelling on every protocol.
func (s Stage) String() string {
	if int(s) < len(stageNames) {
		return stageNames[s]
	}
	return ""
}

// A PutRequest asks for a new setpoint, for the execution of a command, or for a
// reading (Session.Refresh).
type PutRequest struct {
	Path Path
	// Value is the wanted value, already of the attribute's type; for a
	// command its argument, or the zero Value; for a refresh the zero Value.
	Value Value
	// Budget is how long the caller waits for a verdict; 0 means DefaultBudget.
	Budget time.Duration
	Mode   Mode
	// Urgent puts go before all others of the device (STOP).
	Urgent bool
}

// DefaultBudget is the time that a put may take where the caller sets none;
// MaxBudget is the longest that a caller may ask for.
const (
	DefaultBudget = 10 * time.Second
	MaxBudget     = 10 * time.Minute
)

// A Verdict is how a put ended.
type Verdict struct {
	Stage Stage
	// Err is nil if the put succeeded.
	Err *Error
	// Setpoint and Readback are the samples that resulted, where there are
	// any. They are in the hub's table before the verdict is given.
	Setpoint, Readback *Sample
	// Result is what a command returned, or the zero Value.
	Result Value
}

// A Pending is a put on its way. Its methods may be called from any goroutine.
type Pending interface {
	// Accepted is closed when the driver has accepted the put (its setpoint
	// sample is then in the table) and at the latest together with Done.
	Accepted() <-chan struct{}
	// Done is closed when there is a verdict, at the latest shortly after
	// the budget has run out.
	Done() <-chan struct{}
	// Verdict returns the verdict; it is valid once Done is closed.
	Verdict() Verdict
}

// Wait waits for the verdict of p. If ctx ends first it returns a verdict of
// kind KindUnknownOutcome; the put itself goes on, since an accepted put
// outlives its client.
func Wait(ctx context.Context, p Pending) Verdict {
	select {
	case <-p.Done():
		return p.Verdict()
	case <-ctx.Done():
		err := Errorf(KindUnknownOutcome, "stopped waiting for the verdict: %w", context.Cause(ctx))
		err.Stage = StageSent
		return Verdict{Stage: StageSent, Err: err}
	}
}
