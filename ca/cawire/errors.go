package cawire

import (
	"errors"
	"fmt"
)

var (
	// ErrIncomplete means that nothing is wrong yet, but more bytes are needed.
	ErrIncomplete = errors.New("cawire: incomplete message")
	// ErrMisaligned means that a payload size is not a multiple of 8, after
	// which nothing on that circuit can be understood. Base's server answers
	// ECAInternal and closes the circuit.
	ErrMisaligned = errors.New("cawire: payload size is not a multiple of 8")
	// ErrTooLarge means that a payload is above the limit. Base's server
	// answers ECATooLarge and skips it.
	ErrTooLarge = errors.New("cawire: payload is too large")
	// ErrLongHeader means that a message cannot be told to a peer whose minor
	// revision is below 9. Base's server answers ECA16KArrayClient.
	ErrLongHeader = errors.New("cawire: peer understands no long header")
	// ErrShortPayload means that a payload is shorter than its header says it
	// must be, by its command, type and count.
	ErrShortPayload = errors.New("cawire: payload is too short")
	// ErrBadType means that a header names no type of data, or one that cannot
	// be used here. Base's server answers ECABadType, or closes the circuit.
	ErrBadType = errors.New("cawire: invalid data type")
	// ErrBadName means that a name is empty, too long or not terminated.
	ErrBadName = errors.New("cawire: invalid name")
	// ErrUnknownCommand means that no message has this command, or not from
	// this side, or not on this transport. Base's server answers ECAInternal
	// and closes the circuit.
	ErrUnknownCommand = errors.New("cawire: unknown command")
	// ErrObsolete means that a message belongs to an early revision of the
	// protocol. It wraps ErrUnknownCommand: peers treat both alike.
	ErrObsolete = fmt.Errorf("%w: obsolete", ErrUnknownCommand)
)
