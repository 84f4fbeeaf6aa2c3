package device

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/polygate/gateway"
)

// newInstance returns a name that no other start of a driver has.
func newInstance() string { return rand.Text() }

// own claims the device on the bus. While the bus is away it tries again; it
// returns no release if ctx ended before, or with an error that will not pass.
func (s *Supervisor) own(ctx context.Context, owner gateway.Owner) (release func(), err error) {
	for pause := firstBackoff; ; pause = min(2*pause, maxBackoff) {
		release, err = s.bus.Own(owner, handler{s})
		if err == nil {
			return release, nil
		}
		if gateway.KindOf(err) != gateway.KindBusDown {
			return nil, err
		}
		if !sleep(ctx, pause) {
			return nil, nil
		}
	}
}

// sleep waits for d, or returns false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// A handler is what the bus calls. It keeps these methods out of the
// supervisor's own.
type handler struct{ s *Supervisor }

var _ Handler = handler{}

// HandlePut implements Handler.
func (h handler) HandlePut(put *gateway.Put, answer func(*gateway.PutVerdict)) {
	h.s.acceptPut(put, answer)
}

// HandleDescribe implements Handler. Hubs that ask at the same time get one
// announcement.
func (h handler) HandleDescribe() {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wantAnnounceLocked()
}

// HandleBus implements Handler. Nothing is kept while the bus is away; when it
// is back everything is announced anew.
func (h handler) HandleBus(state gateway.BusState) {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	// The first call tells what Own has found out already. A new Since is an
	// outage that was over before we heard of it.
	returned := s.busDown || s.missed || !s.busSince.IsZero() && !state.Since.Equal(s.busSince)
	s.busDown, s.busSince = !state.Connected, state.Since
	if state.Connected && returned {
		s.missed = false
		s.wantAnnounceLocked()
	}
}

// HandleRival implements Handler.
func (h handler) HandleRival(rival gateway.Owner, leaving bool) {
	s := h.s
	s.mu.Lock()
	if leaving {
		if s.phase == phaseStoodDown && rival == s.rival && s.opts.Reclaim > 0 {
			s.deadlines.reclaim = time.Now() // it has let go of the device
			s.armLocked(s.deadlines.reclaim)
		}
		s.mu.Unlock()
		return
	}
	if rival.Device != s.name || rival.Instance == s.owner.Instance || s.phase == phaseIdle {
		s.mu.Unlock()
		return
	}
	s.lastTerm = max(s.lastTerm, rival.Term)
	if !beats(rival, s.owner) {
		// It will stand down when it hears of us.
		s.deadlines.speak = true
		signal(s.poke)
		s.mu.Unlock()
		return
	}
	if s.phase == phaseStoodDown {
		s.rivalHeardLocked()
		s.mu.Unlock()
		return
	}
	s.phase, s.rival = phaseStoodDown, rival
	s.cancelRun()
	s.cancelPuts()
	s.rivalHeardLocked()
	conflict := gateway.Errorf(gateway.KindConflict, "another owner of %s has taken over: %s", s.name, rival)
	answers := s.endAllLocked(conflict)
	s.mu.Unlock()

	s.opts.Log.Warn().Str("rival", rival.String()).Msg("standing down: another owner has taken over")
	answers.send()
}

// beats reports whether what a says counts against b: by its term, and by its
// instance if two were started in the same microsecond.
func beats(a, b gateway.Owner) bool {
	if a.Term != b.Term {
		return a.Term > b.Term
	}
	return a.Instance > b.Instance
}

// rivalHeardLocked moves the time at which the device may be claimed again.
func (s *Supervisor) rivalHeardLocked() {
	if s.opts.Reclaim > 0 {
		s.deadlines.reclaim = time.Now().Add(s.opts.Reclaim)
		s.armLocked(s.deadlines.reclaim)
	}
}

// waitStoodDown waits, after a rival has taken over, until ctx ends or the
// device may be claimed again: then it returns true.
func (s *Supervisor) waitStoodDown(ctx context.Context) bool {
	for ctx.Err() == nil {
		s.mu.Lock()
		reclaimed := s.deadlines.reclaimed
		s.mu.Unlock()
		if reclaimed {
			return true
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		}
	}
	return false
}

// announceFirst says what the device has, before it is connected.
func (s *Supervisor) announceFirst() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announceLocked()
}

func (s *Supervisor) wantAnnounceLocked() {
	if s.deadlines.announce.IsZero() {
		s.deadlines.announce = later(time.Now(), s.deadlines.announced.Add(announceGap))
		s.armLocked(s.deadlines.announce)
	}
}

func (s *Supervisor) announceLocked() {
	now := time.Now()
	s.deadlines.announce = time.Time{}
	s.deadlines.announced = now
	if !s.speaksLocked() {
		return
	}
	announced := make([]gateway.Announced, len(s.attrs))
	for i := range s.attrs {
		a := &s.attrs[i]
		announced[i] = gateway.Announced{Descriptor: a.Descriptor, Readback: a.readback, Setpoint: a.setpoint}
	}
	err := s.bus.Announce(&gateway.Announcement{
		Owner: s.owner, Revision: s.revision, Pieces: 1,
		Info: s.model.Info, State: s.stateLocked(), Attributes: announced,
	})
	s.sentLocked(err)
	s.beatLocked(now)
}

// leave says that this owner will not speak again, if it was one to the end.
func (s *Supervisor) leave(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected, s.since, s.words = false, s.opts.Now().Round(0), words
	s.stale = nil
	if s.speaksLocked() {
		state := s.stateLocked()
		state.Leaving = true
		s.sentLocked(s.bus.State(&state))
	}
}

// speaksLocked reports whether what is published now would count and arrive.
func (s *Supervisor) speaksLocked() bool {
	return !s.busDown && (s.phase == phaseServing || s.phase == phaseStopping)
}

func (s *Supervisor) stateLocked() gateway.DeviceState {
	return gateway.DeviceState{
		Owner: s.owner, Revision: s.revision,
		Connected: s.connected, Since: s.since, Words: s.words, Stale: s.stale,
		Clock: time.Since(s.began),
	}
}

func (s *Supervisor) publishStateLocked() {
	if s.speaksLocked() {
		state := s.stateLocked()
		s.sentLocked(s.bus.State(&state))
	}
	s.beatLocked(time.Now())
}

func (s *Supervisor) publishLocked(samples []gateway.SampleUpdate) {
	if len(samples) > 0 && s.speaksLocked() {
		s.sentLocked(s.bus.Update(&gateway.Update{Owner: s.owner, Revision: s.revision, Samples: samples}))
	}
}

// sentLocked takes note of a message that could not be sent. That the bus is
// down is its own news, and everything is announced when it is back.
func (s *Supervisor) sentLocked(err error) {
	switch {
	case err == nil:
		return
	case gateway.KindOf(err) == gateway.KindBusDown:
		s.missed = true
		return
	}
	s.counts.unsent++
	if more, ok := s.unsent.allow(time.Now()); ok {
		s.opts.Log.Error().Err(err).Uint64("more", more).Msg("cannot publish")
	}
}
