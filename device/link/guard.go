package link

import (
	"context"
	"fmt"
	"time"
)

// A Guard says until when bytes may be sent, or why none may.
type Guard func() (until time.Time, err error)

// Guarded asks g before the port is opened and before everything that is sent.
// If it refuses, the port is lost: it is closed at once, and what was not sent
// by then never is.
func Guarded(g Guard) Option {
	return func(l *Line) { l.guard = g }
}

func (l *Line) openAllowed(ctx context.Context) (Port, error) {
	if _, err := l.allowed(time.Time{}); err != nil {
		return nil, err
	}
	return l.opener.Open(ctx)
}

// allowed returns until when something may be sent: until the limit, or shorter
// if the guard says so.
func (l *Line) allowed(limit time.Time) (until time.Time, err error) {
	if l.guard == nil {
		return limit, nil
	}
	until, err = l.guard()
	if err != nil {
		return until, fmt.Errorf("%w: %w", errForbidden, err)
	}
	if until.Before(limit) {
		return until, nil
	}
	return limit, nil
}

// discardIfForbidden makes Close drop what was written and has not left yet,
// where a port can do that.
func (l *Line) discardIfForbidden(p Port) {
	if _, err := l.allowed(time.Time{}); err == nil {
		return
	}
	if over, ok := p.(*rfc2217Port); ok {
		p = over.Port
	}
	if tcp, ok := p.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // it fails on a port that is gone, which sends nothing either
	}
}
