package serial

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
)

// A Simulate says what a simulated instrument has for the value of an
// attribute; on a real line it has no effect. Without it the value is zero, or
// the limit nearest to it. What a put sets stays.
type Simulate struct {
	// Value is what it begins with.
	Value describe.Initial `yaml:"value" json:"value,omitempty"`
	// Ramp leads from Value to another number, and then begins again.
	Ramp *Ramp `yaml:"ramp" json:"ramp,omitempty"`
	// Script are values of which each reading takes the next, and after the
	// last the first again.
	Script []describe.Initial `yaml:"script" json:"script,omitempty"`
	// Noise is the standard deviation of what is added to each reading of a number.
	Noise describe.Number `yaml:"noise" json:"noise,omitempty"`
}

// A Ramp is a number that moves.
type Ramp struct {
	To   float64       `yaml:"to" json:"to"`
	Over time.Duration `yaml:"over" json:"over"`
}

// A source is where the values of a simulated attribute come from. It does not
// change; what was set is the instrument's.
type source struct {
	typ      gateway.Type
	explicit bool // the file says something of it
	elements int  // of an array, where that is declared
	value    gateway.Value
	ramp     *Ramp
	script   []gateway.Value
	noise    float64
}

// source compiles what the file says of an attribute's simulation.
func (k *compiler) source(a *Attribute, d *gateway.Descriptor, c *codec, at describe.Place) source {
	s := source{typ: c.typ, elements: a.Elements}
	if a.Simulate == nil {
		return s
	}
	s.explicit, s.ramp, s.noise = true, a.Simulate.Ramp, a.Simulate.Noise.Or(0)
	value := func(v describe.Initial, at describe.Place) gateway.Value {
		got, err := v.Of(&s.typ)
		if err != nil && d.Kind != gateway.NoKind {
			at.Errorf("%v", err)
		}
		return got
	}
	if a.Simulate.Value.Given() {
		s.value = value(a.Simulate.Value, at.In("value"))
	}
	for _, v := range a.Simulate.Script {
		s.script = append(s.script, value(v, at.In("script")))
	}
	if (s.ramp != nil || s.noise != 0) && (!d.Kind.IsNumber() || d.IsArray()) {
		at.Errorf("only a number has a ramp or noise")
	}
	if s.ramp != nil && (s.ramp.Over <= 0 || s.ramp.Over > maxDuration) {
		at.In("ramp", "over").Errorf("%v: want a time up to %v", s.ramp.Over, maxDuration)
	}
	if s.ramp != nil && s.script != nil {
		at.Errorf("a ramp or a script, not both")
	}
	if s.noise < 0 || math.IsNaN(s.noise) || math.IsInf(s.noise, 0) {
		at.In("noise").Errorf("%v is no standard deviation", s.noise)
	}
	return s
}

// maxUnsaid bounds an array of which the file does not say what is in it.
const maxUnsaid = 10_000

// begin sets the value where the file says none: zero, as many times as the
// instrument sends elements. t is the type with its limits.
func (s *source) begin(t *gateway.Type) {
	if s.value.Known() || t.Kind == gateway.NoKind {
		return
	}
	s.value, _ = describe.Initial{}.Of(t)
	if !t.IsArray() {
		return
	}
	element := *t
	element.Shape = nil
	zero, err := describe.Initial{}.Of(&element)
	if err != nil {
		return
	}
	n := s.elements
	if n == 0 {
		n = t.MaxElements()
	}
	json := []byte{'['}
	for i := range min(n, maxUnsaid) {
		if i > 0 {
			json = append(json, ',')
		}
		json = element.AppendJSON(json, zero, gateway.JSONOptions{})
	}
	if v, err := t.ParseJSON(append(json, ']')); err == nil {
		s.value = v
	}
}

// at returns the value of the reading number n, so long after the start.
func (s *source) at(n int, since time.Duration, random *rand.Rand) gateway.Value {
	switch {
	case len(s.script) > 0:
		return s.noisy(s.script[n%len(s.script)], random)
	case s.ramp != nil:
		part := math.Mod(since.Seconds(), s.ramp.Over.Seconds()) / s.ramp.Over.Seconds()
		from := s.value.Float()
		return s.number(from+(s.ramp.To-from)*part, s.value, random)
	}
	return s.noisy(s.value, random)
}

func (s *source) noisy(v gateway.Value, random *rand.Rand) gateway.Value {
	if s.noise == 0 || !v.Known() {
		return v
	}
	return s.number(v.Float(), v, random)
}

// number makes a value of f and the noise, or returns otherwise if that does
// not fit the type.
func (s *source) number(f float64, otherwise gateway.Value, random *rand.Rand) gateway.Value {
	if s.noise > 0 {
		f += s.noise * random.NormFloat64()
	}
	if !s.typ.Kind.IsFloat() {
		f = math.RoundToEven(f)
	}
	v, err := s.typ.FromFloat(f)
	if err != nil {
		return otherwise
	}
	return v
}
