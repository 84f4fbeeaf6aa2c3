package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	firstRetry    = 100 * time.Millisecond
	maxRetry      = time.Second     // for ports of this machine
	maxRetryHosts = 5 * time.Second // for hosts

	// idleAfter is how long a line rests before its reader takes it over.
	// Exchanges that follow each other faster need no hand-over; bytes that
	// arrive meanwhile are noticed that much later.
	idleAfter = 2 * time.Millisecond

	// writeLimit bounds a write of an exchange that has no earlier deadline,
	// as when the other side holds us up by flow control.
	writeLimit = 5 * time.Second

	readSize = 4096
)

// Line owns one link. It is safe for use by several goroutines.
type Line struct {
	name    string
	opener  Opener
	retry   backoff
	linger  time.Duration // how long the port stays open without users; 0 is for ever
	greets  *Greeting     // what is waited for after opening, or nil
	guard   Guard         // who says whether the port may be used, or nil
	used    chan struct{} // tells Serve that there is a user; holds one token
	unused  *time.Timer   // closes the port; guarded by notify
	traces  atomic.Pointer[[]*Trace]
	users   atomic.Pointer[[]*User]
	count   counters
	idle    *time.Timer // fires when the line may have rested for long enough
	scratch []byte      // belongs to the holder of the turn

	notify sync.Mutex // held while users are told, and while they or traces change; taken before mu

	mu      sync.Mutex
	served  bool // Serve was called
	closed  bool // Serve has ended, or is about to
	state   State
	sess    *session  // nil while down
	giveUp  func()    // ends the opening under way because nobody needs it; nil otherwise
	cause   error     // why the last session ended
	busy    bool      // somebody has the turn
	reading bool      // the reader has it, and has not been asked to give it up
	rested  time.Time // when the last turn ended
	armed   bool      // idle is running
	waiting []*waiter
	turn    uint64 // turns given so far
}

// session is one opened port, from open to loss.
type session struct {
	port Port
	lost chan struct{} // closed at loss
	err  error         // why; set before lost is closed
}

// Option changes how a Line works.
type Option func(*Line)

// WithRetry sets the delays between attempts to open: the first, doubled up to
// the longest.
func WithRetry(first, longest time.Duration) Option {
	return func(l *Line) { l.retry = backoff{first: first, max: longest} }
}

// OnlyWhileUsed opens the port when there is a user, and closes it when there
// has been none for the time of linger: another process may want it. The time
// should be longer than users take to come back after a fault, since opening
// some ports resets the instrument.
func OnlyWhileUsed(linger time.Duration) Option {
	return func(l *Line) { l.linger = linger }
}

// NewLine makes the line of a link. The name is for messages.
func NewLine(name string, o Opener, opts ...Option) *Line {
	l := &Line{
		name:    name,
		opener:  o,
		retry:   backoff{first: firstRetry, max: maxRetry},
		used:    make(chan struct{}, 1),
		idle:    time.NewTimer(time.Hour),
		scratch: make([]byte, readSize),
		state:   State{Since: time.Now(), Words: "not opened yet"},
	}
	l.idle.Stop()
	if _, ok := o.(remote); ok {
		l.retry.max = maxRetryHosts
	}
	l.users.Store(&[]*User{})
	l.traces.Store(&[]*Trace{})
	for _, opt := range opts {
		opt(l)
	}
	return l
}

// Name returns the line's name.
func (l *Line) Name() string { return l.name }

// String describes the link.
func (l *Line) String() string { return l.opener.String() }

