package device_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
)

// A scriptedLease is given and taken by the test.
type scriptedLease struct {
	mu      sync.Mutex
	held    context.Context
	lose    context.CancelCauseFunc
	term    uint64
	late    bool          // it is over, and nobody has been told yet
	changed chan struct{} // made by who waits, so that it is in the bubble
}

func (l *scriptedLease) give(term uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term, l.late = term, false
	l.held, l.lose = context.WithCancelCause(context.Background())
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *scriptedLease) take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose(errors.New("taken by the test"))
	l.held = nil
}

// expire makes Check refuse before held ends.
func (l *scriptedLease) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = true
}

func (l *scriptedLease) Await(ctx context.Context) (context.Context, uint64, error) {
	for {
		l.mu.Lock()
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		held, term, changed := l.held, l.term, l.changed
		l.mu.Unlock()
		if held != nil {
			return held, term, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

func (l *scriptedLease) Check() (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil || l.late {
		return time.Time{}, errors.New("not held")
	}
	return time.Now().Add(time.Second), nil
}

func TestNothingIsDoneWithoutTheLease(t *testing.T) {
	script, _ := answering(model())
	lease := &scriptedLease{}
	start(t, script, device.Options{Heartbeat: time.Second, Lease: lease}, func(r *rig) {
		after(time.Hour)
		if calls, said := script.Calls(), r.bus.Messages(); len(calls) != 0 || len(said) != 0 || r.bus.Owner().Device != "" {
			t.Errorf("calls %q and %d messages of one who stands by", calls, len(said))
		}
		if stats := r.sup.Stats(); !stats.Standby || stats.Connected {
			t.Errorf("%+v", stats)
		}
		const term = uint64(1) << 60 // of a holder whose clock is ahead
		lease.give(term)
		synctest.Wait()
		if owner := r.bus.Owner(); owner.Term < term || !r.state().Connected {
			t.Errorf("owner %s, state %+v", owner, r.state())
		}
		if stats := r.sup.Stats(); stats.Standby {
			t.Errorf("%+v", stats)
		}
	})
}

func TestALostLeaseEndsEverythingAtOnce(t *testing.T) {
	g := gated()
	g.script.Has = model()
	g.script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(temperature, gateway.Of(1.0))), nil
	}
	lease := &scriptedLease{}
	lease.give(1)
	start(t, g.script, device.Options{Heartbeat: time.Second, Lease: lease}, func(r *rig) {
		first := r.bus.Owner()
		running, waiting := r.put("oven.ramp", gateway.Of(1.0)), r.put("oven.ramp", gateway.Of(2.0))
		lease.take()
		r.check(r.verdict(running), gateway.StageSent, gateway.KindUnknownOutcome)
		r.check(r.verdict(waiting), gateway.StageAccepted, gateway.KindNotConnected)
		calls := g.script.Calls()
		if calls[len(calls)-1] != "close" {
			t.Errorf("calls %q", calls)
		}
		// The next one may take its time: hubs know at once.
		if state := r.state(); !state.Leaving || state.Connected || state.Words != "driver stopped: taken by the test" {
			t.Errorf("state %+v", state)
		}
		messages := len(r.bus.Messages())
		after(time.Hour)
		if n := len(g.script.Calls()); n != len(calls) || len(r.bus.Messages()) != messages {
			t.Errorf("calls %q after the lease was lost", g.script.Calls()[len(calls):])
		}

		lease.give(first.Term + 1000)
		synctest.Wait()
		if owner := r.bus.Owner(); owner.Term < first.Term+1000 || owner.Instance == first.Instance || !r.state().Connected {
			t.Errorf("owner %s, state %+v", owner, r.state())
		}
	})
}

// One that was held finds the time over before anybody tells it.
func TestALeaseThatIsOverIsNotUsedUntilThatIsTold(t *testing.T) {
	script, _ := answering(model())
	lease := &scriptedLease{}
	lease.give(1)
	start(t, script, device.Options{Lease: lease}, func(r *rig) {
		lease.expire()
		put := r.put("oven.ramp", gateway.Of(1.0))
		r.check(r.verdict(put), gateway.StageAccepted, gateway.KindNotConnected)
		after(time.Minute)
		for _, call := range script.Calls()[1:] {
			if call == "connect" || call == "put" {
				t.Fatalf("calls %q", script.Calls())
			}
		}
	})
}

func TestTheLeaseIsLostWhileTheBusIsAway(t *testing.T) {
	script, _ := answering(model())
	lease := &scriptedLease{}
	lease.give(1)
	start(t, script, device.Options{Heartbeat: time.Second, Lease: lease}, func(r *rig) {
		r.bus.SetDown(true)
		lease.take()
		after(time.Minute)
		lease.give(2)
		after(time.Minute) // it claims the device over and over
		lease.take()
		after(time.Second)
		r.bus.SetDown(false)
		after(time.Minute)
		if n := count(script.Calls(), "connect"); n != 1 {
			t.Errorf("%d connects", n)
		}
		lease.give(3)
		after(time.Second)
		if !r.state().Connected {
			t.Errorf("state %+v", r.state())
		}
	})
}
