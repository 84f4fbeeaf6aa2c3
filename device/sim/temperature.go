package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// The temperature controller's constants. It drives four thermoelectric
// elements, which heat with a positive and cool with a negative voltage.
const (
	ramps        = 4
	ambient      = 20.0                   // where an idle ramp settles, in degrees Celsius
	lag          = 500 * time.Millisecond // time constant from target to actual temperature
	voltsPerK    = 0.25                   // voltage that holds one kelvin over ambient
	resistance   = 8.0                    // of one element, in ohms
	noise        = 0.01                   // standard deviation of the measured temperature, in kelvins
	defaultRate  = 1.0                    // K/s
	defaultStart = 10
	defaultEnd   = 50
	maxRate      = 100.0
	coldest      = -40 // the start and end temperatures that it takes
	hottest      = 200
)

// Identity is what the temperature controller answers to ID?.
const Identity = "polygate TC4 simulated temperature controller"

// A TemperatureController is a simulated instrument with four temperature
// ramps. It is a state machine over time without any I/O: the same requests
// at the same times, with the same seed, get the same replies. An enabled
// ramp moves its target from start to end at the ramp rate and holds it there;
// the actual temperature follows with a lag of half a second.
//
// Requests and replies are lines; the terminator CR LF is not part of them:
//
//	ID?              identity
//	R?   R=1.5       ramp rate of all ramps in K/s
//	P?               power of all elements in watts
//	V?               voltages of the elements, as a JSON array
//	S01? S01=10      temperature where ramp 1 starts, a whole number; also S02 ... S04
//	E01? E01=50      temperature where it ends
//	N01? N01=1       whether it is enabled
//	T01? A01?        its target and actual temperature
//
// Settings are not acknowledged, and what it does not understand or want is
// ignored. It is not safe for concurrent use.
type TemperatureController struct {
	now  time.Time
	rate float64
	ramp [ramps]ramp
	rand *rand.Rand
}

type ramp struct {
	start, end     int32
	enabled        bool
	target, actual float64
}

var _ Instrument = (*TemperatureController)(nil)

// NewTemperatureController returns an instrument at rest, whose noise is drawn from seed.
func NewTemperatureController(seed uint64) *TemperatureController {
	t := &TemperatureController{rate: defaultRate, rand: rand.New(rand.NewPCG(seed, 0))}
	for i := range t.ramp {
		t.ramp[i] = ramp{start: defaultStart, end: defaultEnd, target: ambient, actual: ambient}
	}
	return t
}

// Handle answers one line that arrived at now. It returns false if there is no
// answer. Time that runs backwards stands still.
func (t *TemperatureController) Handle(now time.Time, line string) (reply string, ok bool) {
	t.advance(now)
	if setting, value, isSet := strings.Cut(line, "="); isSet {
		t.set(setting, value)
		return "", false
	}
	question, isQuery := strings.CutSuffix(line, "?")
	if !isQuery {
		return "", false
	}
	switch question {
	case "ID":
		return Identity, true
	case "R":
		return strconv.FormatFloat(t.rate, 'g', -1, 64), true
	case "P":
		return fixed(t.power()), true
	case "V":
		volts := make([]string, ramps)
		for i := range t.ramp {
			volts[i] = fixed(t.ramp[i].voltage())
		}
		return "[" + strings.Join(volts, ", ") + "]", true
	}
	letter, r := t.find(question)
	if r == nil {
		return "", false
	}
	switch letter {
	case 'S':
		return strconv.Itoa(int(r.start)), true
	case 'E':
		return strconv.Itoa(int(r.end)), true
	case 'N':
		if r.enabled {
			return "1", true
		}
		return "0", true
	case 'T':
		return fixed(r.target), true
	case 'A':
		return fixed(r.actual + noise*t.rand.NormFloat64()), true
	}
	return "", false
}

// find splits a name such as S01 into its letter and its ramp.
func (t *TemperatureController) find(name string) (letter byte, r *ramp) {
	if len(name) != 3 || name[1] != '0' || name[2] < '1' || name[2] > '0'+ramps {
		return 0, nil
	}
	return name[0], &t.ramp[name[2]-'1']
}

func (t *TemperatureController) set(name, value string) {
	if name == "R" {
		if rate, err := strconv.ParseFloat(value, 64); err == nil && rate > 0 && rate <= maxRate {
			t.rate = rate
		}
		return
	}
	letter, r := t.find(name)
	n, err := strconv.ParseInt(value, 10, 32)
	if r == nil || err != nil {
		return
	}
	switch {
	case letter == 'S' && n >= coldest && n <= hottest:
		r.start = int32(n)
	case letter == 'E' && n >= coldest && n <= hottest:
		r.end = int32(n)
	case letter == 'N' && n == 1 && !r.enabled:
		r.enabled, r.target = true, float64(r.start)
	case letter == 'N' && n == 0:
		r.enabled = false
	}
}

// advance moves the physics to now. The steps are exact, so it does not matter
// how often it is called.
func (t *TemperatureController) advance(now time.Time) {
	if t.now.IsZero() {
		t.now = now
	}
	dt := now.Sub(t.now).Seconds()
	if dt <= 0 {
		return
	}
	t.now = now
	for i := range t.ramp {
		t.ramp[i].advance(dt, t.rate)
	}
}

func (r *ramp) advance(dt, rate float64) {
	if !r.enabled {
		r.target = ambient
		r.follow(dt, 0)
		return
	}
	way := float64(r.end) - r.target
	moving := min(dt, math.Abs(way)/rate)
	r.follow(moving, math.Copysign(rate, way))
	if moving < dt {
		r.target = float64(r.end)
		r.follow(dt-moving, 0)
	}
}

// follow moves the target at rate for dt seconds. The actual temperature obeys
// d(actual)/dt = (target - actual)/lag, whose solution for a moving target is
// one that trails it by rate*lag, and a difference that dies out.
func (r *ramp) follow(dt, rate float64) {
	trail := rate * lag.Seconds()
	difference := r.actual - (r.target - trail)
	r.target += rate * dt
	r.actual = r.target - trail + difference*math.Exp(-dt/lag.Seconds())
}

func (r *ramp) voltage() float64 {
	if !r.enabled {
		return 0
	}
	return voltsPerK * (r.target - ambient)
}

func (t *TemperatureController) power() float64 {
	watts := 0.0
	for i := range t.ramp {
		v := t.ramp[i].voltage()
		watts += v * v / resistance
	}
	return watts
}

// fixed writes three digits behind the point, and never -0.000.
func fixed(f float64) string {
	text := strconv.FormatFloat(f, 'f', 3, 64)
	if text == "-0.000" {
		return "0.000"
	}
	return text
}
