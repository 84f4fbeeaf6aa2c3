package device_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
)

func TestOrderOfPuts(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{}, func(r *rig) {
		request := func(v float64, mode gateway.Mode, urgent bool) <-chan *gateway.PutVerdict {
			return r.request(gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(v), Mode: mode, Urgent: urgent})
		}
		running := request(1, gateway.Latest, false) // has started: not replaced
		each := request(2, gateway.Each, false)
		replaced := request(3, gateway.Latest, false)
		last := request(4, gateway.Latest, false)
		r.check(r.verdict(replaced), gateway.StageSuperseded, gateway.KindSuperseded)
		if s := r.table()["oven.ramp"].Setpoint; s.Value.Float() != 4 || s.Alarm != (gateway.Alarm{}) {
			t.Errorf("setpoint %+v", s)
		}
		other := r.put("oven.level", gateway.Of(5.0))
		stop := request(6, gateway.Each, true)
		// What was asked before STOP and may be replaced does not run after it.
		r.check(r.verdict(last), gateway.StageSuperseded, gateway.KindSuperseded)
		for range 4 {
			g.open <- struct{}{}
		}
		for _, answers := range []<-chan *gateway.PutVerdict{running, each, other, stop} {
			r.check(r.verdict(answers), gateway.StageAcknowledged, gateway.KindOK)
		}
		if got := g.floats(); !slices.Equal(got, []float64{1, 6, 2, 5}) {
			t.Errorf("sent %v", got)
		}
	})
}

// CA-49: a dragged slider on a slow device.
func TestCA49SliderEndsAtTheLastValue(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{}, func(r *rig) {
		for v := range 51 {
			r.request(gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(float64(v)), Mode: gateway.Latest})
		}
		g.open <- struct{}{}
		g.open <- struct{}{}
		after(0)
		if got := g.floats(); !slices.Equal(got, []float64{0, 50}) {
			t.Errorf("sent %v", got)
		}
	})
}

func TestFullQueueIsBusy(t *testing.T) {
	g := gated()
	start(t, g.script, device.Options{MaxQueued: 2}, func(r *rig) {
		r.put("oven.ramp", gateway.Of(1.0)) // at the device
		r.put("oven.ramp", gateway.Of(2.0))
		slider := gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(3.0), Mode: gateway.Latest}
		r.request(slider)
		setpoint := r.table()["oven.ramp"].Setpoint
		r.check(r.verdict(r.put("oven.ramp", gateway.Of(4.0))), gateway.StageRefused, gateway.KindBusy)
		if r.table()["oven.ramp"].Setpoint != setpoint {
			t.Error("a refused put changed the setpoint")
		}
		if answers := r.request(slider); len(answers) != 0 {
			t.Error("a put that takes another's place needs no room")
		}
	})
}

func TestPutsGoBeforePolls(t *testing.T) {
	g := gated()
	g.script.Has = model()
	g.script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
		return append(into, good(temperature, gateway.Of(1.0))), nil
	}
	start(t, g.script, device.Options{}, func(r *rig) {
		r.put("oven.ramp", gateway.Of(1.0))
		r.put("oven.ramp", gateway.Of(2.0))
		after(1500 * time.Millisecond)
		g.open <- struct{}{}
		g.open <- struct{}{}
		after(0)
		want := []string{"connect", "poll 0", "put 1", "put 1", "poll 0"}
		if got := r.script.Calls(); !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
	})
}

// A slider on a slow device must not make all that is polled stale; STOP does
// not wait for that.
func TestPutsDoNotStarvePolls(t *testing.T) {
	for _, urgent := range []bool{false, true} {
		g := gated()
		g.script.Has = model()
		g.script.OnPoll = func(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
			return append(into, good(temperature, gateway.Of(1.0))), nil
		}
		start(t, g.script, device.Options{}, func(r *rig) {
			slider := gateway.PutRequest{Path: "oven.ramp", Value: gateway.Of(1.0), Mode: gateway.Latest, Urgent: urgent}
			r.request(slider)
			polls := count(r.script.Calls(), "poll 0")
			for range 50 {
				r.request(slider)
				after(400 * time.Millisecond)
				g.open <- struct{}{}
				after(0)
				if stale := r.state().Stale; len(stale) != 0 && !urgent {
					t.Fatalf("stale: %v", stale)
				}
			}
			polls = count(r.script.Calls(), "poll 0") - polls
			if puts := len(g.sent); puts != 51 || urgent != (polls == 0) || polls > 20 {
				t.Errorf("urgent %t: %d puts, %d polls", urgent, puts, polls)
			}
		})
	}
}
