package instruments_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// The chopper is lewis's; lewis_lines gives it a line to listen at.
func startChopper(t *testing.T, oldAndNew ...string) (*rig.Lewis, *rig.Gateway) {
	t.Helper()
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	l := rig.StartLewis(t, "stream", "-a", ".", "-k", "lewis_lines", "chopper")
	return l, program.StartExample(t, "lewis-chopper.yaml", append([]string{"127.0.0.1:9997", l.Address}, oldAndNew...)...)
}

// becomes waits until the chopper and what is shown of it are in a state.
func becomes(t *testing.T, l *rig.Lewis, g *rig.Gateway, state, label string) {
	t.Helper()
	shows(t, g, map[string]string{"chopper.state": fmt.Sprintf("%q", label)})
	if got := l.Holds("state"); got.Text() != state {
		t.Errorf("%s is shown, and the chopper is %s", label, got.Text())
	}
}

func TestChopperGoesThroughItsStates(t *testing.T) {
	l, g := startChopper(t)
	becomes(t, l, g, "init", "Not initialized")
	execute(t, g, "chopper.initialize")
	becomes(t, l, g, "stopped", "Stopped")
	put(t, g, "chopper.target_speed", "14")
	put(t, g, "chopper.target_phase", "33.5")
	if speed, phase := l.Number("target_speed"), l.Number("target_phase"); speed != 14 || phase != 33.5 {
		t.Errorf("it holds %v and %v", speed, phase)
	}
	l.Call("simulation.speed:set", 20)
	execute(t, g, "chopper.start")
	becomes(t, l, g, "phase_locked", "Phase locked")
	shows(t, g, map[string]string{"chopper.speed": "14", "chopper.phase": "33.5"})
	execute(t, g, "chopper.stop")
	becomes(t, l, g, "stopped", "Stopped")
	put(t, g, "chopper.target_parking_position", "12")
	execute(t, g, "chopper.park")
	becomes(t, l, g, "parked", "Parked")
	shows(t, g, map[string]string{"chopper.parking_position": "12", "chopper.speed": "0"})
	g.Stop()
}

func TestChopperSaysWhyItDoesNotObey(t *testing.T) {
	l, g := startChopper(t)
	becomes(t, l, g, "init", "Not initialized")
	for command, words := range map[string]string{"chopper.start": "NO: it is in state init", "chopper.park": "NO: it is in state init"} {
		if r := g.Execute(command); r.Code != "refused_by_device" || r.DeviceWords != words {
			t.Errorf("%s: %d %s", command, r.Status, r.Body)
		}
	}
	execute(t, g, "chopper.initialize")
	becomes(t, l, g, "stopped", "Stopped")
	if r := g.Execute("chopper.start"); r.DeviceWords != "NO: there is no speed to go to" {
		t.Errorf("start without a speed: %s", r.Body)
	}
	if r := g.Put("chopper.target_speed", "51", ""); r.Status != 422 || l.Number("target_speed") != 0 {
		t.Errorf("beyond the limits: %s", r.Body)
	}
}

// While it accelerates the speed only rises: what was read between two looks at
// the chopper lies between them.
func TestChopperIsFollowedWhileItAccelerates(t *testing.T) {
	l, g := startChopper(t, "poll: 200ms", "poll: 20ms")
	becomes(t, l, g, "init", "Not initialized")
	execute(t, g, "chopper.initialize")
	becomes(t, l, g, "stopped", "Stopped")
	put(t, g, "chopper.target_speed", "50")
	execute(t, g, "chopper.start")
	stream := g.Watch("chopper.speed")
	for range 10 {
		low, since := l.Number("speed"), time.Now()
		event := stream.Until(rig.Limit, "a sample after "+since.String(), func(e *rig.Reply) bool { return e.Event == "sample" && e.Time.After(since) })
		if high := l.Number("speed"); event.Number() < low || event.Number() > high {
			t.Errorf("the speed was between %v and %v: %s", low, high, event.Body)
		}
	}
}

func TestChopperGoesAwayAndComesBack(t *testing.T) {
	l, g := startChopper(t)
	put(t, g, "chopper.target_speed", "14")
	l.Call("interface.disconnect")
	g.Await("chopper.target_speed", soon, "that of a lost device", func(r *rig.Reply) bool {
		return r.Availability.State == "disconnected" && r.Alarm.Status == "COMM" && r.Number() == 14
	})
	l.Change("target_speed", 20)
	l.Call("interface.connect")
	g.Await("chopper.target_speed", soon, "20", func(r *rig.Reply) bool { return r.Good() && r.Number() == 20 && r.Setpoint.Number() == 20 })
}
