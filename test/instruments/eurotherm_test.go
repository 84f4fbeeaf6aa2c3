package instruments_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// A eurotherm is a controller of the 2000 series at address 1, 1, in
// EI-Bisynch: a check byte behind the terminator, and single bytes for yes and
// no.
type eurotherm struct {
	values map[string]float64
	status int
	fault  int
	writes int
}

func (e *eurotherm) switchOn() {
	*e = eurotherm{values: map[string]float64{
		"PV": 21.5, "SL": 20, "OP": 12.5, "HO": 100, "RR": 0, "LS": 0, "HS": 1000, "XP": 20, "TI": 360, "TD": 60, "mA": 0,
	}, status: 0x0010}
}

// cut: <ENQ> ends a read, <ETX> and one byte a write.
func (e *eurotherm) cut(arrived string) int {
	for i := range len(arrived) {
		switch {
		case arrived[i] == '\x05':
			return i + 1
		case arrived[i] == '\x03' && i+1 < len(arrived):
			return i + 2
		}
	}
	return 0
}

func checkByte(s string) string {
	sum := byte(0)
	for i := range len(s) {
		sum ^= s[i]
	}
	return string([]byte{sum})
}

func (e *eurotherm) answer(request string) string {
	message, mine := strings.CutPrefix(request, "\x041111")
	if !mine {
		return "" // Another one's address, or none.
	}
	if name, read := strings.CutSuffix(message, "\x05"); read {
		value, known := e.read(name)
		if !known {
			e.fault = 1
			return "\x04"
		}
		body := name + value + "\x03"
		return "\x02" + body + checkByte(body)
	}
	body := message[1 : len(message)-1]
	if e.fault = e.write(body, message[len(message)-1:]); e.fault != 0 {
		return "\x15"
	}
	e.writes++
	return "\x06"
}

func (e *eurotherm) read(name string) (value string, known bool) {
	switch name {
	case "SO":
		return fmt.Sprintf(">%04X", e.status), true
	case "EE":
		return fmt.Sprintf(">%04X", e.fault), true
	case "SP":
		name = "SL"
	}
	x, known := e.values[name]
	if name == "TI" || name == "TD" || name == "mA" {
		return fmt.Sprintf("%5.0f.", x), known
	}
	return fmt.Sprintf("%6.1f", x), known
}

// write takes a message of mnemonic, value and <ETX>. It returns why not, or 0.
func (e *eurotherm) write(body, check string) (fault int) {
	if check != checkByte(body) {
		return 2
	}
	name, text := body[:2], body[2:len(body)-1]
	_, known := e.values[name]
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case !known:
		return 1
	case err != nil:
		return 7
	case name == "PV" || name == "OP" && e.values["mA"] == 0:
		return 5
	case name == "SL" && (x < e.values["LS"] || x > e.values["HS"]):
		return 8
	}
	e.values[name] = x
	return 0
}

func startEurotherm(t *testing.T, oldAndNew ...string) (*eurotherm, *port, *rig.Gateway) {
	t.Helper()
	e := &eurotherm{}
	p := plugIn(t, e, time.Millisecond)
	gateway := p.gateway("eurotherm2000.yaml", append([]string{
		"poll: 500ms", "poll: 50ms", "poll: 1s", "poll: 50ms", "poll: 5s", "poll: 50ms", "poll: 10s", "poll: 100ms",
	}, oldAndNew...)...)
	return e, p, gateway
}

func TestEurothermIsReadAndSet(t *testing.T) {
	e, p, g := startEurotherm(t)
	shows(t, g, map[string]string{
		"furnace.temperature": "21.5", "furnace.setpoint": "20", "furnace.working_setpoint": "20", "furnace.output": "12.5", "furnace.output_limit": "100",
		"furnace.ramp_rate": "0", "furnace.setpoint_low": "0", "furnace.setpoint_high": "1000", "furnace.proportional_band": "20",
		"furnace.integral_time": "360", "furnace.derivative_time": "60", "furnace.mode": `"Automatic"`, "furnace.status_word": "16", "furnace.last_error": "0",
	})
	put(t, g, "furnace.setpoint", "450")
	put(t, g, "furnace.output_limit", "80.5")
	put(t, g, "furnace.ramp_rate", "5")
	put(t, g, "furnace.proportional_band", "33.3")
	put(t, g, "furnace.integral_time", "400")
	put(t, g, "furnace.derivative_time", "0")
	put(t, g, "furnace.mode", `"Manual"`)
	p.touch(func() {
		for name, want := range map[string]float64{"SL": 450, "HO": 80.5, "RR": 5, "XP": 33.3, "TI": 400, "TD": 0, "mA": 1} {
			if e.values[name] != want {
				t.Errorf("%s is %v, want %v", name, e.values[name], want)
			}
		}
		e.values["SL"], e.values["PV"] = 300, 1160 // by its own buttons
	})
	shows(t, g, map[string]string{"furnace.setpoint": "300", "furnace.working_setpoint": "300", "furnace.temperature": "1160"})
	if r := g.Get("furnace.temperature"); r.Alarm.Severity != "MINOR" || r.Alarm.Status != "HIGH" {
		t.Errorf("it is hot: %s", r.Body)
	}
	// Check byte by hand: 53^4C^34^35^30^2E^30^03 = 33.
	if n := p.times("\x041111\x02SL450.0\x03\x33"); n != 1 {
		t.Errorf("the setpoint was sent %d times", n)
	}
	g.Stop()
}

