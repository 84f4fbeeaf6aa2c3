package instruments_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// A lakeshore is a model 336: lines, commas, and no word about a set, whether
// it takes it or not.
type lakeshore struct {
	kelvin, sensor [4]float64
	status         [4]int
	names          [4]string
	outputs        [2]lakeshoreOutput
}

type lakeshoreOutput struct {
	setpoint, heater, rate   float64
	ramp, span, fault, moves int
}

func (l *lakeshore) switchOn() {
	*l = lakeshore{
		kelvin: [4]float64{77.35, 4.2, 295.125, 0}, sensor: [4]float64{1.0235, 1.6255, 0.5592, 0},
		status: [4]int{0, 0, 0, 64}, names: [4]string{"Sample", "Shield", "Input C", "Input D"},
	}
	for i := range l.outputs {
		l.outputs[i] = lakeshoreOutput{setpoint: 20 + float64(i), heater: 12.5 + float64(i)}
	}
}

func (l *lakeshore) cut(arrived string) int { return lineOf(arrived, "\r\n") }

func (l *lakeshore) answer(request string) string {
	verb, rest, _ := strings.Cut(strings.TrimSuffix(request, "\r\n"), " ")
	args := strings.Split(rest, ",")
	if !strings.HasSuffix(verb, "?") {
		l.set(verb, args)
		return ""
	}
	if reply := l.query(verb, args[0]); reply != "" {
		return reply + "\r\n"
	}
	return "" // It does not know the query.
}

// number writes a number as the instrument does: +77.3500.
func (l *lakeshore) number(x float64) string { return fmt.Sprintf("%+.4f", x) }

func (l *lakeshore) all(x [4]float64) string {
	return strings.Join([]string{l.number(x[0]), l.number(x[1]), l.number(x[2]), l.number(x[3])}, ",")
}

