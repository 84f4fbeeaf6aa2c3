package instruments_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// A tpg is a vacuum gauge controller. It answers to <ENQ>, and what it answers
// is about the last message that it acknowledged.
type tpg struct {
	state            int
	pressure         float64
	units, on        int
	filter, relays   int
	fault            int
	asked            string // the last message without its parameters
	enquired, noises int    // ENQs, and those without a message before
}

func (g *tpg) switchOn() { *g = tpg{pressure: 1.2e-7, on: 2, filter: 1, relays: 0b0101} }

// cut: <ENQ> is one byte anywhere, and clears what is unfinished.
func (g *tpg) cut(arrived string) int {
	if i := strings.IndexByte(arrived, '\x05'); i >= 0 && i < max(lineOf(arrived, "\r"), 1) {
		return i + 1
	}
	return lineOf(arrived, "\r")
}

const (
	ack = "\x06\r\n"
	nak = "\x15\r\n"
)

func (g *tpg) answer(request string) string {
	if strings.HasSuffix(request, "\x05") {
		g.enquired++
		if g.asked == "" {
			g.noises++
		}
		return g.tell() + "\r\n"
	}
	parts := strings.Split(strings.TrimSuffix(request, "\r"), ",")
	numbers := make([]int, len(parts))
	for i, part := range parts[1:] {
		n, err := strconv.Atoi(part)
		if err != nil {
			g.fault = 1
			return nak
		}
		numbers[i+1] = n
	}
	if !g.take(parts[0], numbers[1:]) {
		return nak
	}
	g.asked = parts[0]
	return ack
}

// take obeys a message, and reports whether it does.
func (g *tpg) take(name string, args []int) bool {
	switch {
	case !slices.Contains([]string{"PR1", "UNI", "SEN", "FIL", "SPS", "ERR", "TID"}, name):
		g.fault = 1
		return false
	case len(args) == 0:
		return true
	case name == "UNI" && args[0] <= 2:
		g.units = args[0]
	case name == "FIL" && args[0] <= 2:
		g.filter = args[0]
	// A gauge that switches itself cannot be switched; this one has no hardware for that.
	case name == "SEN" && args[0] <= 2 && g.state != 5:
		if g.on = args[0]; g.on == 1 {
			g.state = 4
		} else {
			g.state = 0
		}
	default:
		g.fault = 10
		return false
	}
	return true
}

func (g *tpg) tell() string {
	switch g.asked {
	case "PR1":
		return fmt.Sprintf("%d,%+.4E", g.state, g.pressure)
	case "UNI":
		return strconv.Itoa(g.units)
	case "SEN":
		return fmt.Sprintf("%d,0", g.on)
	case "FIL":
		return fmt.Sprintf("%d,1", g.filter)
	case "SPS":
		return fmt.Sprintf("%d,%d,%d,%d", g.relays&1, g.relays>>1&1, g.relays>>2&1, g.relays>>3&1)
	case "ERR":
		fault := g.fault
		g.fault = 0
		return fmt.Sprintf("%04d", fault)
	case "TID":
		return "PKR,noSEn"
	}
	return ""
}

func startTPG(t *testing.T, oldAndNew ...string) (*tpg, *port, *rig.Gateway) {
	t.Helper()
	g := &tpg{}
	p := plugIn(t, g, time.Millisecond)
	gateway := p.gateway("tpg261.yaml", append([]string{
		"poll: 500ms", "poll: 50ms", "poll: 1s", "poll: 50ms", "poll: 2s", "poll: 50ms", "poll: 5s", "poll: 50ms",
	}, oldAndNew...)...)
	return g, p, gateway
}

// undisturbed checks that each <ENQ> came right after a message that was
// acknowledged, and that each such message was followed by its <ENQ>.
func undisturbed(t *testing.T, p *port) {
	t.Helper()
	said := p.said()
	for i := 1; i < len(said); i++ {
		before, x := said[i-1], said[i]
		if x.request == "\x05" && (before.request == "\x05" || before.reply != ack) {
			t.Errorf("<ENQ> came after %q, %q", before.request, before.reply)
		}
		if before.request != "\x05" && before.reply == ack && x.request != "\x05" {
			t.Errorf("%q came between %q and its <ENQ>", x.request, before.request)
		}
	}
}

func TestTPGIsReadByHandshake(t *testing.T) {
	tpg, p, g := startTPG(t)
	shows(t, g, map[string]string{
		"gauge.pressure": "1.2e-7", "gauge.state": `"OK"`, "gauge.sensor": `"PKR"`, "gauge.units": `"mbar"`, "gauge.sensor_on": `"On"`,
		"gauge.filter": `"Standard"`, "gauge.relays": "5", "gauge.error": `"None"`,
	})
	p.touch(func() { tpg.pressure, tpg.relays = 3.4e-3, 0b1000 })
	shows(t, g, map[string]string{"gauge.pressure": "0.0034", "gauge.relays": "8"})
	if r := g.Get("gauge.pressure"); r.Alarm.Severity != "MINOR" || r.Alarm.Status != "HIGH" {
		t.Errorf("a high pressure: %s", r.Body)
	}
	for i := range 20 {
		put(t, g, "gauge.units", []string{`"Torr"`, `"Pa"`, `"mbar"`}[i%3])
		put(t, g, "gauge.filter", []string{`"Slow"`, `"Fast"`}[i%2])
	}
	g.Stop()
	undisturbed(t, p)
	if tpg.noises > 0 || tpg.enquired < 100 {
		t.Errorf("%d of %d enquiries were about nothing", tpg.noises, tpg.enquired)
	}
}

