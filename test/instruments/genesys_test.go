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

// A genesys is one power supply. It obeys while it is the one that was
// addressed last.
type genesys struct {
	setVolt, setAmpere, ohm, protection, floor float64
	words                                      map[string]string // OUT, RMT, FLD, AST
	fault, delay                               int               // delay in tenths of a second
	obeyed                                     []string          // what it did, without queries
}

// genesysLine is what hangs on a line: every unit hears everything.
type genesysLine struct {
	units    map[int]*genesys
	selected int // 0 is none
}

// switchOn is after power-up: nobody is addressed, and all outputs are off.
func (l *genesysLine) switchOn() {
	l.units, l.selected = map[int]*genesys{}, 0
	for _, address := range []int{6, 7, 8, 9} {
		l.units[address] = &genesys{
			setVolt: float64(address), setAmpere: 10 + float64(address), ohm: 2, protection: 44 - float64(address), floor: 0,
			words: map[string]string{"OUT": "OFF", "RMT": "REM", "FLD": "OFF", "AST": "OFF"},
		}
	}
}

func (l *genesysLine) cut(arrived string) int { return lineOf(arrived, "\r") }

func (l *genesysLine) answer(request string) string {
	request = strings.TrimSuffix(request, "\r")
	reply := ""
	if address, ok := strings.CutPrefix(request, "ADR "); ok {
		n, err := strconv.Atoi(address)
		if l.selected = n; err != nil || l.units[n] == nil {
			l.selected = 0
			return ""
		}
		reply = "OK"
	} else if unit := l.units[l.selected]; unit != nil {
		reply = unit.answer(request)
	}
	if reply == "" {
		return ""
	}
	return reply + "\r"
}

func (u *genesys) measured() (volt, ampere float64, mode string) {
	if u.words["OUT"] == "OFF" {
		return 0, 0, "OFF"
	}
	if ampere := u.setVolt / u.ohm; ampere <= u.setAmpere {
		return u.setVolt, ampere, "CV"
	}
	return u.setAmpere * u.ohm, u.setAmpere, "CC"
}

func (u *genesys) answer(request string) string {
	volt, ampere, mode := u.measured()
	switch request {
	case "IDN?":
		return "LAMBDA,GEN40-38"
	case "STT?":
		return fmt.Sprintf("MV(%06.3f),PV(%06.3f),MC(%06.3f),PC(%06.3f),SR(%02X),FR(%02X)", volt, u.setVolt, ampere, u.setAmpere, 0x04, u.fault)
	case "MODE?":
		return mode
	case "OVP?":
		return fmt.Sprintf("%05.2f", u.protection)
	case "UVL?":
		return fmt.Sprintf("%05.2f", u.floor)
	case "FBD?":
		return fmt.Sprintf("%03d", u.delay)
	case "FILTER?":
		return "18"
	}
	if name, ok := strings.CutSuffix(request, "?"); ok {
		if word, known := u.words[name]; known {
			return word
		}
		return "C01"
	}
	u.obeyed = append(u.obeyed, request)
	return u.set(request)
}

func (u *genesys) set(request string) string {
	name, arg, ok := strings.Cut(request, " ")
	x, err := strconv.ParseFloat(arg, 64)
	switch _, isWord := u.words[name]; {
	case request == "RST":
		u.setVolt, u.setAmpere, u.protection, u.floor, u.words["OUT"] = 0, 0, 44, 0, "OFF"
	case !ok:
		return "C02"
	case name == "OUT" && arg == "ON" && u.fault != 0:
		return "E07"
	case isWord:
		u.words[name] = arg
	case err != nil:
		return "C03"
	case name == "PV" && x > 0.95*u.protection:
		return "E01"
	case name == "PV" && x < u.floor:
		return "E02"
	case name == "OVP" && x < u.setVolt+2:
		return "E04"
	case name == "UVL" && x > u.setVolt:
		return "E06"
	case name == "FBD" && x <= 255:
		u.delay = int(x)
	case x > 44:
		return "C05"
	case name == "PV":
		u.setVolt = x
	case name == "PC":
		u.setAmpere = x
	case name == "OVP":
		u.protection = x
	case name == "UVL":
		u.floor = x
	default:
		return "C01"
	}
	return "OK"
}

