package device_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

func TestRivalMakesItStandDown(t *testing.T) {
	g := gated()
	g.script.Has = model()
	g.script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(temperature, gateway.Of(1.0))), nil
	}
	start(t, g.script, device.Options{Heartbeat: time.Second}, func(r *rig) {
		own := r.bus.Owner()
		rival := func(term uint64) gateway.Owner { return gateway.Owner{Device: "oven", Instance: "rival", Term: term} }
		states := countMessages[*gateway.DeviceState](r.bus.Messages())
		r.bus.Rival(own)
		r.bus.Rival(rival(own.Term - 1))
		synctest.Wait()
		if n := countMessages[*gateway.DeviceState](r.bus.Messages()); n != states+1 {
			t.Errorf("it did not tell a rival of a lower term who owns the device")
		}
		running, waiting := r.put("oven.ramp", gateway.Of(1.0)), r.put("oven.ramp", gateway.Of(2.0))
		lines := r.log.lines()
		r.bus.Rival(rival(own.Term + 1))
		r.bus.Rival(rival(own.Term + 1))
		published := 0
		for _, m := range r.bus.Messages() {
			if _, ok := m.(*gateway.PutVerdict); !ok {
				published++
			}
		}
		r.check(r.verdict(running), gateway.StageSent, gateway.KindUnknownOutcome)
		r.check(r.verdict(waiting), gateway.StageAccepted, gateway.KindConflict)
		r.check(r.verdict(r.put("oven.ramp", gateway.Of(3.0))), gateway.StageRefused, gateway.KindConflict)
		after(time.Hour)
		if calls := r.script.Calls(); calls[len(calls)-1] != "close" || count(calls, "connect") != 1 {
			t.Errorf("calls %q", calls)
		}
		if r.log.lines() != lines+1 {
			t.Errorf("log:\n%s", r.log.text())
		}
		r.end()
		for _, m := range r.bus.Messages() {
			if _, ok := m.(*gateway.PutVerdict); !ok {
				published--
			}
		}
		if published != 0 {
			t.Errorf("it spoke after it stood down:\n%s", devicetest.Transcript(r.bus.Messages()))
		}
	})
}

func TestReclaimAfterTheRivalIsSilent(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{Reclaim: 5 * time.Second}, func(r *rig) {
		first := r.bus.Owner()
		rival := gateway.Owner{Device: "oven", Instance: "rival", Term: first.Term + uint64(time.Hour/time.Microsecond)}
		before := r.table()["oven.temperature"].Readback
		for range 10 {
			r.bus.Rival(rival)
			after(3 * time.Second)
		}
		if r.bus.Owner() != first {
			t.Fatal("it did not wait")
		}
		after(2 * time.Second)
		if own := r.bus.Owner(); own.Term <= rival.Term || own.Instance == first.Instance {
			t.Errorf("the new owner is %s", own)
		}
		if s := r.table()["oven.temperature"].Readback; s.Seq <= before.Seq || !r.state().Connected {
			t.Errorf("readback %+v, before %+v, state %+v", s, before, r.state())
		}
	})
}

// A device that is taken back and takes its time to connect is not stale for
// ever because its polls became due under the earlier ownership.
func TestReclaimForgetsWhatWasDue(t *testing.T) {
	script, _ := answering(model())
	connects := 0
	script.OnConnect = func(context.Context, device.Sink) error {
		if connects++; connects > 1 {
			<-time.After(5 * time.Second) // longer than the polls may take
		}
		return nil
	}
	start(t, script, device.Options{Reclaim: 5 * time.Second}, func(r *rig) {
		after(10 * time.Second)
		rival := gateway.Owner{Device: "oven", Instance: "rival", Term: r.bus.Owner().Term + uint64(time.Hour/time.Microsecond)}
		r.bus.Rival(rival)
		r.bus.RivalLeaves(rival)
		after(10 * time.Second)
		if state := r.state(); !state.Connected || len(state.Stale) != 0 {
			t.Errorf("state %+v", state)
		}
	})
}

func TestReclaimAtOnceWhenTheRivalLeaves(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{Reclaim: 5 * time.Second}, func(r *rig) {
		first := r.bus.Owner()
		rival := gateway.Owner{Device: "oven", Instance: "rival", Term: first.Term + uint64(time.Hour/time.Microsecond)}
		r.bus.Rival(rival)
		r.bus.RivalLeaves(gateway.Owner{Device: "oven", Instance: "another", Term: rival.Term - 1})
		after(time.Second)
		if r.bus.Owner() != first {
			t.Fatal("it came back although only another one left")
		}
		r.bus.RivalLeaves(rival)
		after(time.Millisecond)
		if own := r.bus.Owner(); own.Term <= rival.Term || !r.state().Connected {
			t.Errorf("the owner is %s, state %+v", own, r.state())
		}
	})
}