// Serve opens the port, keeps it open, and reads it while no exchange does,
// until ctx ends. It then closes the port, so that exchanges fail, and returns
// nil; it does not wait for the functions that run in them. It can be called once.
func (l *Line) Serve(ctx context.Context) error {
	l.mu.Lock()
	again := l.served
	l.served = true
	l.mu.Unlock()
	if again {
		return fmt.Errorf("%s: Serve was called twice", l.name)
	}
	// Exchanges end at once when ctx does, also while a port is being opened.
	shut := make(chan struct{})
	context.AfterFunc(ctx, func() { defer close(shut); l.shut() })
	for l.awaitUse(ctx) {
		start := time.Now()
		sess, err := l.open(ctx)
		switch {
		case err == nil:
			l.run(sess)
			// A port that is lost as soon as it is opened is retried like one that cannot be opened.
			if time.Since(start) > l.retry.max {
				l.retry.reset()
			}
		case errors.Is(err, errUnused):
			l.notInUse()
		case ctx.Err() == nil:
			l.setState(func(s *State) { s.Words = err.Error(); s.Attempts++ })
		}
		l.retry.wait(ctx)
	}
	<-shut
	l.setState(func(s *State) {
		if s.Connected {
			s.Connected, s.Since = false, time.Now()
		}
		s.Words = "shut down"
	})
	return nil
}

// awaitUse waits until the port is wanted, or returns false when ctx ends.
func (l *Line) awaitUse(ctx context.Context) bool {
	for ctx.Err() == nil {
		if l.linger == 0 || len(*l.users.Load()) > 0 {
			return true
		}
		select {
		case <-ctx.Done():
		case <-l.used:
		}
	}
	return false
}

// useChanged is called with notify held when users come or go.
func (l *Line) useChanged() {
	if l.linger == 0 {
		return
	}
	if l.unused != nil {
		l.unused.Stop()
		l.unused = nil
	}
	if len(*l.users.Load()) > 0 {
		select {
		case l.used <- struct{}{}:
		default:
		}
		return
	}
	if _, err := l.allowed(time.Time{}); err != nil {
		// Whoever is allowed to use the port may be waiting for it.
		l.unused = time.AfterFunc(0, l.closeUnused)
		return
	}
	l.unused = time.AfterFunc(l.linger, l.closeUnused)
}

// closeUnused lets go of the port, unless a user came at the last moment.
func (l *Line) closeUnused() {
	l.notify.Lock()
	wanted := len(*l.users.Load()) > 0
	l.notify.Unlock()
	l.mu.Lock()
	s, giveUp := l.sess, l.giveUp
	l.mu.Unlock()
	switch {
	case wanted:
	case s != nil:
		l.fail(s, errUnused)
	case giveUp != nil:
		giveUp()
	}
}

// notInUse says that the port was closed because nobody needs it.
func (l *Line) notInUse() {
	l.retry.reset()
	l.setState(func(s *State) {
		if s.Connected {
			s.Connected, s.Since = false, time.Now()
		}
		s.Words = errUnused.Error()
	})
}

// open opens the port, and waits for what the instrument has to say first. It
// gives up when ctx ends, and when nobody needs the port any more.
func (l *Line) open(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	l.giveUp = func() { cancel(errUnused) }
	l.mu.Unlock()
	l.notify.Lock()
	l.useChanged() // The last user may have gone, and its time run out, just before this.
	l.notify.Unlock()
	port, err := l.openAllowed(ctx)
	if err == nil {
		if err = l.greeted(ctx, port); err != nil {
			port.Close()
		}
	}
	l.mu.Lock()
	l.giveUp = nil
	if cause := context.Cause(ctx); err != nil || cause != nil || l.closed {
		l.mu.Unlock()
		if err == nil {
			port.Close()
		}
		return nil, cmp.Or(cause, err, ErrClosed)
	}
	defer l.mu.Unlock()
	l.sess = &session{port: port, lost: make(chan struct{})}
	l.state.Attempts = 0
	return l.sess, nil
}

// run serves an opened port until it is lost or the line is shut.
func (l *Line) run(s *session) {
	l.setState(func(st *State) {
		st.Connected, st.Since, st.Words = true, time.Now(), l.opener.String()
	})
	l.read(s)
	// The loser closed the port in fail; here its effects are waited for.
	<-s.lost
	switch {
	case errors.Is(s.err, ErrClosed):
	case errors.Is(s.err, errUnused):
		l.notInUse()
	default:
		l.setState(func(st *State) {
			st.Connected, st.Since, st.Words = false, time.Now(), s.err.Error()
			st.Losses++
		})
	}
}