func startGenesys(t *testing.T, oldAndNew ...string) (*genesysLine, *port, *rig.Gateway) {
	t.Helper()
	l := &genesysLine{}
	p := plugIn(t, l, time.Millisecond)
	gateway := p.gateway("genesys.yaml", oldAndNew...)
	return l, p, gateway
}

// fast are periods that keep the line busy all the time.
var fast = []string{"poll: 1s", "poll: 100ms", "poll: 5s", "poll: 200ms"}

func TestGenesysUnitsAreReadAndSetOnOneLine(t *testing.T) {
	l, p, g := startGenesys(t, append([]string{"reply_timeout: 300ms", patient}, fast...)...)
	for i, address := range []float64{6, 7, 8, 9} {
		unit := fmt.Sprintf("magnet%d.", i+1)
		shows(t, g, map[string]string{
			unit + "id": `"LAMBDA,GEN40-38"`, unit + "voltage": "0", unit + "voltage_setting": fmt.Sprint(address), unit + "current": "0",
			unit + "current_setting": fmt.Sprint(10 + address), unit + "status_register": "4", unit + "fault_register": "0", unit + "output": `"Off"`,
			unit + "mode": `"Off"`, unit + "remote": `"Remote"`, unit + "over_voltage": fmt.Sprint(44 - address), unit + "under_voltage": "0",
			unit + "foldback": `"Off"`, unit + "auto_start": `"Off"`, unit + "filter": "18",
		})
		put(t, g, unit+"voltage_setting", fmt.Sprint(10+address))
		put(t, g, unit+"current_setting", fmt.Sprint(address))
		put(t, g, unit+"output", `"On"`)
		shows(t, g, map[string]string{unit + "mode": `"Current"`, unit + "current": fmt.Sprint(address), unit + "voltage": fmt.Sprint(2 * address)})
	}
	p.touch(func() {
		for address, unit := range l.units {
			want := []string{fmt.Sprintf("PV %d.000", 10+address), fmt.Sprintf("PC %d.000", address), "OUT ON"}
			if !slices.Equal(unit.obeyed, want) {
				t.Errorf("unit %d did %q, want %q", address, unit.obeyed, want)
			}
		}
	})
	if r := g.Execute("magnet3.reset"); r.Status != 200 {
		t.Errorf("reset: %s", r.Body)
	}
	shows(t, g, map[string]string{"magnet3.voltage_setting": "0", "magnet2.voltage_setting": "17", "magnet4.voltage_setting": "19"})
	g.Stop()
}

func TestGenesysRefusesWithItsWords(t *testing.T) {
	l, p, g := startGenesys(t)
	refused(t, g, "magnet1.voltage_setting", "40", "E01")
	refused(t, g, "magnet1.under_voltage", "10", "E06")
	refused(t, g, "magnet1.over_voltage", "7", "E04")
	p.touch(func() { l.units[6].fault = 0x08 })
	r := refused(t, g, "magnet1.output", `"On"`, "E07")
	if got := g.Get("magnet1.output"); got.Text() != "Off" || !got.Good() || got.Setpoint.Alarm.Status != "WRITE" {
		t.Errorf("after it was refused: %s\n%s", got.Body, r.Body)
	}
	fault := g.Await("magnet1.fault_register", rig.Limit, "8", func(r *rig.Reply) bool { return r.Number() == 8 })
	if fault.Alarm.Severity != "MAJOR" {
		t.Errorf("a fault: %s", fault.Body)
	}
	put(t, g, "magnet1.voltage_setting", "12.5")
	put(t, g, "magnet1.foldback_delay", "0.3")
	p.touch(func() {
		if n := len(l.units[6].obeyed); n != 6 || l.units[6].delay != 3 {
			t.Errorf("six puts, but it was told %q", l.units[6].obeyed)
		}
	})
}

