package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A Greeting is what an instrument says once its link is open, such as a banner
// or a prompt: before that it does not listen.
type Greeting struct {
	// Find looks for it in what came, and returns where it ends.
	Find func(heard []byte) (end int, ok bool)
	// Limit is how long it may take. Then the port is closed and opened again.
	Limit time.Duration
}

// greetingWindow is how much of what came last is searched: instruments that
// start say a lot, and the end of it is what matters.
const greetingWindow = 1024

// AwaitGreeting holds a line back until the instrument has said something: the
// line counts as open only then. What came up to there is dropped.
func AwaitGreeting(g Greeting) Option {
	return func(l *Line) { l.greets = &g }
}

// greeted waits for the greeting on a port that was just opened.
func (l *Line) greeted(ctx context.Context, port Port) error {
	g := l.greets
	if g == nil {
		return nil
	}
	if err := port.SetReadDeadline(time.Now().Add(g.Limit)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { port.SetReadDeadline(past) })
	defer stop()
	var heard []byte
	buf := make([]byte, readSize)
	for {
		n, err := port.Read(buf)
		at := time.Now()
		if n > 0 {
			l.received(buf[:n], at)
			heard = append(heard, buf[:n]...)
			if end, ok := g.Find(heard); ok {
				l.count.discarded.Add(uint64(end))
				if end < len(heard) {
					l.unsolicited(heard[end:], at)
				}
				return nil
			}
			old := max(0, len(heard)-greetingWindow)
			l.count.discarded.Add(uint64(old))
			heard = append(heard[:0], heard[old:]...)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("opened, but what it has to say first did not come within %s: %s", g.Limit, tail(heard))
		case n == 0 && err == nil:
			return io.ErrNoProgress
		case err != nil:
			return err
		}
	}
}

// tail shows the end of what came.
func tail(heard []byte) string {
	const shown = 40
	switch n := len(heard); {
	case n == 0:
		return "nothing came"
	case n > shown:
		return fmt.Sprintf("the last that came is %q", heard[n-shown:])
	}
	return fmt.Sprintf("only %q came", heard)
}
