package device

import (
	"context"

	"github.com/polygate/gateway"
)

// awaitLease waits until the device may be owned. Without a lease that is at
// once and for ever.
func (s *Supervisor) awaitLease(ctx context.Context) (held context.Context, term uint64, err error) {
	if s.opts.Lease == nil {
		return context.WithoutCancel(ctx), 0, nil
	}
	s.setStandby(true)
	defer s.setStandby(false)
	return s.opts.Lease.Await(ctx)
}

func (s *Supervisor) setStandby(standby bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standby = standby
	if standby {
		s.connected, s.since, s.words = false, s.opts.Now().Round(0), "standing by: another process may hold the lease"
	}
}

// mayTalk says why nothing may be begun with the device, if so. What has begun
// is looked after by the line at each write.
func (s *Supervisor) mayTalk() error {
	if s.opts.Lease == nil {
		return nil
	}
	_, err := s.opts.Lease.Check()
	return err
}

// loseLease ends an ownership at once: nothing is begun any more, and what is
// under way is cut off. The puts that wait learn that they were not sent.
func (s *Supervisor) loseLease(owner gateway.Owner, cause error) {
	s.mu.Lock()
	if s.owner != owner || s.phase != phaseServing && s.phase != phaseStopping {
		s.mu.Unlock()
		return
	}
	s.phase = phaseStopping
	s.cancelRun()
	s.cancelPuts()
	answers := s.endAllLocked(gateway.Errorf(gateway.KindNotConnected, "the put for %s was not sent: %w", s.name, cause))
	s.mu.Unlock()
	answers.send()
}