// Whatever goes wrong on the line, no unit's value is ever shown as another's,
// and no unit does what another was told.
func TestGenesysUnitsNeverAnswerForEachOther(t *testing.T) {
	l, p, g := startGenesys(t, append([]string{"reply_timeout: 300ms", "reply_timeout: 200ms"}, fast...)...)
	const late = 210 * time.Millisecond
	for i := range 4 {
		g.AwaitGood(fmt.Sprintf("magnet%d.filter", i+1))
	}
	stream := g.Watch(">")
	for _, request := range []string{"ADR 7\r", "STT?\r", "OVP?\r", "ADR 9\r"} {
		for _, spoilt := range []fault{silent, torn, {late: late}, {late: late + 60*time.Millisecond}, flipped(2), instead("\r", "\rOK\r")} {
			p.spoil(request, spoilt)
			stream.Until(rig.Limit, "a failed reading", func(e *rig.Reply) bool {
				return e.Event == "sample" && e.Alarm.Severity == "INVALID" || spoilt.say != nil && len(p.left(request)) == 0
			})
			// Puts in between, to a unit that may have to be asked for twice.
			r := g.Put("magnet4.current_setting", "19", "")
			if r.Status != 200 && !slices.Contains([]string{"unknown_outcome", "not_connected", "expired", "refused_by_device"}, r.Code) {
				t.Errorf("a put on a bad line: %s", r.Body)
			}
		}
	}
	allowed := map[string][]string{}
	for i, address := range []int{6, 7, 8, 9} {
		unit := fmt.Sprintf("magnet%d.", i+1)
		allowed[unit+"voltage_setting"] = []string{strconv.Itoa(address)}
		allowed[unit+"current_setting"] = []string{strconv.Itoa(10 + address)}
		allowed[unit+"over_voltage"] = []string{strconv.Itoa(44 - address)}
		g.AwaitGood(unit + "voltage_setting")
	}
	onlyEver(t, stream, allowed)
	p.touch(func() {
		for _, address := range []int{6, 7, 8} {
			if len(l.units[address].obeyed) > 0 {
				t.Errorf("unit %d was told what was for unit 9: %q", address, l.units[address].obeyed)
			}
		}
	})
	// Each exchange begins with an address, and only goes on when that was answered.
	said := p.said()
	for i := 1; i < len(said); i++ {
		before := said[i-1]
		if !strings.HasPrefix(said[i].request, "ADR") && (!strings.HasPrefix(before.request, "ADR") || !strings.Contains(before.reply, "OK")) {
			t.Errorf("%q was said after %q, %q", said[i].request, before.request, before.reply)
		}
	}
}

// A unit that is off does not take the others with it.
func TestAGenesysUnitThatIsOffIsAloneInThat(t *testing.T) {
	l, p, g := startGenesys(t, fast...)
	for i := range 4 {
		g.AwaitGood(fmt.Sprintf("magnet%d.filter", i+1))
	}
	p.touch(func() { delete(l.units, 8) })
	failing(t, g, "magnet3.voltage_setting", "TIMEOUT")
	if r := g.Put("magnet3.voltage_setting", "5", ""); r.Status == 200 || r.Sent() {
		t.Errorf("a put to a unit that is off: %s", r.Body)
	}
	put(t, g, "magnet2.voltage_setting", "7.5")
	p.touch(func() {
		l.units[8] = &genesys{setVolt: 3, words: map[string]string{"OUT": "OFF", "RMT": "REM", "FLD": "OFF", "AST": "OFF"}}
	})
	shows(t, g, map[string]string{"magnet3.voltage_setting": "3"})
	replugged(t, p, g, "magnet3.voltage_setting", func() {})
}
