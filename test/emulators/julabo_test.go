package emulators_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

func startJulabo(t *testing.T) *rig.Lewis {
	t.Helper()
	return rig.StartLewis(t, "julabo-version-1", "julabo")
}

func julaboGateway(t *testing.T, j *rig.Lewis, oldAndNew ...string) *rig.Gateway {
	t.Helper()
	return program.StartExample(t, "julabo.yaml", append([]string{"127.0.0.1:9999", j.Address}, oldAndNew...)...)
}

// properties are the emulator's names of the numbers.
var properties = map[string]string{
	"bath.temperature":          "temperature",
	"bath.external_temperature": "external_temperature",
	"bath.heating_power":        "heating_power",
	"bath.setpoint":             "set_point_temperature",
	"bath.high_limit":           "temperature_high_limit",
	"bath.low_limit":            "temperature_low_limit",
	"bath.internal.xp":          "internal_p",
	"bath.internal.tn":          "internal_i",
	"bath.internal.tv":          "internal_d",
	"bath.external.xp":          "external_p",
	"bath.external.tn":          "external_i",
	"bath.external.tv":          "external_d",
}

func TestJulaboShowsWhatTheEmulatorHolds(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	for name, property := range properties {
		if got, want := g.AwaitGood(name), j.Number(property); got.Number() != want {
			t.Errorf("%s: %s, but %s is %v", name, got.Body, property, want)
		}
	}
	for name, property := range map[string]string{"bath.version": "version", "bath.status": "status"} {
		held := j.Holds(property)
		if got := g.AwaitGood(name); got.Text() != held.Text() {
			t.Errorf("%s: %s, but %s is %q", name, got.Body, property, held.Text())
		}
	}
	if got := g.AwaitGood("bath.circulating"); got.Text() != "Off" || j.Number("is_circulating") != 0 {
		t.Errorf("bath.circulating: %s", got.Body)
	}
	if names := g.Names("bath.>"); len(names) != len(properties)+3 {
		t.Errorf("not all attributes are compared here: %q", names)
	}
	// What it holds at the start is the setpoint of what can be set.
	if got := g.Get("bath.setpoint"); got.Setpoint.Number() != 24 || !got.Setpoint.Good() {
		t.Errorf("the setpoint at the start: %s", got.Body)
	}
	g.Stop()
}

func TestPutsReachTheJulabo(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	tests := []struct {
		name, value string
		want        float64
	}{
		{"bath.setpoint", "31.25", 31.25},
		{"bath.setpoint", "0", 0},
		{"bath.setpoint", "100", 100},
		{"bath.internal.xp", "99.9", 99.9},
		{"bath.internal.tn", "9999", 9999},
		{"bath.internal.tv", "999", 999},
		{"bath.external.xp", "0.1", 0.1},
		{"bath.external.tn", "3", 3},
		{"bath.external.tv", "12", 12},
	}
	for _, test := range tests {
		put(t, g, test.name, test.value)
		if got := j.Number(properties[test.name]); got != test.want {
			t.Errorf("after a put of %s to %s the emulator holds %v", test.value, test.name, got)
		}
	}
	for i, label := range []string{"Off", "On", "Off"} {
		put(t, g, "bath.circulating", `"`+label+`"`)
		if got := j.Number("is_circulating"); got != float64(i%2) {
			t.Errorf("after a put of %s the emulator holds %v", label, got)
		}
	}
}

func TestChangesInsideTheJulaboAreSeen(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	last := g.AwaitGood("bath.temperature")
	stream := g.Watch("bath.temperature")
	for _, value := range []float64{40, 41.5, 12.0625, 40} {
		j.Change("temperature", value)
		event := stream.Until(rig.Limit, fmt.Sprint(value), func(e *rig.Reply) bool { return e.Event == "sample" && e.Number() == value })
		if event.Seq <= last.Seq || !event.Time.After(last.Time) || !event.Good() {
			t.Errorf("%s\ndoes not follow %s", event.Body, last.Body)
		}
		last = event
		if got := g.Get("bath.temperature"); got.Number() != value || got.Seq != event.Seq {
			t.Errorf("read after the event: %s", got.Body)
		}
	}
	// An alarm limit is passed, and left again.
	for _, step := range []struct {
		value            float64
		severity, status string
	}{{97, "MINOR", "HIGH"}, {100.5, "MAJOR", "HIHI"}, {1, "MINOR", "LOW"}, {50, "NO_ALARM", "NO_ALARM"}} {
		j.Change("temperature", step.value)
		event := stream.Until(rig.Limit, fmt.Sprint(step.value), func(e *rig.Reply) bool { return e.Event == "sample" && e.Number() == step.value })
		if event.Alarm.Severity != step.severity || event.Alarm.Status != step.status {
			t.Errorf("want %s %s: %s", step.severity, step.status, event.Body)
		}
	}
}