// read is the reader of a line at rest: it takes unsolicited bytes and notices
// loss whenever no exchange has the turn.
func (l *Line) read(s *session) {
	for {
		if l.takeOver(s) {
			l.readUntilAsked(s)
			l.release()
		}
		select {
		case <-s.lost:
			return
		case <-l.idle.C:
		}
	}
}

// takeOver gives the turn to the reader if the line has rested for long enough.
// The timer is left alone by exchanges that follow each other, which is cheaper
// than moving it each time; so it is judged here.
func (l *Line) takeOver(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if l.sess != s || l.busy {
		return false
	}
	if rest := time.Until(l.rested.Add(idleAfter)); rest > 0 {
		l.armed = true
		l.idle.Reset(rest)
		return false
	}
	l.busy, l.reading = true, true
	// Under the lock, so that an interruption always comes after it. A port
	// that refuses tells why when it is read.
	s.port.SetReadDeadline(time.Time{})
	return true
}

func (l *Line) readUntilAsked(s *session) {
	for {
		n, err := s.port.Read(l.scratch)
		at := time.Now()
		if n > 0 {
			l.received(l.scratch[:n], at)
			l.unsolicited(l.scratch[:n], at)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if n == 0 && err == nil {
			err = io.ErrNoProgress // A port that returns nothing at once would keep us spinning.
		}
		if err != nil {
			l.fail(s, err)
			return
		}
	}
}

// flush hands what arrived before an exchange to those who listen, so that
// nothing old is taken for its reply. A device that never stops talking cannot
// hold it up for ever.
func (l *Line) flush(s *session) error {
	for range 16 {
		n, err := ReadNow(s.port, l.scratch)
		if err != nil {
			l.fail(s, err)
			return l.lostError(s)
		}
		if n == 0 {
			return nil
		}
		at := time.Now()
		l.received(l.scratch[:n], at)
		l.unsolicited(l.scratch[:n], at)
		if n < len(l.scratch) {
			return nil
		}
	}
	return nil
}

// fail declares the session lost, once. It closes the port, so that whoever is
// blocked on it returns, and refuses those who wait for their turn.
func (l *Line) fail(s *session, err error) {
	l.mu.Lock()
	if l.sess != s {
		l.mu.Unlock()
		return
	}
	s.err, l.cause = err, err
	l.sess = nil
	l.mu.Unlock()
	l.discardIfForbidden(s.port)
	// The reason is known before anybody sees the loss.
	l.refuse(fmt.Errorf("%s: %w: %w", l.name, ErrNotOpen, err))
	s.port.Close()
	close(s.lost)
}

// shut refuses exchanges from now on, and ends the session.
func (l *Line) shut() {
	l.mu.Lock()
	l.closed = true
	s := l.sess
	l.mu.Unlock()
	if s != nil {
		l.fail(s, ErrClosed)
	}
	l.refuse(fmt.Errorf("%s: %w", l.name, ErrClosed))
}

// lostError is what an exchange gets when its session is gone.
func (l *Line) lostError(s *session) error {
	<-s.lost
	if errors.Is(s.err, ErrClosed) {
		return fmt.Errorf("%s: %w", l.name, ErrClosed)
	}
	return fmt.Errorf("%s: %w: %w", l.name, ErrLost, s.err)
}

// backoff is a growing delay.
type backoff struct {
	first, max, last time.Duration
}

func (b *backoff) reset() { b.last = 0 }

// wait waits for the next delay, or for the end of ctx.
func (b *backoff) wait(ctx context.Context) {
	b.last = min(max(2*b.last, b.first), b.max)
	t := time.NewTimer(b.last)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
