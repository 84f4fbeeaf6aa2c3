package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// An Instrument answers lines. The terminators are not part of them. It is
// called from one goroutine at a time.
type Instrument interface {
	Handle(now time.Time, line string) (reply string, ok bool)
}

// maxLine is the longest request that a Server waits for the end of; a longer
// one is dropped.
const maxLine = 4096

// ErrUnplugged is what Serve returns after an Unplug fault.
var ErrUnplugged = errors.New("simulated instrument unplugged")

// A Server lets an instrument answer on lines, and makes it misbehave on
// request. Its fields are not changed once it serves.
type Server struct {
	Instrument Instrument
	Terminator string           // of requests and replies, such as "\r\n"; without one, what is read at once is a request
	ReplyEnd   *string          // of replies, where they end in something else
	Now        func() time.Time // the instrument's clock
	Faults     *Faults          // nil: it always behaves

	mu sync.Mutex // the instrument takes one request at a time
}

// Serve answers what comes in on conn until it ends, ctx ends or a fault
// unplugs it. It closes conn, and returns nil if ctx or the other side ended it.
func (s *Server) Serve(ctx context.Context, conn io.ReadWriteCloser) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	var line lineBuffer
	chunk := make([]byte, 512)
	held := ""
	for {
		n, err := conn.Read(chunk)
		line.add(chunk[:n])
		for {
			request, ok := s.next(&line)
			if !ok {
				break
			}
			if held, err = s.answer(ctx, conn, request, held); err != nil {
				return ended(ctx, err)
			}
		}
		if err != nil {
			return ended(ctx, err)
		}
	}
}

// A cutter is an instrument that finds the end of a request itself.
type cutter interface {
	// cut returns the length of the request that buf begins with, and 0 while
	// more is to come. What cannot begin a request it tells to drop.
	cut(buf []byte) (n int, drop bool)
}

// next returns the next request that is there.
func (s *Server) next(line *lineBuffer) (request string, ok bool) {
	if c, ok := s.Instrument.(cutter); ok {
		n, drop := c.cut(line.buf)
		if drop {
			line.buf = line.buf[:0]
		}
		return line.take(n), n > 0
	}
	if s.Terminator == "" {
		n := len(line.buf)
		return line.take(n), n > 0
	}
	return line.next(s.Terminator)
}

func (s *Server) replyEnd() string {
	if s.ReplyEnd != nil {
		return *s.ReplyEnd
	}
	return s.Terminator
}

// ended hides errors that only say that somebody hung up.
func ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil, errors.Is(err, io.EOF):
		return nil //nolint:nilerr // Hanging up is how serving ends.
	case errors.Is(err, ErrUnplugged):
		return err
	}
	return fmt.Errorf("simulated instrument: %w", err)
}

// answer sends what the request is answered with, behind the bytes that were
// held back, and returns the bytes that are to be held back now.
func (s *Server) answer(ctx context.Context, conn io.Writer, request, held string) (hold string, err error) {
	s.mu.Lock()
	reply, ok := s.Instrument.Handle(s.Now(), request)
	s.mu.Unlock()
	out, end := "", s.replyEnd()
	if ok {
		out = reply + end
	}
	fault, faulty := s.Faults.take(request)
	if faulty {
		switch fault.Kind {
		case Silent:
			out = ""
		case Half:
			out = reply[:len(reply)/2]
		case Garbled:
			out = garble(reply) + out[len(reply):]
		case Extra:
			out = fault.Text + end + out
		case Echo:
			out = request + end + out
		case Held:
			return held + out, nil
		case Late:
			timer := time.NewTimer(fault.Delay)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		case Unplug:
			return "", ErrUnplugged
		}
	}
	if out = held + out; out == "" {
		return "", nil
	}
	if _, err := io.WriteString(conn, out); err != nil {
		return "", fmt.Errorf("send reply: %w", err)
	}
	return "", nil
}

// garble sets the top bit of every second byte, as noise and a wrong parity setting do.
func garble(s string) string {
	b := []byte(s)
	for i := 0; i < len(b); i += 2 {
		b[i] |= 0x80
	}
	return string(b)
}

// A lineBuffer cuts what was read into lines.
type lineBuffer struct{ buf []byte }

func (l *lineBuffer) add(chunk []byte) { l.buf = append(l.buf, chunk...) }

func (l *lineBuffer) next(terminator string) (line string, ok bool) {
	i := bytes.Index(l.buf, []byte(terminator))
	if i < 0 {
		if len(l.buf) > maxLine {
			l.buf = l.buf[:0]
		}
		return "", false
	}
	line = string(l.buf[:i])
	l.take(i + len(terminator))
	return line, true
}

// take removes the first n bytes and returns them.
func (l *lineBuffer) take(n int) string {
	taken := string(l.buf[:n])
	l.buf = append(l.buf[:0], l.buf[n:]...)
	return taken
}
