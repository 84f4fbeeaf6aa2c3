// Package app starts and stops the parts of a gateway in order. It knows no
// concrete driver, frontend or bus: a part is whatever can listen and serve.
//
// The order is written once, in the slice of groups: groups start first to
// last and stop last to first, each only after the one behind it has ended.
// What must still work while something else stops (the bus while drivers say
// good-bye) therefore stands before it.
package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// A Part is built in three steps: its constructor opens nothing, Listen binds,
// Serve works.
type Part interface {
	// Listen binds what the part needs, so that a taken port fails the start
	// of everything. Its error names the thing and the way out.
	Listen(ctx context.Context) error
	// Serve blocks until ctx ends, then drains within a limit of its own,
	// closes what Listen opened and returns nil. An error or a return before
	// ctx ends stops the whole program. Serve is called exactly once if
	// Listen succeeded, with a context that has ended if the start failed.
	Serve(ctx context.Context) error
}

// A Named part has the name that log lines and errors use.
type Named struct {
	Name string
	Part
}

// A Group is what starts and stops together.
type Group struct {
	Parts []Named
	// Drain, if set, is called before the group's context ends, with a
	// context that limits it: the group still serves meanwhile.
	Drain func(ctx context.Context)
}

// StopLimit is how long stopping everything may take. A part that has not
// ended by then is named in the error of Run and left behind.
const StopLimit = 9 * time.Second

// errStopped is the cause of the contexts of parts when they are to stop.
var errStopped = errors.New("stopping")

// A StartError says which part could not start, and why.
type StartError struct {
	Part string
	Err  error
}

// Error returns the part and the reason.
func (e *StartError) Error() string { return e.Part + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

type ended struct {
	name string
	err  error
}

type group struct {
	Group
	stop    context.CancelCauseFunc
	serving sync.WaitGroup
}

// Run starts all groups, waits until ctx ends or a part ends by itself, and
// stops all groups. It returns nil if ctx ended and every part stopped
// cleanly, and a StartError if a part could not listen. ready is called once
// everything listens and serves.
func Run(ctx context.Context, log zerolog.Logger, groups []Group, ready func()) error {
	running, err := listen(ctx, groups)
	failed := make(chan ended, count(groups))
	if err == nil {
		for _, g := range running {
			g.serve(failed)
		}
		ready()
		err = wait(ctx, failed)
	} else {
		for _, g := range running {
			g.serve(failed)
			g.stop(errStopped)
		}
	}
	return errors.Join(err, stop(log, running, failed))
}

// listen binds group by group. After an error it returns the groups, the last
// of them shortened, whose parts have bound and need a Serve to let go again.
func listen(ctx context.Context, groups []Group) ([]*group, error) {
	var running []*group
	for _, next := range groups {
		g := &group{Group: Group{Drain: next.Drain}}
		running = append(running, g)
		for _, part := range next.Parts {
			if err := part.Listen(ctx); err != nil {
				g.Drain = nil
				return running, &StartError{part.Name, err}
			}
			g.Parts = append(g.Parts, part)
		}
	}
	return running, nil
}

func count(groups []Group) int {
	n := 0
	for _, g := range groups {
		n += len(g.Parts)
	}
	return n
}

// serve starts the parts of a group. Their contexts do not descend from Run's:
// that one ends all groups at once, and the order would be lost.
func (g *group) serve(failed chan<- ended) {
	ctx, cancel := context.WithCancelCause(context.Background())
	g.stop = cancel
	for _, part := range g.Parts {
		g.serving.Go(func() {
			err := part.Serve(ctx)
			if err == nil && ctx.Err() == nil {
				err = errors.New("ended without a reason")
			}
			if err != nil {
				failed <- ended{part.Name, err}
			}
		})
	}
}

func wait(ctx context.Context, failed <-chan ended) error {
	select {
	case <-ctx.Done():
		return nil
	case e := <-failed:
		return fmt.Errorf("%s: %w", e.name, e.err)
	}
}

// stop ends the groups last to first, all within StopLimit.
func stop(log zerolog.Logger, running []*group, failed <-chan ended) error {
	limit, cancel := context.WithTimeout(context.Background(), StopLimit)
	defer cancel()
	var errs []error
	for i := len(running) - 1; i >= 0; i-- {
		g := running[i]
		if g.stop == nil {
			continue
		}
		if g.Drain != nil {
			g.Drain(limit)
		}
		g.stop(errStopped)
		done := make(chan struct{})
		go func() {
			g.serving.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-limit.Done():
			errs = append(errs, fmt.Errorf("%s did not stop within %v", names(g), StopLimit))
		}
	}
	for {
		select {
		case e := <-failed:
			log.Error().Str("part", e.name).Err(e.err).Msg("did not stop cleanly")
			errs = append(errs, fmt.Errorf("stopping %s: %w", e.name, e.err))
		default:
			return errors.Join(errs...)
		}
	}
}

func names(g *group) string {
	text := ""
	for i, part := range g.Parts {
		if i > 0 {
			text += ", "
		}
		text += part.Name
	}
	return text
}