func (l *lakeshore) query(verb, arg string) string {
	switch verb {
	case "*IDN?":
		return "LSCI,MODEL336,336ABCD/1234567,2.9"
	case "KRDG?":
		return l.all(l.kelvin)
	case "SRDG?":
		return l.all(l.sensor)
	}
	if input := strings.Index("ABCD", arg); input >= 0 {
		switch verb {
		case "RDGST?":
			return fmt.Sprintf("%03d", l.status[input])
		case "INNAME?":
			return fmt.Sprintf("%-15s", l.names[input])
		}
		return ""
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > 2 {
		return ""
	}
	o := &l.outputs[n-1]
	switch verb {
	case "SETP?":
		return l.number(o.setpoint)
	case "HTR?":
		return fmt.Sprintf("%+.1f", o.heater)
	case "RANGE?":
		return strconv.Itoa(o.span)
	case "HTRST?":
		return strconv.Itoa(o.fault)
	case "RAMP?":
		return fmt.Sprintf("%d,%+.3f", o.ramp, o.rate)
	case "RAMPST?":
		return strconv.Itoa(o.moves)
	case "PID?":
		return "+0050.0,+0020.0,+0000.0"
	case "OUTMODE?":
		return fmt.Sprintf("1,%d,0", n)
	}
	return ""
}

// set takes what makes sense and ignores the rest.
func (l *lakeshore) set(verb string, args []string) {
	if verb == "INNAME" && len(args) == 2 {
		l.names[strings.Index("ABCD", args[0])] = strings.Trim(args[1], `"`)
		return
	}
	values := make([]float64, len(args))
	for i, arg := range args {
		var err error
		if values[i], err = strconv.ParseFloat(arg, 64); err != nil {
			return
		}
	}
	if len(values) < 2 || values[0] != 1 && values[0] != 2 {
		return
	}
	o := &l.outputs[int(values[0])-1]
	switch {
	case verb == "SETP" && values[1] <= 325:
		o.setpoint = values[1]
	case verb == "RANGE" && o.fault == 0: // A heater with a fault stays off.
		o.span = int(values[1])
	case verb == "RAMP" && len(values) == 3:
		o.ramp, o.rate = int(values[1]), values[2]
	}
}

func startLakeshore(t *testing.T, oldAndNew ...string) (*lakeshore, *port, *rig.Gateway) {
	t.Helper()
	l := &lakeshore{}
	p := plugIn(t, l, time.Millisecond)
	// The pauses are for the real one.
	gateway := p.gateway("lakeshore336.yaml", append([]string{"write_delay: 50ms", "write_delay: 1ms", "poll: 5s", "poll: 200ms", "poll: 2s", "poll: 200ms"}, oldAndNew...)...)
	return l, p, gateway
}

func TestLakeshoreIsReadWithOneLineForAllInputs(t *testing.T) {
	_, p, g := startLakeshore(t)
	shows(t, g, map[string]string{
		"cryo.id":                 `"LSCI,MODEL336,336ABCD/1234567,2.9"`,
		"cryo.inputA.temperature": "77.35", "cryo.inputB.temperature": "4.2", "cryo.inputC.temperature": "295.125",
		"cryo.inputA.sensor": "1.0235", "cryo.inputD.sensor": "0", "cryo.inputA.status": "0", "cryo.inputD.status": "64",
		"cryo.inputA.name": `"Sample"`, "cryo.output1.setpoint": "20", "cryo.output2.setpoint": "21",
		"cryo.output1.heater": "12.5", "cryo.output2.heater": "13.5", "cryo.output1.range": `"Off"`, "cryo.output1.fault": `"None"`,
		"cryo.output1.ramp": `"Off"`, "cryo.output1.ramp_rate": "0", "cryo.output2.ramping": `"No"`, "cryo.output1.p": "50",
		"cryo.output1.i": "20", "cryo.output1.d": "0", "cryo.output1.mode": `"Closed loop"`, "cryo.output2.input": `"B"`,
	})
	a, b := g.Get("cryo.inputA.temperature"), g.Get("cryo.inputB.temperature")
	if !a.Time.Equal(b.Time) {
		// A poll may have come between the two.
		a = g.Get("cryo.inputA.temperature")
	}
	if !a.Time.Equal(b.Time) {
		t.Errorf("of one line, but not of one time: %s\n%s", a.Body, b.Body)
	}
	for _, missing := range []string{"cryo.inputD.temperature", "cryo.inputD.status"} {
		if r := g.Get(missing); r.Alarm.Severity == "NO_ALARM" {
			t.Errorf("input D has no sensor: %s", r.Body)
		}
	}
	if p.times("KRDG? A\r\n") != 0 || p.times("KRDG? 0\r\n") == 0 {
		t.Error("the inputs are asked one by one")
	}
	g.Stop()
}

func TestLakeshoreTakesPuts(t *testing.T) {
	l, p, g := startLakeshore(t)
	put(t, g, "cryo.output1.setpoint", "77.35")
	put(t, g, "cryo.output2.setpoint", "4.2")
	put(t, g, "cryo.output1.range", `"Medium"`)
	put(t, g, "cryo.output1.ramp_rate", "2.5")
	p.touch(func() {
		if l.outputs[0] != (lakeshoreOutput{setpoint: 77.35, heater: 12.5, rate: 2.5, ramp: 1, span: 2}) || l.outputs[1].setpoint != 4.2 {
			t.Errorf("the instrument holds %+v", l.outputs)
		}
	})
	shows(t, g, map[string]string{"cryo.output1.ramp": `"On"`})
	if r := g.Execute("cryo.output1.ramp_off"); r.Status != 200 {
		t.Errorf("ramp_off: %d %s", r.Status, r.Body)
	}
	// Nothing says that it was done.
	shows(t, g, map[string]string{"cryo.output1.ramp": `"Off"`})
	p.touch(func() { l.outputs[0].setpoint = 55.5 }) // by its own buttons
	shows(t, g, map[string]string{"cryo.output1.setpoint": "55.5"})
	for _, set := range []string{"SETP 1,77.350\r\n", "RANGE 1,2\r\n", "RAMP 1,1,2.5\r\n", "RAMP 1,0,0.0\r\n"} {
		if n := p.times(set); n != 1 {
			t.Errorf("%q was sent %d times", set, n)
		}
	}
}

// It says nothing of a set that it does not take: only the read-back tells.
func TestASetThatTheLakeshoreIgnoresShowsInTheReadback(t *testing.T) {
	l, p, g := startLakeshore(t)
	put(t, g, "cryo.output1.range", `"Low"`)
	p.touch(func() { l.outputs[0].fault, l.outputs[0].span = 1, 0 })
	r := g.Put("cryo.output1.range", `"High"`, "")
	if r.Stage != "acknowledged" || r.Text() != "Off" || r.Setpoint.Text() != "High" {
		t.Errorf("a set that was ignored: %s", r.Body)
	}
	got := g.Await("cryo.output1.fault", rig.Limit, "Open load", func(r *rig.Reply) bool { return r.Text() == "Open load" })
	if got.Alarm.Severity != "MAJOR" || got.Alarm.Status != "STATE" {
		t.Errorf("a fault of the heater: %s", got.Body)
	}
}

// A line with one number that is none, or with one too few, says nothing.
func TestALakeshoreLineIsTakenAsAWholeOrNotAtAll(t *testing.T) {
	l, p, g := startLakeshore(t, "poll: 500ms", "poll: 50ms")
	g.AwaitGood("cryo.inputC.temperature")
	stream := g.Watch("cryo.*.temperature")
	for _, spoilt := range []fault{
		instead("+4.2000", "+4.2.00"), instead("+77.3500,", ""), instead(",+0.0000", ""), torn, silent, flipped(0),
	} {
		p.spoil("KRDG? 0\r\n", spoilt)
		stream.Until(rig.Limit, "a failed reading", func(e *rig.Reply) bool { return e.Alarm.Severity == "INVALID" && e.Name == "cryo.inputA.temperature" })
		stream.Until(rig.Limit, "a good reading", func(e *rig.Reply) bool { return e.Good() && e.Name == "cryo.inputA.temperature" })
	}
	p.touch(func() { l.kelvin[0] = 78 })
	stream.Until(rig.Limit, "what it says now", func(e *rig.Reply) bool { return e.Name == "cryo.inputA.temperature" && e.Number() == 78 })
	onlyEver(t, stream, map[string][]string{
		"cryo.inputA.temperature": {"77.35", "78"}, "cryo.inputB.temperature": {"4.2"}, "cryo.inputC.temperature": {"295.125"},
	})
}

// SD-01: bare numbers, late by more than the reply timeout, while everything
// else is polled.
func TestSD01ALateLakeshoreReplyIsNeverTakenForAnother(t *testing.T) {
	_, p, g := startLakeshore(t, "poll: 1s", "poll: 50ms", "poll: 500ms", "poll: 50ms", "reply_timeout: 500ms", "reply_timeout: 100ms")
	g.AwaitGood("cryo.output2.heater")
	stream := g.Watch("cryo.>")
	for _, late := range []time.Duration{105 * time.Millisecond, 120 * time.Millisecond, 140 * time.Millisecond} {
		p.spoil("SETP? 1\r\n", fault{late: late})
		stream.Until(rig.Limit, "a reply that is late", func(e *rig.Reply) bool {
			return e.Name == "cryo.output1.setpoint" && e.Alarm.Status == "TIMEOUT"
		})
		stream.Until(rig.Limit, "a good reply", func(e *rig.Reply) bool { return e.Name == "cryo.output1.setpoint" && e.Good() })
	}
	onlyEver(t, stream, map[string][]string{
		"cryo.output1.setpoint": {"20"}, "cryo.output2.setpoint": {"21"},
		"cryo.output1.heater": {"12.5"}, "cryo.output2.heater": {"13.5"},
	})
}

func TestLakeshoreIsUnpluggedAndPluggedInAgain(t *testing.T) {
	l, p, g := startLakeshore(t)
	put(t, g, "cryo.output1.setpoint", "77.35")
	for i := range 3 {
		replugged(t, p, g, "cryo.output1.setpoint", func() {
			p.touch(func() { l.outputs[0].setpoint = float64(30 + i) })
		})
		shows(t, g, map[string]string{"cryo.output1.setpoint": strconv.Itoa(30 + i)})
	}
	if got := g.Get("cryo.output1.setpoint"); got.Setpoint.Number() != 32 {
		t.Errorf("the setpoint is not what it holds: %s", got.Body)
	}
	if n := p.times("SETP 1,77.350\r\n"); n != 1 {
		t.Errorf("a put was sent %d times", n)
	}
}
