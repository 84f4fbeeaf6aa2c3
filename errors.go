package gateway

import (
	"errors"
	"fmt"
)

// An ErrorKind says what a caller can do about an error. Every frontend maps
// each kind to its own protocol once. The list is closed.
type ErrorKind uint8

// The kinds. KindOK is not an error.
const (
	KindOK              ErrorKind = iota
	KindNotFound                  // no such attribute, command or device
	KindReadOnly                  // a put to an attribute that has no setpoint
	KindWriteOnly                 // a stream was asked of something that cannot be read
	KindMalformed                 // the request itself cannot be understood
	KindTooLarge                  // the request, or the value in it, is too large
	KindWrongType                 // the value cannot be of the attribute's kind or shape
	KindOutOfRange                // the value is beyond the limits of its kind or attribute
	KindNotALabel                 // the text or number names no state of the enum
	KindUnauthenticated           // who is asking is not known
	KindDenied                    // who is asking may not do that
	KindConflict                  // another holds control
	KindSuperseded                // a newer put of mode latest took this one's place; it was never sent
	KindBusy                      // a queue is full; try again later
	KindNotConnected              // the device or its driver is away; nothing was sent
	KindBusDown                   // the bus is away; nothing was sent
	KindShuttingDown              // the gateway is stopping; nothing was sent
	KindExpired                   // the budget ran out before the put was sent; it never will be
	KindRefusedByDevice           // the device said no, with its words
	KindUnknownOutcome            // it was sent, and no answer came in time
	KindInternal                  // a fault of the gateway itself
)

var errorKindNames = [...]string{
	KindOK:              "ok",
	KindNotFound:        "not_found",
	KindReadOnly:        "read_only",
	KindWriteOnly:       "write_only",
	KindMalformed:       "malformed",
	KindTooLarge:        "too_large",
	KindWrongType:       "wrong_type",
	KindOutOfRange:      "out_of_range",
	KindNotALabel:       "not_a_label",
	KindUnauthenticated: "unauthenticated",
	KindDenied:          "denied",
	KindConflict:        "conflict",
	KindSuperseded:      "superseded",
	KindBusy:            "busy",
	KindNotConnected:    "not_connected",
	KindBusDown:         "bus_down",
	KindShuttingDown:    "shutting_down",
	KindExpired:         "expired",
	KindRefusedByDevice: "refused_by_device",
	KindUnknownOutcome:  "unknown_outcome",
	KindInternal:        "internal",
}

// ErrorKinds returns all kinds that are errors, for tables in frontends and tests.
func ErrorKinds() []ErrorKind {
	kinds := make([]ErrorKind, 0, len(errorKindNames)-1)
	for k := KindOK + 1; int(k) < len(errorKindNames); k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// String returns the kind's one spelling on every protocol, such as "out_of_range".
func (k ErrorKind) String() string {
	if int(k) < len(errorKindNames) {
		return errorKindNames[k]
	}
	return "internal"
}

// ParseErrorKind is the inverse of String. A text that is no kind, as a newer
// peer may send, is KindInternal.
func ParseErrorKind(s string) ErrorKind {
	for k, name := range errorKindNames {
		if name == s {
			return ErrorKind(k)
		}
	}
	return KindInternal
}

// An Error is a failure that a client is told of.
type Error struct {
	Kind ErrorKind
	// Stage says how far a put had come. It is StageNone for errors that
	// are not about a put.
	Stage Stage
	// Msg is for people: the thing, the place and the way out.
	Msg string
	// DeviceWords is what the device itself said, as valid UTF-8, or empty.
	DeviceWords string
	// Err is the cause, or nil. It is for logs and errors.Is, and does not
	// travel to another process.
	Err error
}

// Error returns the message, the device's words behind it.
func (e *Error) Error() string {
	msg := e.Msg
	if msg == "" {
		msg = e.Kind.String()
	}
	if e.DeviceWords != "" {
		msg += fmt.Sprintf(" (device said %q)", e.DeviceWords)
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a kind. An error formatted with %w stays its cause.
func Errorf(kind ErrorKind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// KindOf returns the kind of err: KindOK for nil, KindInternal for an error
// that carries none.
func KindOf(err error) ErrorKind {
	if err == nil {
		return KindOK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// AsError returns err as an *Error, wrapping one that has no kind as
// KindInternal, and nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: KindInternal, Msg: err.Error(), Err: err}
}

// Unsent returns the error of a put, command or refresh that did not get as far as
// to be accepted, nil for nil: it has StageRefused where it says of no stage.
func Unsent(err error) error {
	e := AsError(err)
	if e == nil {
		return nil
	}
	if e.Stage != StageNone {
		return err
	}
	refused := *e
	refused.Stage = StageRefused
	return &refused
}