// Nothing is kept for a bus that is away: when it is back, hubs get what is
// true then.
func TestBUS07NothingIsReplayed(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{Heartbeat: time.Second}, func(r *rig) {
		r.bus.SetDown(true)
		messages, polls := len(r.bus.Messages()), len(script.Calls())
		after(60 * time.Second)
		if n := len(script.Calls()) - polls; n != 60 {
			t.Errorf("%d polls while the bus was away", n)
		}
		r.bus.SetDown(false)
		synctest.Wait()
		news := r.bus.Messages()[messages:]
		if len(news) != 1 {
			t.Fatalf("published on its return:\n%s", devicetest.Transcript(news))
		}
		a := news[0].(*gateway.Announcement)
		if age := time.Since(a.Attributes[temperature].Readback.Time.Std()); age > time.Second || !a.State.Connected {
			t.Errorf("announced a sample %v old, state %+v", age, a.State)
		}
	})
}

func TestBusAwayAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, _ := answering(model())
		r := newRig(t, script, device.Options{})
		r.bus.SetDown(true)
		r.serve()
		after(time.Minute)
		if calls := script.Calls(); len(calls) != 0 {
			t.Errorf("calls %q without an ownership", calls)
		}
		r.bus.SetDown(false)
		after(time.Second)
		if !r.state().Connected {
			t.Errorf("state %+v", r.state())
		}
		r.end()
	})
}

// An outage that was over before it was reported still lost messages; the first
// report, of the state as it is, tells nothing new.
func TestShortOutageOfTheBus(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		announced := func() int {
			after(100 * time.Millisecond)
			return countMessages[*gateway.Announcement](r.bus.Messages())
		}
		up := gateway.BusState{Connected: true, Since: time.Now()}
		r.bus.SayState(up)
		r.bus.SayState(up)
		if n := announced(); n != 1 {
			t.Errorf("%d announcements", n)
		}
		up.Since = time.Now()
		r.bus.SayState(up)
		if n := announced(); n != 2 {
			t.Errorf("%d announcements after a short outage", n)
		}
		// One that only showed as a message that could not be sent.
		r.bus.Refuse(func(gateway.Message) error { return gateway.Errorf(gateway.KindBusDown, "away") })
		after(time.Second)
		r.bus.Refuse(nil)
		r.bus.SayState(up)
		if n := announced(); n != 3 {
			t.Errorf("%d announcements after a lost message", n)
		}
	})
}

func TestRefusedMessagesAreLoggedOnceAMinute(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		lines := r.log.lines()
		r.bus.Refuse(func(gateway.Message) error { return gateway.Errorf(gateway.KindTooLarge, "too large") })
		after(90 * time.Second)
		if n := r.log.lines() - lines; n != 2 || r.sup.Stats().Unsent != 90 {
			t.Errorf("%d lines, %d unsent", n, r.sup.Stats().Unsent)
		}
	})
}

func TestDescribeIsCoalesced(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		after(500 * time.Millisecond)
		before := countMessages[*gateway.Announcement](r.bus.Messages())
		for range 100 {
			r.bus.Describe()
		}
		after(100 * time.Millisecond)
		if n := countMessages[*gateway.Announcement](r.bus.Messages()) - before; n < 1 || n > 2 {
			t.Errorf("%d announcements", n)
		}
		before = countMessages[*gateway.Announcement](r.bus.Messages())
		for want := range 2 {
			// The first is answered at once, those that follow hard upon it together.
			for range 10 {
				r.bus.Describe()
				synctest.Wait()
			}
			if n := countMessages[*gateway.Announcement](r.bus.Messages()) - before; n != 1+want {
				t.Errorf("%d announcements, want %d", n, 1+want)
			}
			after(20 * time.Millisecond)
		}
	})
}

func TestServeTwice(t *testing.T) {
	script, _ := answering(model())
	start(t, script, device.Options{}, func(r *rig) {
		if err := r.sup.Serve(r.t.Context()); err == nil {
			t.Error("a second Serve ran")
		}
	})
}

func TestServeEndsIfTheBusRefuses(t *testing.T) {
	refusal := errors.New("permission denied")
	sup, err := device.New("oven", &devicetest.Script{Has: model()}, refusing{devicetest.NewBus(), refusal}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sup.Serve(t.Context()); !errors.Is(err, refusal) {
		t.Errorf("Serve returned %v", err)
	}
}

type refusing struct {
	*devicetest.Bus
	err error
}

func (r refusing) Own(gateway.Owner, device.Handler) (func(), error) { return nil, r.err }
