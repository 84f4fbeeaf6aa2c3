package instruments_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// An sc10 is a shutter controller: it repeats what it is told, ends every reply
// in a prompt, and has a button in the place of On and Off.
type sc10 struct {
	settings map[string]int
	saved    map[string]int // over a power cycle
	tripped  bool
	toggled  int
}

// switchOn leaves the shutter closed, whatever it was before.
func (s *sc10) switchOn() {
	if s.saved == nil {
		s.saved = map[string]int{"mode": 1, "trig": 0, "xto": 0, "open": 100, "shut": 200, "rep": 5}
	}
	s.settings = map[string]int{"ens": 0}
	for name, value := range s.saved {
		s.settings[name] = value
	}
}

func (s *sc10) cut(arrived string) int { return lineOf(arrived, "\r") }

func (s *sc10) answer(request string) string {
	const prompt = "> "
	reply := s.obey(strings.TrimSuffix(request, "\r"))
	if reply != "" {
		reply += "\r"
	}
	return request + reply + prompt
}

// limits of what can be set.
var sc10Limits = map[string][2]int{
	"mode": {1, 5}, "trig": {0, 1}, "xto": {0, 1}, "open": {1, 999999}, "shut": {1, 999999}, "rep": {1, 99},
}

// obey returns the line that stands between the echo and the prompt.
func (s *sc10) obey(request string) string {
	switch request {
	case "id?":
		return "THORLABS SC10 VERSION 1.07"
	case "ens":
		if !s.tripped {
			s.settings["ens"] = 1 - s.settings["ens"]
			s.toggled++
		}
		return ""
	case "closed?":
		return strconv.Itoa(1 - s.settings["ens"])
	case "interlock?":
		if s.tripped {
			return "1"
		}
		return "0"
	case "savp":
		for name := range s.saved {
			s.saved[name] = s.settings[name]
		}
		return ""
	case "resp":
		for name, value := range s.saved {
			s.settings[name] = value
		}
		return ""
	}
	if name, ok := strings.CutSuffix(request, "?"); ok {
		if value, known := s.settings[name]; known {
			return strconv.Itoa(value)
		}
		return "Command error CMD_NOT_DEFINED"
	}
	name, value, _ := strings.Cut(request, "=")
	limits, known := sc10Limits[name]
	if !known {
		return "Command error CMD_NOT_DEFINED"
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < limits[0] || n > limits[1] || name == "mode" && s.settings["ens"] == 1 {
		return "Command error CMD_ARG_INVALID"
	}
	s.settings[name] = n
	return ""
}

func startSC10(t *testing.T, oldAndNew ...string) (*sc10, *port, *rig.Gateway) {
	t.Helper()
	s := &sc10{}
	p := plugIn(t, s, time.Millisecond)
	gateway := p.gateway("sc10.yaml", append([]string{"poll: 500ms", "poll: 100ms", "poll: 2s", "poll: 200ms"}, oldAndNew...)...)
	return s, p, gateway
}

func TestSC10IsReadAndSet(t *testing.T) {
	s, p, g := startSC10(t)
	shows(t, g, map[string]string{
		"shutter.id": `"THORLABS SC10 VERSION 1.07"`, "shutter.enabled": `"Off"`, "shutter.blade": `"Closed"`, "shutter.interlock": `"Closed"`,
		"shutter.mode": `"Manual"`, "shutter.trigger": `"Internal"`, "shutter.trigger_out": `"Shutter"`,
		"shutter.open_time": "100", "shutter.closed_time": "200", "shutter.repeats": "5",
	})
	put(t, g, "shutter.mode", `"Repeat"`)
	put(t, g, "shutter.trigger", `"External"`)
	put(t, g, "shutter.trigger_out", `"Controller"`)
	put(t, g, "shutter.open_time", "999999")
	put(t, g, "shutter.closed_time", "1")
	put(t, g, "shutter.repeats", "99")
	if r := g.Execute("shutter.save"); r.Status != 200 {
		t.Errorf("save: %s", r.Body)
	}
	p.touch(func() {
		want := map[string]int{"mode": 4, "trig": 1, "xto": 1, "open": 999999, "shut": 1, "rep": 99}
		for name, value := range want {
			if s.saved[name] != value {
				t.Errorf("%s is %d, want %d", name, s.saved[name], value)
			}
		}
		s.settings["open"] = 50 // by its buttons
		s.tripped = true
	})
	shows(t, g, map[string]string{"shutter.open_time": "50", "shutter.interlock": `"Tripped"`})
	if r := g.Execute("shutter.restore"); r.Status != 200 {
		t.Errorf("restore: %s", r.Body)
	}
	shows(t, g, map[string]string{"shutter.open_time": "999999"})
	g.Stop()
}

func TestSC10RefusesWithItsWords(t *testing.T) {
	_, p, g := startSC10(t)
	g.AwaitGood("shutter.enabled")
	if r := g.Execute("shutter.toggle"); r.Status != 200 || r.Stage != "acknowledged" {
		t.Errorf("toggle: %s", r.Body)
	}
	shows(t, g, map[string]string{"shutter.enabled": `"On"`, "shutter.blade": `"Open"`})
	r := refused(t, g, "shutter.mode", `"Auto"`, "mode=2\rCommand error CMD_ARG_INVALID")
	if got := g.Get("shutter.mode"); got.Text() != "Manual" || !got.Good() || got.Setpoint.Alarm.Status != "WRITE" {
		t.Errorf("after it was refused: %s\n%s", got.Body, r.Body)
	}
	if n := p.times("mode=2\r"); n != 1 {
		t.Errorf("sent %d times", n)
	}
}

// SD-41a: whether the toggle was taken cannot be known when nothing comes back.
// A second one would undo the first.
func TestSD41ToggleIsNeverRepeated(t *testing.T) {
	for _, test := range []struct {
		what  string
		spoil fault
	}{
		{"nothing came back", silent},
		{"the echo was lost", instead("ens\r", "")},
		{"the echo was torn", torn},
		{"the echo was garbled", flipped(1)},
		{"the echo came late", fault{late: 250 * time.Millisecond}},
	} {
		t.Run(test.what, func(t *testing.T) {
			s, p, g := startSC10(t, "reply_timeout: 500ms", "reply_timeout: 200ms")
			g.AwaitGood("shutter.enabled")
			stream := g.Watch("shutter.>")
			p.spoil("ens\r", test.spoil)
			r := g.Execute("shutter.toggle")
			if r.Status == 200 || r.Code != "unknown_outcome" && r.Code != "refused_by_device" {
				t.Errorf("the verdict: %d %s", r.Status, r.Body)
			}
			// What it does shows in the next polls.
			shows(t, g, map[string]string{"shutter.enabled": `"On"`, "shutter.blade": `"Open"`})
			if r := g.Execute("shutter.toggle"); r.Status != 200 {
				t.Errorf("the next one: %d %s", r.Status, r.Body)
			}
			shows(t, g, map[string]string{"shutter.enabled": `"Off"`, "shutter.blade": `"Closed"`})
			p.touch(func() {
				if s.toggled != 2 {
					t.Errorf("two toggles were asked for, %d were sent", s.toggled)
				}
			})
			onlyEver(t, stream, map[string][]string{"shutter.mode": {`"Manual"`}, "shutter.open_time": {"100"}, "shutter.closed_time": {"200"}, "shutter.repeats": {"5"}})
		})
	}
}

// A put presses the button only where that leads to what is wanted, also when
// somebody has pressed it since the last poll.
func TestSC10IsOpenedAndClosed(t *testing.T) {
	s, p, g := startSC10(t, "poll: 100ms", "poll: 1h")
	pressed := func(want int) {
		t.Helper()
		p.touch(func() {
			if s.toggled != want {
				t.Errorf("the button was pressed %d times, want %d", s.toggled, want)
			}
		})
	}
	put(t, g, "shutter.enabled", `"On"`)
	pressed(1)
	put(t, g, "shutter.enabled", `"On"`)
	pressed(1)
	put(t, g, "shutter.enabled", `"Off"`)
	pressed(2)
	p.touch(func() { s.settings["ens"] = 1 }) // by its own button
	put(t, g, "shutter.enabled", `"On"`)
	pressed(2)
	p.spoil("ens\r", silent)
	if r := g.Put("shutter.enabled", `"Off"`, ""); r.Code != "unknown_outcome" || r.Status != 504 {
		t.Errorf("nothing came back: %d %s", r.Status, r.Body)
	}
	pressed(3)
	put(t, g, "shutter.enabled", `"Off"`)
	pressed(3)
	p.touch(func() { s.tripped = true })
	if r := g.Put("shutter.enabled", `"On"`, ""); r.Text() != "Off" {
		t.Errorf("with the interlock open: %d %s", r.Status, r.Body)
	}
}

// A reply that came without its echo says nothing, not even where it looks well.
func TestSC10ReplyWithoutItsEchoIsNotPublished(t *testing.T) {
	_, p, g := startSC10(t, "reply_timeout: 500ms", "reply_timeout: 200ms")
	g.AwaitGood("shutter.repeats")
	stream := g.Watch("shutter.>")
	for _, spoilt := range []fault{instead("open?\r", ""), instead("open?\r100", "shut?\r5"), torn, {late: 220 * time.Millisecond}, instead("100", "1 0")} {
		p.spoil("open?\r", spoilt)
		stream.Until(rig.Limit, "a failed reading", func(e *rig.Reply) bool { return e.Name == "shutter.open_time" && e.Alarm.Severity == "INVALID" })
		stream.Until(rig.Limit, "a good reading", func(e *rig.Reply) bool { return e.Name == "shutter.open_time" && e.Good() })
	}
	onlyEver(t, stream, map[string][]string{"shutter.mode": {`"Manual"`}, "shutter.open_time": {"100"}, "shutter.closed_time": {"200"}, "shutter.repeats": {"5"}})
}

func TestSC10IsUnpluggedAndComesBackClosed(t *testing.T) {
	s, p, g := startSC10(t)
	g.AwaitGood("shutter.enabled")
	g.Execute("shutter.toggle")
	shows(t, g, map[string]string{"shutter.enabled": `"On"`})
	replugged(t, p, g, "shutter.enabled", func() { p.touch(s.switchOn) })
	shows(t, g, map[string]string{"shutter.enabled": `"Off"`, "shutter.blade": `"Closed"`})
	p.touch(func() {
		if s.toggled != 1 {
			t.Errorf("%d toggles were sent for one", s.toggled)
		}
	})
}
