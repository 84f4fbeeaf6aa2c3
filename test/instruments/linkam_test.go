package instruments_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

func startLinkam(t *testing.T, oldAndNew ...string) (*rig.Lewis, *rig.Gateway) {
	t.Helper()
	l := rig.StartLewis(t, "stream", "linkam_t95")
	return l, program.StartExample(t, "linkam-t95.yaml", append([]string{"127.0.0.1:9998", l.Address}, oldAndNew...)...)
}

func TestLinkamIsReadFromOneBinaryReply(t *testing.T) {
	l, g := startLinkam(t)
	shows(t, g, map[string]string{"stage.state": `"Stopped"`, "stage.errors": "0", "stage.pump_speed": "0", "stage.temperature": "24"})
	// Below 0 the four digits are a two's complement, and all bytes from 00 to FF have been there.
	for _, value := range []float64{-195.5, -0.1, 0, 599.9, -100, 102.4} {
		l.Change("temperature", value)
		shows(t, g, map[string]string{"stage.temperature": fmt.Sprint(value)})
	}
	g.Stop()
}

func TestLinkamDoesWhatItIsTold(t *testing.T) {
	l, g := startLinkam(t)
	g.AwaitGood("stage.temperature")
	for name, property := range map[string]string{"stage.limit": "temperature_limit", "stage.rate": "temperature_rate", "stage.pump_manual_speed": "manual_target_speed"} {
		for _, value := range []float64{30, 12} {
			if r := g.Put(name, fmt.Sprint(value), ""); r.Status != 200 || r.Setpoint.Number() != value {
				t.Errorf("put of %v to %s: %s", value, name, r.Body)
			}
			// Nothing says that it was taken.
			if !rig.Until(soon, func() bool { return l.Number(property) == value }) {
				t.Errorf("after a put of %v to %s it holds %v", value, name, l.Number(property))
			}
		}
	}
	if r := g.Put("stage.pump_mode", `"Manual"`, ""); r.Status != 200 {
		t.Errorf("pump_mode: %s", r.Body)
	}
	// Nitrogen at a speed of 12, from 24 degrees to 12.
	execute(t, g, "stage.start")
	shows(t, g, map[string]string{"stage.state": `"Cooling"`, "stage.pump_speed": "12"})
	execute(t, g, "stage.hold")
	shows(t, g, map[string]string{"stage.state": `"Holding"`, "stage.pump_speed": "0"})
	execute(t, g, "stage.cool")
	shows(t, g, map[string]string{"stage.state": `"Cooling"`})
	l.Change("temperature", 12)
	shows(t, g, map[string]string{"stage.state": `"Holding at limit"`, "stage.temperature": "12"})
	execute(t, g, "stage.stop")
	shows(t, g, map[string]string{"stage.state": `"Stopped"`})
}

func execute(t *testing.T, g *rig.Gateway, command string) {
	t.Helper()
	if r := g.Execute(command); r.Status != 200 {
		t.Errorf("%s: %d %s", command, r.Status, r.Body)
	}
}

// While it heats the temperature only rises: what was read between two looks at
// the emulator lies between them, to the tenth of a degree that it tells.
func TestLinkamIsFollowedWhileItHeats(t *testing.T) {
	l, g := startLinkam(t, "poll: 200ms", "poll: 20ms")
	g.AwaitGood("stage.temperature")
	g.Put("stage.limit", "500", "")
	g.Put("stage.rate", "150", "")
	execute(t, g, "stage.start")
	stream := g.Watch("stage.temperature")
	for range 10 {
		low, since := l.Number("temperature"), time.Now()
		event := stream.Until(rig.Limit, "a sample after "+since.String(), func(e *rig.Reply) bool { return e.Event == "sample" && e.Time.After(since) })
		if high := l.Number("temperature"); event.Number() < low-0.1 || event.Number() > high {
			t.Errorf("the temperature was between %v and %v: %s", low, high, event.Body)
		}
	}
	shows(t, g, map[string]string{"stage.state": `"Heating"`})
}

func TestLinkamCoolsTooFast(t *testing.T) {
	_, g := startLinkam(t)
	g.AwaitGood("stage.temperature")
	g.Put("stage.limit", "0", "")
	g.Put("stage.rate", "100", "")
	execute(t, g, "stage.start")
	r := g.Await("stage.errors", rig.Limit, "1", func(r *rig.Reply) bool { return r.Number() == 1 })
	if r.Alarm.Severity != "MAJOR" || r.Alarm.Status != "HIHI" {
		t.Errorf("it cools too fast: %s", r.Body)
	}
	shows(t, g, map[string]string{"stage.pump_speed": "30"})
}

func TestLinkamGoesAwayAndComesBack(t *testing.T) {
	l, g := startLinkam(t)
	g.AwaitGood("stage.temperature")
	l.Call("interface.disconnect")
	g.Await("stage.temperature", soon, "that of a lost device", func(r *rig.Reply) bool {
		return r.Availability.State == "disconnected" && r.Alarm.Status == "COMM" && r.Number() == 24
	})
	l.Change("temperature", 31.5)
	l.Call("interface.connect")
	g.Await("stage.temperature", soon, "31.5", func(r *rig.Reply) bool { return r.Good() && r.Number() == 31.5 })
	l.Kill()
	g.Await("stage.temperature", soon, "that of a lost device", func(r *rig.Reply) bool { return r.Availability.State == "disconnected" })
	l.Restart()
	g.Await("stage.temperature", 5*time.Second+soon, "24", func(r *rig.Reply) bool { return r.Good() && r.Number() == 24 })
}