// While the bath warms up its temperature only rises. So a sample that was taken
// between two looks at the emulator lies between what these saw.
func TestJulaboIsFollowedWhileItChanges(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j, "poll: 500ms", "poll: 100ms")
	put(t, g, "bath.setpoint", "90")
	put(t, g, "bath.circulating", `"On"`)
	j.Call("simulation.speed:set", 100)
	stream := g.Watch("bath.temperature")
	for range 20 {
		low, since := j.Number("temperature"), time.Now()
		event := stream.Until(rig.Limit, "a sample taken after "+since.String(), func(e *rig.Reply) bool {
			return e.Event == "sample" && e.Time.After(since)
		})
		// Taken after since is answered after it; it may have been measured a little before the answer, not before low.
		if high := j.Number("temperature"); event.Number() < low || event.Number() > high {
			t.Errorf("the temperature was between %v and %v: %s", low, high, event.Body)
		}
		if low > 89 {
			break
		}
	}
	put(t, g, "bath.circulating", `"Off"`)
}

func TestPutsBeyondTheLimitsOfTheFileDoNotReachTheJulabo(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	before := put(t, g, "bath.setpoint", "30")
	for _, value := range []string{"100.01", "-0.01", `"warm"`, "null", "[30]"} {
		r := g.Put("bath.setpoint", value, "")
		if r.Status != 422 || r.Stage != "refused" {
			t.Errorf("put of %s: %d %s", value, r.Status, r.Body)
		}
	}
	after := g.Get("bath.setpoint")
	if after.Setpoint.Seq != before.Setpoint.Seq || !after.Setpoint.Good() || j.Number("set_point_temperature") != 30 {
		t.Errorf("a refused put has changed something: %s", after.Body)
	}
}

// The circulator says nothing of a set that it does not take. The verdict comes
// after the read-back and carries what it read: only that shows it.
func TestASetThatTheJulaboIgnoresShowsInTheReadback(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	put(t, g, "bath.setpoint", "25")
	j.Change("temperature_high_limit", 60)
	r := g.Put("bath.setpoint", "80", "")
	if r.Status != 200 || r.Stage != "acknowledged" || r.Number() != 25 || r.Setpoint.Number() != 80 {
		t.Errorf("the verdict of a set that was ignored: %d %s", r.Status, r.Body)
	}
	if got := g.Get("bath.setpoint"); got.Number() != 25 || got.Setpoint.Number() != 80 || j.Number("set_point_temperature") != 25 {
		t.Errorf("a read after it: %s", got.Body)
	}
	put(t, g, "bath.setpoint", "59")
}

func TestAnUnpluggedJulaboIsLostAndComesBack(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	put(t, g, "bath.setpoint", "31")
	for _, value := range []float64{44, 45} {
		before := g.Get("bath.setpoint")
		j.Call("interface.disconnect")
		lost(t, g, "bath.setpoint", &before)
		j.Change("set_point_temperature", value)
		j.Call("interface.connect")
		g.Await("bath.setpoint", soon, "what the emulator holds now", goodOf(fmt.Sprint(value)))
	}
}

// A process that is held answers all it was asked when it goes on, seconds late.
// Bare numbers do not say what they belong to: each has its own here, and none
// is ever shown under the name of another.
func TestLateRepliesOfAJulaboThatHungAreNotTakenForOthers(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j, "reply_timeout: 1s", "reply_timeout: 300ms", "poll: 500ms", "poll: 50ms", "poll: 1s", "poll: 70ms", "poll: 5s", "poll: 90ms")
	own := map[string]float64{
		"bath.temperature": 40, "bath.external_temperature": 41, "bath.heating_power": 42, "bath.setpoint": 43,
		"bath.internal.xp": 44, "bath.internal.tn": 45, "bath.internal.tv": 46,
		"bath.external.xp": 47, "bath.external.tn": 48, "bath.external.tv": 49,
	}
	for name, value := range own {
		j.Change(properties[name], value)
	}
	all := func(wanted func(name string) func(*rig.Reply) bool, what string) {
		for name := range own {
			g.Await(name, rig.Limit, what, wanted(name))
		}
	}
	right := func(name string) func(*rig.Reply) bool {
		return func(r *rig.Reply) bool { return r.Good() && r.Number() == own[name] }
	}
	all(right, "right")
	stream := g.Watch("bath.>")
	for range 3 {
		j.Signal(syscall.SIGSTOP)
		all(func(string) func(*rig.Reply) bool { return func(r *rig.Reply) bool { return !r.Good() } }, "that of a silent device")
		j.Signal(syscall.SIGCONT)
		all(right, "right again")
	}
	for _, event := range stream.Waiting() {
		want, ok := own[event.Name]
		if ok && event.Role != "setpoint" && string(event.Value) != "null" && event.Number() != want {
			t.Errorf("this is the value of another: %s", event.Body)
		}
	}
}

func TestAJulaboThatWasSwitchedOffAndOnIsReadAnew(t *testing.T) {
	j := startJulabo(t)
	g := julaboGateway(t, j)
	before := put(t, g, "bath.setpoint", "31")
	j.Kill()
	lost(t, g, "bath.setpoint", &before)
	j.Restart()
	// The longer a host was away the longer the pauses between attempts to reach it, up to 5 s.
	back := g.Await("bath.setpoint", 5*time.Second+soon, "what the emulator holds after its start", goodOf("24"))
	if back.Seq <= before.Seq || !back.Time.After(before.Time) {
		t.Errorf("%s\ndoes not follow %s", back.Body, before.Body)
	}
	if back = g.Get("bath.setpoint"); back.Setpoint.Number() != 24 {
		t.Errorf("the setpoint after the start: %s", back.Body)
	}
}
