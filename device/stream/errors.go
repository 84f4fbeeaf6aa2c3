package stream

import (
	"fmt"
	"strconv"
)

// SyntaxError is a mistake in a format text.
type SyntaxError struct {
	Offset    int    // where, in bytes from the start of the text
	Msg       string // what is wrong and what would be right
	Separator bool   // the mistake is in Options.Separator, not in the format
}

// Error returns the place and the message.
func (e *SyntaxError) Error() string {
	where := "format"
	if e.Separator {
		where = "separator"
	}
	return fmt.Sprintf("%s: at byte %d: %s", where, e.Offset, e.Msg)
}

// ValueError says why a value could not be written. Nothing was appended.
type ValueError struct {
	Index int    // which argument; -1 if no single one is to blame
	Msg   string // what is wrong
}

// Error returns the argument's place, counted from 1, and the message.
func (e *ValueError) Error() string {
	if e.Index < 0 {
		return "format output: " + e.Msg
	}
	return fmt.Sprintf("format output: value %d: %s", e.Index+1, e.Msg)
}

// Reason says in which way an input did not match.
type Reason uint8

// The reasons of a MismatchError.
const (
	NoMatch     Reason = iota + 1 // other bytes than expected
	Short                         // the input ended too early
	Extra                         // bytes are left over
	OutOfRange                    // a number that 64 bits cannot hold, or a time that does not exist
	NoState                       // a number, where none of the listed states is that number
	BadChecksum                   // the check bytes are not those of the input
	WrongCount                    // an array with another number of elements than declared
	TooMuchWork                   // a regular expression reached its limit
)

// String returns the reason in words.
func (r Reason) String() string {
	switch r {
	case NoMatch:
		return "no match"
	case Short:
		return "too short"
	case Extra:
		return "extra input"
	case OutOfRange:
		return "out of range"
	case NoState:
		return "no such state"
	case BadChecksum:
		return "bad checksum"
	case WrongCount:
		return "wrong number of elements"
	case TooMuchWork:
		return "too much work"
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// MismatchError says that an input does not fit a format. No value was read.
type MismatchError struct {
	Reason   Reason
	Offset   int    // where, in bytes of the input (behind a rewriting converter: of the rewritten input)
	Expected string // what the format wants there
	Found    string // what is there, quoted and cut to a few bytes
	Format   int    // offset of the responsible part in the format text
}

// Error describes place, expectation and finding in one line.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("input does not match: %s at byte %d: expected %s, found %s",
		e.Reason, e.Offset, e.Expected, e.Found)
}

// maxQuoted is how many bytes of an input are shown in an error.
const maxQuoted = 32

// quote shows bytes in ASCII, cut to maxQuoted bytes.
func quote[T string | []byte](b T) string {
	if len(b) > maxQuoted {
		return strconv.QuoteToASCII(string(b[:maxQuoted])) + "..."
	}
	return strconv.QuoteToASCII(string(b))
}

// found shows what an input holds at a place.
func found(rest []byte) string {
	if len(rest) == 0 {
		return "the end of the input"
	}
	return quote(rest)
}