// With any state but 0 the number is no pressure.
func TestTPGWithoutAGaugeHasNoPressure(t *testing.T) {
	tpg, p, g := startTPG(t)
	shows(t, g, map[string]string{"gauge.pressure": "1.2e-7"})
	stream := g.Watch("gauge.>")
	for state, label := range map[int]string{1: "Under range", 2: "Over range", 5: "No sensor"} {
		p.touch(func() { tpg.state, tpg.pressure = state, 2e-2 })
		r := g.Await("gauge.state", rig.Limit, label, func(r *rig.Reply) bool { return r.Text() == label })
		if r.Alarm.Status != "STATE" {
			t.Errorf("state %s: %s", label, r.Body)
		}
		if r := failing(t, g, "gauge.pressure", "READ"); r.Number() == 2e-2 {
			t.Errorf("%s has a pressure: %s", label, r.Body)
		}
		p.touch(func() { tpg.state, tpg.pressure = 0, 1.2e-7 })
		shows(t, g, map[string]string{"gauge.pressure": "1.2e-7", "gauge.state": `"OK"`})
	}
	for _, e := range stream.Waiting() {
		if e.Name == "gauge.pressure" && e.Number() == 2e-2 {
			t.Errorf("no pressure: %s", e.Body)
		}
	}
}

func TestTPGRefusesWithNAK(t *testing.T) {
	tpg, p, g := startTPG(t)
	put(t, g, "gauge.sensor_on", `"Off"`)
	shows(t, g, map[string]string{"gauge.state": `"Sensor off"`})
	put(t, g, "gauge.sensor_on", `"On"`)
	p.touch(func() { tpg.state = 5 })
	stream := g.Watch("gauge.error")
	refused(t, g, "gauge.sensor_on", `"Off"`, "\x15")
	stream.Until(rig.Limit, "its reason", func(e *rig.Reply) bool { return e.Event == "sample" && e.Text() == "Parameter" })
	shows(t, g, map[string]string{"gauge.sensor_on": `"On"`, "gauge.error": `"None"`})
	undisturbed(t, p)
}

// A handshake that breaks in its middle is given up: its <ENQ> does not come
// later, and its answer is not taken for that of the next one.
func TestATPGHandshakeThatBreaksIsGivenUp(t *testing.T) {
	_, p, g := startTPG(t, "reply_timeout: 500ms", "reply_timeout: 200ms")
	g.AwaitGood("gauge.error")
	g.AwaitGood("gauge.filter")
	stream := g.Watch("gauge.>")
	for _, request := range []string{"UNI\r", "\x05", "SPS\r"} {
		for _, spoilt := range []fault{silent, torn, {late: 220 * time.Millisecond}, instead("\x06", "\x07"), instead("\x06", "\x15")} {
			p.spoil(request, spoilt)
			if !rig.Until(rig.Limit, func() bool { return len(p.left(request)) == 0 }) {
				t.Fatal("it is not asked any more")
			}
			shows(t, g, map[string]string{"gauge.units": `"mbar"`, "gauge.relays": "5", "gauge.pressure": "1.2e-7"})
		}
	}
	onlyEver(t, stream, map[string][]string{
		"gauge.pressure": {"1.2e-7"}, "gauge.state": {`"OK"`}, "gauge.units": {`"mbar"`}, "gauge.sensor_on": {`"On"`},
		"gauge.filter": {`"Standard"`}, "gauge.relays": {"5"}, "gauge.error": {`"None"`},
	})
	said := p.said()
	for i := 1; i < len(said); i++ {
		if said[i].request == "\x05" && !strings.Contains(said[i-1].reply, ack) {
			t.Errorf("<ENQ> came after %q, %q", said[i-1].request, said[i-1].reply)
		}
	}
}

func TestTPGIsUnpluggedAndPluggedInAgain(t *testing.T) {
	tpg, p, g := startTPG(t)
	put(t, g, "gauge.units", `"Torr"`)
	for range 3 {
		replugged(t, p, g, "gauge.units", func() { p.touch(tpg.switchOn) })
		shows(t, g, map[string]string{"gauge.units": `"mbar"`, "gauge.pressure": "1.2e-7"})
	}
	if n := p.times("UNI,1\r"); n != 1 {
		t.Errorf("a put was sent %d times", n)
	}
}
