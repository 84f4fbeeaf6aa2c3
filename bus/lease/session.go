package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A record is what the bucket holds.
type record struct {
	Holder string `json:"holder"`
	// Term rises with each holder, by their clocks where these are right.
	Term uint64 `json:"term"`
	// Released is set by a holder that has stopped talking.
	Released bool `json:"released,omitempty"`
}

// Serve takes the lease when it is free and keeps it, until ctx ends; then it
// gives it back. What talks to instruments must have stopped by then.
func (l *Lease) Serve(ctx context.Context) error {
	defer l.lost(errStopping)
	var since time.Time // see session.unsure
	for {
		link, err := l.conn().Connected(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("the lease %s: %w", l.opts.Name, err)
		}
		s := &session{Lease: l, unsure: since}
		err = s.run(ctx, link)
		since = s.unsure
		switch {
		case ctx.Err() != nil:
			return nil
		case link.Err() != nil:
			continue // that the bus is lost is told elsewhere
		}
		l.fault(err)
		select {
		case <-time.After(l.patience() / 2):
		case <-ctx.Done():
			return nil
		}
	}
}

// A session is what happens over one connection. One goroutine runs it.
type session struct {
	*Lease
	kv    jetstream.KeyValue
	timer *time.Timer // when there is something to do

	known    bool      // the watch has told what there is
	revision uint64    // of the record; 0 if there is none
	record   record    // the newest
	seen     time.Time // when it was
	// unsure is until when a record that we made where there was none does not
	// count, since an earlier holder may not have noticed the loss.
	unsure time.Time
}

// run takes part until ctx or the connection ends, or until something fails.
func (s *session) run(ctx, link context.Context) error {
	link, cancel := context.WithCancel(link)
	defer cancel()
	var err error
	if s.kv, err = s.open(link); err != nil {
		return fmt.Errorf("opening the bucket %s: %w", bucket, err)
	}
	watch, err := s.kv.Watch(link, s.key)
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	defer watch.Stop() //nolint:errcheck // It fails if the connection has ended, which ends it, too.
	// Without a word by then, the watch is broken.
	s.timer = time.NewTimer(s.opts.Length)
	defer s.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.release(link)
		case <-link.Done():
			return context.Cause(link)
		case entry, ok := <-watch.Updates():
			if !ok {
				return errors.New("the watch has ended")
			}
			if !s.saw(entry) {
				continue
			}
		case <-s.timer.C:
			if !s.known {
				return errors.New("the watch is silent")
			}
		}
		next, err := s.act(link)
		if err != nil {
			return err
		}
		s.fault(nil)
		s.timer.Reset(next)
	}
}

// saw takes what the watch tells: nil behind what there was at its beginning.
// It reports whether there may be something to do.
func (s *session) saw(entry jetstream.KeyValueEntry) bool {
	if entry == nil {
		s.known = true
		return true
	}
	if entry.Revision() <= s.revision {
		return false // what we have written ourselves
	}
	s.revision, s.seen = entry.Revision(), time.Now()
	var r record
	// What somebody deleted or spoilt is as a record of a holder who is not known.
	if entry.Operation() != jetstream.KeyValuePut || json.Unmarshal(entry.Value(), &r) != nil {
		r = record{Term: s.record.Term}
	}
	s.record = r
	if r.Holder != s.identity && r.Holder != "" {
		s.lost(fmt.Errorf("%s has taken the lease", r.Holder))
	}
	if r.Released {
		s.heldBy("")
	} else {
		s.heldBy(r.Holder)
	}
	return s.known
}

// act does what is to be done now and returns when to look again.
func (s *session) act(ctx context.Context) (next time.Duration, err error) {
	free := time.Until(s.seen.Add(s.opts.Length))
	switch {
	case s.revision == 0:
		if !s.holding() {
			s.unsure = time.Now().Add(s.patience() + s.opts.Length) // from when the write has ended
		}
		return s.take(ctx)
	case s.record.Holder == s.identity, s.record.Released, s.holding(), free <= 0:
		return s.take(ctx)
	default:
		return free, nil
	}
}

// take writes a record of our own over the one that is known, and returns when
// to do so again.
func (s *session) take(ctx context.Context) (next time.Duration, err error) {
	r := record{Holder: s.identity, Term: s.record.Term}
	if !s.holding() {
		r.Term = max(uint64(max(time.Now().UnixMicro(), 1)), s.record.Term+1)
	}
	sent := time.Now()
	err = s.write(ctx, r)
	switch {
	case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return s.patience(), nil // somebody was faster, or an earlier write of ours; the watch will tell
	case err != nil:
		return 0, fmt.Errorf("writing: %w", err)
	}
	if wait := time.Until(s.unsure); wait > 0 && !s.holding() {
		return min(wait, s.patience()), nil
	}
	s.extend(sent, r.Term)
	return s.patience(), nil
}

func (s *session) write(ctx context.Context, r record) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	revision, err := s.kv.Update(ctx, s.key, value, s.revision)
	if err != nil {
		return err
	}
	s.revision, s.record, s.seen = revision, r, time.Now()
	return nil
}

// release says that nobody talks any more, unless somebody else may.
func (s *session) release(ctx context.Context) error {
	if !s.holding() {
		return nil
	}
	s.lost(errStopping)
	r := s.record
	r.Released = true
	return s.write(ctx, r)
}
