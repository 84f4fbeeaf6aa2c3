// Package link carries bytes to and from instruments: serial ports, TCP
// terminal servers, UDP, and whatever else implements Opener.
//
// An Opener is the address of a link and opens a Port, one byte stream with
// deadlines. A Line owns one link: it opens the port, notices its loss, opens
// it again, and lets several users take turns, one exchange at a time.
//
// The package knows nothing of instruments: framing, matching and retries
// belong to the drivers. It does not log; what happened is in State, and each
// User is told of changes.
package link

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Port is one open byte stream. One goroutine may read while another writes,
// and any goroutine may close the port or move a deadline at any time, which
// ends a blocked call. None of the methods but Read and Write may block for
// more than a second.
//
// Read waits for at least one byte and returns what is there. An error for
// which errors.Is(err, os.ErrDeadlineExceeded) holds leaves the port usable;
// every other one, io.EOF included, means that the port is lost.
type Port interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// Opener is the address of a link.
type Opener interface {
	// Open opens the port. It gives up when ctx ends; the caller closes the port.
	Open(ctx context.Context) (Port, error)
	// String names the link for log lines and status, like "/dev/ttyUSB0 at 9600 8N1".
	String() string
}

// remote is implemented by openers whose retries should be rarer than those
// of a port of this machine.
type remote interface{ remote() }

// NowReader is implemented by ports that can read without waiting, which makes
// exchanges faster. A port that wraps another should be one, too, by ReadNow.
type NowReader interface {
	// ReadNow returns 0 and no error when nothing has arrived. It disregards
	// the read deadline, and may move it. Only the goroutine that could call
	// Read may call it.
	ReadNow([]byte) (int, error)
}

// breaker is implemented by ports that can send a break condition.
type breaker interface {
	Break(context.Context, time.Duration) error
}

// Errors that callers act on. All are wrapped with what happened.
var (
	// ErrNotOpen says that the line is down, and nothing was sent.
	ErrNotOpen = errors.New("line is down")
	// ErrLost says that the port was lost during the exchange. What was
	// written before may or may not have reached the instrument.
	ErrLost = errors.New("line was lost")
	// ErrClosed says that the line's Serve has ended, or is about to.
	ErrClosed = errors.New("line is closed")
	// errForbidden ends a session when the guard refuses.
	errForbidden = errors.New("not ours to use")
	// errUnused ends a session that nobody needs.
	errUnused = errors.New("not in use")
	// ErrTimeout says that a deadline passed; the line is still up.
	ErrTimeout = os.ErrDeadlineExceeded
	// ErrNoisy says that the line did not become silent in Conn.Drain.
	ErrNoisy = errors.New("line does not become silent")
	// ErrEnded says that a Conn was used after its exchange.
	ErrEnded = errors.New("exchange has ended")
)

// pollWait is how long ReadNow waits on a port that cannot read without waiting.
const pollWait = 100 * time.Microsecond

// ReadNow reads what has arrived on p: 0 and no error if that is nothing. On a
// port that is no NowReader it waits for a moment.
func ReadNow(p Port, b []byte) (int, error) {
	if r, ok := p.(NowReader); ok {
		return r.ReadNow(b)
	}
	return readBriefly(p, b)
}

// readBriefly is ReadNow where only deadlines can be had.
func readBriefly(p deadlineReader, b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(pollWait)); err != nil {
		return 0, err
	}
	n, err := p.Read(b)
	if n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		return n, nil
	}
	return 0, err
}

type deadlineReader interface {
	io.Reader
	SetReadDeadline(time.Time) error
}
