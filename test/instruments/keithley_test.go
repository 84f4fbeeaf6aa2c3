package instruments_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// A keithley is a model 2400: SCPI, numbers that stand for none, and a queue of
// errors in the place of answers.
type keithley struct {
	load       float64 // ohm; what hangs at its terminals
	settings   map[string]string
	errors     []string
	measured   int
	overranged bool
}

const noError = `0,"No error"`

func (k *keithley) switchOn() {
	*k = keithley{load: 1000, settings: map[string]string{
		":OUTP": "0", ":SOUR:CLE:AUTO": "0", ":SOUR:FUNC": "VOLT", ":SOUR:VOLT:LEV": "0.000000E+00", ":SOUR:CURR:LEV": "0.000000E+00",
		":SENS:VOLT:PROT": "2.100000E+01", ":SENS:CURR:PROT": "1.050000E-04",
	}}
}

func (k *keithley) cut(arrived string) int { return lineOf(arrived, "\r") }

func (k *keithley) answer(request string) string {
	request = strings.TrimSuffix(request, "\r")
	if reply := k.query(request); reply != "" {
		return reply + "\r"
	}
	return ""
}

func (k *keithley) number(header string) float64 {
	x, err := strconv.ParseFloat(k.settings[header], 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

func (k *keithley) query(request string) string {
	switch request {
	case "*IDN?":
		return "KEITHLEY INSTRUMENTS INC.,MODEL 2400,1234567,C30   Mar 17 2006 09:29:29/A02  /K/J"
	case ":READ?":
		return k.measure()
	case ":SYST:ERR?":
		if len(k.errors) == 0 {
			return noError
		}
		oldest := k.errors[0]
		k.errors = k.errors[1:]
		return oldest
	case ":SYST:CLE":
		k.errors = nil
		return ""
	case "*RST":
		errors := k.errors // A reset leaves the queue alone.
		k.switchOn()
		k.errors = errors
		return ""
	case "*OPC?":
		return "1"
	case ":SENS:CURR:PROT:TRIP?":
		_, _, held := k.flow()
		return strconv.Itoa(held)
	}
	if header, ok := strings.CutSuffix(request, "?"); ok {
		if value, known := k.settings[header]; known {
			return value
		}
		k.fail(`-113,"Undefined header"`)
		return ""
	}
	k.set(request)
	return ""
}

// fail puts an error into the queue, which holds ten.
func (k *keithley) fail(words string) {
	if len(k.errors) < 10 {
		k.errors = append(k.errors, words)
	}
}

func (k *keithley) set(request string) {
	header, value, _ := strings.Cut(request, " ")
	x, err := strconv.ParseFloat(value, 64)
	_, known := k.settings[header]
	switch {
	case header == ":FORM:ELEM":
	case !known:
		k.fail(`-113,"Undefined header"`)
	case header == ":SOUR:FUNC":
		k.settings[header] = value
	case err != nil:
		k.fail(`-104,"Data type error"`)
	// It gives 1.05 A up to 21 V, and 105 mA above.
	case header == ":SOUR:CURR:LEV" && math.Abs(x) > 0.105 && k.number(":SENS:VOLT:PROT") > 21:
		k.fail(`-222,"Parameter data out of range"`)
	case strings.HasPrefix(header, ":OUTP") || header == ":SOUR:CLE:AUTO":
		k.settings[header] = value
	default:
		k.settings[header] = fmt.Sprintf("%.6E", x)
	}
}

// flow is Ohm's law, with the limit of the current.
func (k *keithley) flow() (volt, ampere float64, held int) {
	volt = k.number(":SOUR:VOLT:LEV")
	ampere = volt / k.load
	if limit := k.number(":SENS:CURR:PROT"); ampere > limit {
		return limit * k.load, limit, 1
	}
	return volt, ampere, 0
}

func (k *keithley) measure() string {
	if k.settings[":OUTP"] == "0" && k.settings[":SOUR:CLE:AUTO"] == "0" {
		k.fail(`+803,"Not permitted with OUTPUT off"`)
		return ""
	}
	k.measured++
	volt, ampere, held := k.flow()
	ohm := 9.91e37 // It was not told to measure that.
	if k.overranged {
		ampere = 9.9e37
	}
	return fmt.Sprintf("%+.6E,%+.6E,%+.6E,%+.6E,%+.6E", volt, ampere, ohm, float64(k.measured), float64(13824+8*held))
}

func startKeithley(t *testing.T, oldAndNew ...string) (*keithley, *port, *rig.Gateway) {
	t.Helper()
	k := &keithley{}
	p := plugIn(t, k, time.Millisecond)
	gateway := p.gateway("keithley2400.yaml", append([]string{"poll: 1s", "poll: 100ms"}, oldAndNew...)...)
	return k, p, gateway
}

// ready is what the tests begin with: 1.5 V across 1 kiloohm.
func ready(t *testing.T, g *rig.Gateway) {
	t.Helper()
	put(t, g, "smu.auto_off", `"On"`)
	put(t, g, "smu.current_compliance", "0.01")
	put(t, g, "smu.voltage_level", "1.5")
	put(t, g, "smu.output", `"On"`)
}

func TestKeithleySourcesAndMeasures(t *testing.T) {
	k, p, g := startKeithley(t)
	ready(t, g)
	shows(t, g, map[string]string{
		"smu.voltage": "1.5", "smu.current": "0.0015", "smu.status_word": "13824", "smu.source_function": `"Voltage"`,
		"smu.in_compliance": `"No"`, "smu.current_compliance": "0.01", "smu.voltage_compliance": "21", "smu.last_error.code": "0",
	})
	// The instrument's own number for "not measured" is no resistance.
	if r := failing(t, g, "smu.resistance", "READ"); r.Text() == "9.91e+37" {
		t.Errorf("a resistance that was not measured: %s", r.Body)
	}
	p.touch(func() { k.load = 10 })
	shows(t, g, map[string]string{"smu.current": "0.01", "smu.voltage": "0.1", "smu.in_compliance": `"Yes"`})
	if r := g.Get("smu.in_compliance"); r.Alarm.Severity != "MINOR" {
		t.Errorf("a voltage that is held down: %s", r.Body)
	}
	for _, x := range p.said() {
		if strings.Contains(x.request, "?") == (x.reply == "") && x.request != ":READ?\r" {
			t.Errorf("an exchange with an error: %q, %q", x.request, x.reply)
		}
	}
	put(t, g, "smu.output", `"Off"`)
	g.Stop()
}

// SD-21: 9.9E37 is above the range, and no current.
func TestSD21AKeithleyAboveItsRangeIsNoNumber(t *testing.T) {
	k, p, g := startKeithley(t)
	ready(t, g)
	g.AwaitGood("smu.current")
	stream := g.Watch("smu.current")
	p.touch(func() { k.overranged = true })
	over := stream.Until(rig.Limit, "over range", func(e *rig.Reply) bool { return e.Event == "sample" && e.Alarm.Status == "HIHI" })
	if over.Alarm.Severity != "MAJOR" || !slices.Contains([]string{"Infinity", "Inf", "+Inf", "null"}, over.Text()) {
		t.Errorf("over range: %s", over.Body)
	}
	if volt := g.Get("smu.voltage"); !volt.Good() || volt.Number() != 1.5 {
		t.Errorf("the other elements of the line count: %s", volt.Body)
	}
	p.touch(func() { k.overranged = false })
	stream.Until(rig.Limit, "in range again", func(e *rig.Reply) bool { return e.Good() && e.Number() == 0.0015 && e.Alarm.Severity == "NO_ALARM" })
}

func TestAKeithleySetIsRefusedWithTheWordsOfItsErrorQueue(t *testing.T) {
	k, p, g := startKeithley(t)
	ready(t, g)
	put(t, g, "smu.voltage_compliance", "100")
	put(t, g, "smu.current_level", "0.1")
	r := refused(t, g, "smu.current_level", "0.5", `-222,"Parameter data out of range"`)
	if got := g.Get("smu.current_level"); got.Number() != 0.1 || got.Setpoint.Number() != 0.5 || got.Setpoint.Alarm.Status != "WRITE" || !got.Good() {
		t.Errorf("after it was refused: %s\n%s", got.Body, r.Body)
	}
	put(t, g, "smu.current_level", "0.05")
	// The three messages of a set are one piece: no poll comes between.
	sent := p.said()
	for i, x := range sent {
		if x.request != ":SYST:CLE\r" {
			continue
		}
		if i+2 >= len(sent) || strings.Contains(sent[i+1].request, "?") || sent[i+2].request != ":SYST:ERR?\r" {
			t.Fatalf("something came between: %v", sent[i:min(i+3, len(sent))])
		}
	}
	p.touch(func() {
		if k.number(":SOUR:CURR:LEV") != 0.05 || len(k.errors) != 0 {
			t.Errorf("it holds %v, %q", k.settings, k.errors)
		}
	})
}

// While its output is off it does not answer to :READ?, and says why in its
// queue. Nothing else is lost by that.
func TestAKeithleyThatMayNotMeasureSaysWhy(t *testing.T) {
	_, p, g := startKeithley(t, "poll: 5s", "poll: 300ms", "reply_timeout: 1s", "reply_timeout: 300ms")
	failing(t, g, "smu.voltage", "TIMEOUT")
	r := g.Await("smu.last_error.code", rig.Limit, "803", func(r *rig.Reply) bool { return r.Good() && r.Number() == 803 })
	if r.Availability.State != "connected" {
		t.Errorf("the device is there: %s", r.Body)
	}
	put(t, g, "smu.voltage_level", "2")
	put(t, g, "smu.current_compliance", "0.1")
	put(t, g, "smu.output", `"On"`)
	shows(t, g, map[string]string{"smu.voltage": "2", "smu.current": "0.002"})
	if n := p.times(":OUTP 1\r"); n != 1 {
		t.Errorf("the output was switched %d times", n)
	}
}

// A measurement of fewer elements than asked for is of none.
func TestAKeithleyLineWithTooFewElementsIsNotPublished(t *testing.T) {
	_, p, g := startKeithley(t, "reply_timeout: 1s", "reply_timeout: 300ms")
	ready(t, g)
	g.AwaitGood("smu.current")
	stream := g.Watch("smu.>")
	for _, spoilt := range []fault{instead("+1.500000E+00,", ""), instead("+1.500000E-03", "+1.5 0000E-03"), torn, silent, {late: 320 * time.Millisecond}} {
		p.spoil(":READ?\r", spoilt)
		stream.Until(rig.Limit, "a failed reading", func(e *rig.Reply) bool {
			return e.Name == "smu.voltage" && e.Alarm.Severity == "INVALID"
		})
		stream.Until(rig.Limit, "a good reading", func(e *rig.Reply) bool { return e.Name == "smu.voltage" && e.Good() })
	}
	onlyEver(t, stream, map[string][]string{"smu.voltage": {"1.5"}, "smu.current": {"0.0015"}, "smu.voltage_level": {"1.5"}})
}

func TestAKeithleyThatIsSwitchedOffAndOnIsReadAnew(t *testing.T) {
	k, p, g := startKeithley(t)
	ready(t, g)
	replugged(t, p, g, "smu.output", func() { p.touch(k.switchOn) })
	g.Await("smu.output", rig.Limit, "off", func(r *rig.Reply) bool { return r.Good() && r.Text() == "Off" && r.Setpoint.Text() == "Off" })
	if n := p.times(":OUTP 1\r"); n != 1 {
		t.Errorf("the output was switched on %d times", n)
	}
}
