package describe

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
)

// Limits are two numbers, both inclusive: {low: 0, high: 100}, or one of them.
type Limits struct {
	Low  Number `yaml:"low" json:"low,omitempty"`
	High Number `yaml:"high" json:"high,omitempty"`
}

// A Number is a float64 that may be unset.
type Number struct {
	Value float64
	Set   bool
}

// UnmarshalYAML takes a number.
func (x *Number) UnmarshalYAML(n *yaml.Node) error {
	if err := n.Load(&x.Value); err != nil {
		return fmt.Errorf("want a number: %w", err)
	}
	x.Set = true
	return nil
}

// Or returns the number, or unset where there is none.
func (x Number) Or(unset float64) float64 {
	if x.Set {
		return x.Value
	}
	return unset
}

func (l Limits) build(at Place) gateway.Range {
	if l.Low.Set && l.High.Set && l.Low.Value > l.High.Value {
		at.Errorf("the low limit %v is above the high limit %v", l.Low.Value, l.High.Value)
	}
	return gateway.Range{Low: gateway.Limit(l.Low), High: gateway.Limit(l.High)}
}

// Alarm are the alarm limits. Where no severity is given, lolo and hihi are
// MAJOR, low and high MINOR.
type Alarm struct {
	LoLo Level `yaml:"lolo" json:"lolo,omitempty"`
	Low  Level `yaml:"low" json:"low,omitempty"`
	High Level `yaml:"high" json:"high,omitempty"`
	HiHi Level `yaml:"hihi" json:"hihi,omitempty"`
	// Hysteresis is how far a value must come back before an alarm ends.
	Hysteresis float64 `yaml:"hysteresis" json:"hysteresis,omitempty"`
}

// A Level is a number alone, or {value: 80, severity: MAJOR}.
type Level struct {
	Value    Number `yaml:"value" json:"value"`
	Severity string `yaml:"severity" json:"severity,omitempty"`
}

// UnmarshalYAML takes a number, or a mapping with value and severity.
func (l *Level) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return l.Value.UnmarshalYAML(n)
	}
	type plain Level
	return n.Load((*plain)(l))
}

func (a *Alarm) build(at Place) gateway.AlarmLevels {
	built := gateway.AlarmLevels{Hysteresis: a.Hysteresis}
	if a.Hysteresis < 0 {
		at.In("hysteresis").Errorf("a hysteresis cannot be negative")
	}
	last := Number{}
	for _, l := range []struct {
		key   string
		from  *Level
		to    *gateway.Level
		unset gateway.Severity
	}{
		{"lolo", &a.LoLo, &built.LoLo, gateway.Major},
		{"low", &a.Low, &built.Low, gateway.Minor},
		{"high", &a.High, &built.High, gateway.Minor},
		{"hihi", &a.HiHi, &built.HiHi, gateway.Major},
	} {
		here := at.In(l.key)
		if !l.from.Value.Set {
			if l.from.Severity != "" {
				here.Errorf("a severity without a value")
			}
			continue
		}
		l.to.Limit = gateway.Limit(l.from.Value)
		l.to.Severity = severity(l.from.Severity, l.unset, here.In("severity"))
		if last.Set && l.from.Value.Value < last.Value {
			here.Errorf("%v is below %v, the limit before it: they must rise from lolo to hihi", l.from.Value.Value, last.Value)
		}
		last = l.from.Value
	}
	return built
}

// A Shape holds the largest extent of each dimension of an array. It is empty
// for a scalar.
type Shape []int

// UnmarshalYAML takes a number or a list of numbers.
func (s *Shape) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var extent int
		if err := n.Load(&extent); err != nil {
			return fmt.Errorf("want a number of elements: %w", err)
		}
		*s = Shape{extent}
		return nil
	}
	return n.Load((*[]int)(s))
}

func (s Shape) check(kind gateway.Kind, at Place) {
	if len(s) == 0 {
		return
	}
	if kind == gateway.Bytes || kind == gateway.Enum {
		at.Errorf("%s cannot be the element of an array", kind)
	}
	n := 1
	for i, extent := range s {
		here := at
		if len(s) > 1 {
			here = at.In(strconv.Itoa(i))
		}
		if extent < 1 || extent > MaxElements/n {
			here.Errorf("%d elements: want 1 to %d in all", extent, MaxElements)
			return
		}
		n *= extent
	}
}
