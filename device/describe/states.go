package describe

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
)

// A State is one state of an enum: a label alone, or a mapping.
type State struct {
	Label string `yaml:"label" json:"label"`
	// Raw is the device's own number or text for the state. Where it is not
	// set, the device says the state's index.
	Raw *Scalar `yaml:"raw" json:"raw,omitempty"`
	// Severity is the alarm severity of being in the state, such as MAJOR.
	Severity string `yaml:"severity" json:"severity,omitempty"`
}

// A Scalar is a YAML scalar as it was written, a number as well as text.
type Scalar string

// UnmarshalYAML takes any scalar.
func (s *Scalar) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("want a number or a text")
	}
	*s = Scalar(n.Value)
	return nil
}

// UnmarshalYAML takes a label, or a mapping with label, raw and severity.
func (s *State) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		s.Label = n.Value
		return nil
	}
	type plain State
	return n.Load((*plain)(s))
}

func buildStates(states []State, kind gateway.Kind, at Place) []gateway.State {
	if kind != gateway.Enum {
		if len(states) > 0 && kind != gateway.NoKind {
			at.In("states").Errorf("only an enum has states, this is %s", kind)
		}
		return nil
	}
	if len(states) == 0 {
		at.Errorf("an enum needs states, such as states: [Off, On]")
		return nil
	}
	labels, raws := map[string]int{}, map[string]int{}
	built := make([]gateway.State, len(states))
	for i, s := range states {
		here := at.In("states", strconv.Itoa(i))
		raw := strconv.Itoa(i)
		if s.Raw != nil {
			raw = string(*s.Raw)
			built[i].Raw = raw
		}
		if first, taken := labels[s.Label]; taken {
			here.Errorf("state %d is called %q already", first, s.Label)
		}
		if first, taken := raws[raw]; taken {
			here.Errorf("state %d has the raw value %q already", first, raw)
		}
		labels[s.Label], raws[raw] = i, i
		if s.Label == "" || !utf8.ValidString(s.Label) {
			here.Errorf("a label must be a text in UTF-8")
		}
		built[i].Label = s.Label
		built[i].Severity = severity(s.Severity, gateway.NoAlarm, here.In("severity"))
	}
	return built
}

// severity parses a name; an empty one is the default.
func severity(name string, unset gateway.Severity, at Place) gateway.Severity {
	if name == "" {
		return unset
	}
	s, ok := gateway.ParseSeverity(name)
	if !ok {
		names := []string{"NO_ALARM", "MINOR", "MAJOR", "INVALID"}
		at.Errorf("%q is none of NO_ALARM, MINOR, MAJOR and INVALID%s", name, DidYouMean(name, names))
	}
	return s
}
