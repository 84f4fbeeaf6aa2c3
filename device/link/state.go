package link

import (
	"fmt"
	"slices"
	"time"
)

// State is the condition of a line.
type State struct {
	Connected bool
	Since     time.Time // of the last change of Connected
	Words     string    // why it is down, or what it is connected to
	Attempts  int       // failed attempts to open since it went down
	Losses    int       // times it was lost so far
}

// User is one of those who share a line, as a rule one device.
type User struct {
	name    string
	line    *Line
	onState func(State)
	onBytes func(b []byte, at time.Time)
	served  uint64 // turn that it got last; guarded by line.mu
}

// UserOptions say what a user wants to be told. Both functions are called in
// order and never at the same time as themselves. They must not block, and must
// not call Do, NewUser or Close: hand over, and return.
type UserOptions struct {
	// OnState is told the present state in NewUser, and then each change of
	// Connected and each attempt to open that failed.
	OnState func(State)
	// OnBytes gets the bytes that arrive between exchanges, with the arrival
	// time of the last one. It must copy what it keeps.
	OnBytes func(b []byte, at time.Time)
}

// NewUser adds a user to the line. The name is for messages.
func (l *Line) NewUser(name string, o UserOptions) *User {
	u := &User{name: name, line: l, onState: o.OnState, onBytes: o.OnBytes}
	l.notify.Lock()
	defer l.notify.Unlock()
	users := append(slices.Clip(*l.users.Load()), u)
	l.users.Store(&users)
	l.useChanged()
	if u.onState != nil {
		u.onState(l.State())
	}
	return u
}

// Close removes the user. A call of its functions may still be under way when
// Close returns, if another goroutine makes it. Exchanges of the user that wait
// or run are not ended.
func (u *User) Close() {
	l := u.line
	l.notify.Lock()
	defer l.notify.Unlock()
	users := slices.DeleteFunc(slices.Clone(*l.users.Load()), func(x *User) bool { return x == u })
	l.users.Store(&users)
	l.useChanged()
}

// State returns the present state.
func (l *Line) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// setState changes the state and tells the users, in the order of the changes.
func (l *Line) setState(change func(*State)) {
	l.notify.Lock()
	defer l.notify.Unlock()
	l.mu.Lock()
	old := l.state
	change(&l.state)
	s := l.state
	l.mu.Unlock()
	if old.Connected == s.Connected && old.Words == s.Words && old.Attempts == s.Attempts {
		return
	}
	for _, u := range *l.users.Load() {
		if u.onState != nil {
			u.onState(s)
		}
	}
}

// unsolicited hands bytes that belong to no exchange to those who listen. Only
// the holder of the turn may call it, so that they stay in order.
func (l *Line) unsolicited(b []byte, at time.Time) {
	heard := false
	for _, u := range *l.users.Load() {
		if u.onBytes != nil {
			u.onBytes(b, at)
			heard = true
		}
	}
	if !heard {
		l.count.discarded.Add(uint64(len(b)))
	}
}

// notOpen is the error of an exchange that finds the line down. l.mu is held.
func (l *Line) notOpen() error {
	if l.closed {
		return fmt.Errorf("%s: %w", l.name, ErrClosed)
	}
	if l.state.Connected { // Lost this moment, and not yet in the state.
		return fmt.Errorf("%s: %w: %w", l.name, ErrNotOpen, l.cause)
	}
	return fmt.Errorf("%s: %w since %s: %s", l.name, ErrNotOpen,
		l.state.Since.UTC().Format(time.RFC3339), l.state.Words)
}
