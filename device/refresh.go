package device

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/polygate/gateway"
)

// refresh reads one attribute now and publishes what it reads. The error is
// that of a lost link or of the context, whose end makes what was read no news.
func (s *Supervisor) refresh(ctx context.Context, index int) ([]Reading, error) {
	readings, err := s.driveRefresh(ctx, index)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		readings = succeeded(readings)
	}
	s.mu.Lock()
	s.publishLocked(s.applyLocked(readings, true, nil))
	s.refreshedLocked(readings, time.Now())
	s.mu.Unlock()
	return readings, err
}

func (s *Supervisor) driveRefresh(ctx context.Context, index int) (readings []Reading, err error) {
	defer recovered(&err)
	return s.driver.Refresh(ctx, index, nil)
}

// checkRefresh refuses what no device can be asked for.
func (a *attribute) checkRefresh(value gateway.Value) *gateway.Error {
	switch {
	case !a.CanRead():
		return gateway.Errorf(gateway.KindWriteOnly, "%s cannot be read", a.Path)
	case value.Known():
		return gateway.Errorf(gateway.KindWrongType, "a refresh takes no value")
	}
	return nil
}

// runRefresh is what runPut does for a refresh.
func (s *Supervisor) runRefresh(ctx context.Context, p *queued) error {
	readings, failed := s.refresh(ctx, p.index)
	s.mu.Lock()
	s.running = false
	stage, err := s.attrs[p.index].refreshed(p.index, readings, failed)
	answer := s.replyLocked(p, stage, err, gateway.Value{})
	s.mu.Unlock()
	replies{answer}.send()
	if ctx.Err() != nil {
		failed = nil // the budget was short; the link may be as good as ever
	}
	return failed
}

// refreshed says how a refresh of attribute index ended.
func (a *attribute) refreshed(index int, readings []Reading, failed error) (gateway.Stage, *gateway.Error) {
	i := slices.IndexFunc(readings, func(r Reading) bool { return r.Index == index && r.Role == gateway.Readback })
	var crashed *crash
	switch {
	case i >= 0:
		if value, alarm := a.judge(&readings[i]); !value.Known() {
			return gateway.StageSent, gateway.Errorf(gateway.KindUnknownOutcome, "%s: %s", alarm.Status, alarm.Text)
		}
		return gateway.StageVerified, nil
	case failed == nil:
		return gateway.StageRefused, gateway.Errorf(gateway.KindWriteOnly, "the device cannot be asked for it")
	case errors.As(failed, &crashed):
		return gateway.StageSent, gateway.Errorf(gateway.KindInternal, "%w", failed)
	case errors.Is(failed, ErrLost):
		return gateway.StageAccepted, gateway.Errorf(gateway.KindNotConnected, "nothing was read: %w", failed)
	default:
		return gateway.StageSent, gateway.Errorf(gateway.KindUnknownOutcome, "the budget ran out before the device answered")
	}
}