func TestEurothermRefusesWithNAK(t *testing.T) {
	e, p, g := startEurotherm(t)
	put(t, g, "furnace.setpoint", "1000")
	refused(t, g, "furnace.setpoint", "1100", "\x15")
	shows(t, g, map[string]string{"furnace.last_error": "8", "furnace.setpoint": "1000"})
	if r := g.Get("furnace.setpoint"); r.Setpoint.Alarm.Status != "WRITE" || r.Setpoint.Number() != 1100 {
		t.Errorf("after it was refused: %s", r.Body)
	}
	put(t, g, "furnace.setpoint", "900")
	// A parameter that the controller does not have, as after a change of its configuration.
	p.touch(func() { delete(e.values, "TD") })
	failing(t, g, "furnace.derivative_time", "CALC")
	if r := g.AwaitGood("furnace.temperature"); r.Number() != 21.5 {
		t.Errorf("the others go on: %s", r.Body)
	}
}

// Whichever byte of a reply is hit, it is not published.
func TestEurothermReplyWithABadByteIsNeverPublished(t *testing.T) {
	_, p, g := startEurotherm(t, "reply_timeout: 300ms", "reply_timeout: 200ms")
	g.AwaitGood("furnace.setpoint_high")
	stream := g.Watch("furnace.>")
	const request = "\x041111PV\x05"
	length := len("\x02PV  21.5\x03?")
	for at := range length {
		p.spoil(request, flipped(at))
		stream.Until(rig.Limit, fmt.Sprintf("a failed reading, with byte %d spoilt", at), func(e *rig.Reply) bool {
			return e.Name == "furnace.temperature" && e.Alarm.Severity == "INVALID"
		})
		stream.Until(rig.Limit, "a good reading", func(e *rig.Reply) bool { return e.Name == "furnace.temperature" && e.Good() })
	}
	for _, spoilt := range []fault{silent, torn, {late: 240 * time.Millisecond}, instead("21.5", "21"), instead("PV", "SP"), instead("\x02", "\x02\x02")} {
		p.spoil(request, spoilt)
		stream.Until(rig.Limit, "a failed reading", func(e *rig.Reply) bool { return e.Name == "furnace.temperature" && e.Alarm.Severity == "INVALID" })
		stream.Until(rig.Limit, "a good reading", func(e *rig.Reply) bool { return e.Name == "furnace.temperature" && e.Good() })
	}
	onlyEver(t, stream, map[string][]string{
		"furnace.temperature": {"21.5"}, "furnace.setpoint": {"20"}, "furnace.working_setpoint": {"20"}, "furnace.output": {"12.5"},
		"furnace.integral_time": {"360"}, "furnace.mode": {`"Automatic"`}, "furnace.status_word": {"16"},
	})
}

// Without <ACK> it is not known whether the controller took it. It is not told
// twice; what it has shows in the readback.
func TestEurothermWriteWithoutACKIsNotRepeated(t *testing.T) {
	for what, spoilt := range map[string]fault{"silent": silent, "garbled": flipped(0), "late": {late: 240 * time.Millisecond}} {
		t.Run(what, func(t *testing.T) {
			e, p, g := startEurotherm(t, "reply_timeout: 300ms", "reply_timeout: 200ms")
			g.AwaitGood("furnace.setpoint")
			const request = "\x041111\x02SL450.0\x03\x33"
			p.spoil(request, spoilt)
			r := g.Put("furnace.setpoint", "450", "")
			if r.Status == 200 || r.Code != "unknown_outcome" && r.Code != "refused_by_device" {
				t.Errorf("the verdict: %d %s", r.Status, r.Body)
			}
			shows(t, g, map[string]string{"furnace.setpoint": "450", "furnace.temperature": "21.5"})
			put(t, g, "furnace.setpoint", "451")
			p.touch(func() {
				if e.writes != 2 {
					t.Errorf("two puts, but it was told %d times", e.writes)
				}
			})
			if n := p.times(request); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

func TestEurothermIsUnpluggedAndPluggedInAgain(t *testing.T) {
	e, p, g := startEurotherm(t)
	put(t, g, "furnace.setpoint", "450")
	for i := range 3 {
		replugged(t, p, g, "furnace.setpoint", func() { p.touch(func() { e.values["SL"] = float64(100 + i) }) })
		shows(t, g, map[string]string{"furnace.setpoint": strconv.Itoa(100 + i)})
	}
	p.touch(func() {
		if e.writes != 1 {
			t.Errorf("one put, but it was told %d times", e.writes)
		}
	})
}
