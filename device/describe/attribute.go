package describe

import (
	"strings"
	"time"

	"github.com/polygate/gateway"
)

// MaxElements is the most elements that an array attribute can have.
const MaxElements = 1 << 24

// A Type says what a value can be: that of an attribute, or the argument or
// result of a command.
type Type struct {
	// Kind is bool, int8 ... int64, uint8 ... uint64, float32, float64,
	// string, bytes or enum.
	Kind  string `yaml:"kind" json:"kind"`
	Units string `yaml:"units" json:"units,omitempty"`
	// Precision is the number of digits to show behind the decimal point.
	Precision *int `yaml:"precision" json:"precision,omitempty"`
	// Shape makes it an array of at most so many elements: 8, or [rows, columns].
	Shape Shape `yaml:"shape" json:"shape,omitempty"`
	// MaxLength is the longest text or bytes value, in bytes.
	MaxLength int `yaml:"max_length" json:"max_length,omitempty"`
	// States are the states of an enum, from index 0 on.
	States []State `yaml:"states" json:"states,omitempty"`
	// Limits are what a put may ask for.
	Limits Limits `yaml:"limits" json:"limits,omitempty"`
}

// An Attribute says what an attribute is.
type Attribute struct {
	Type `yaml:",inline"`
	// Access is r, w or rw; r where it is not set.
	Access      string `yaml:"access" json:"access,omitempty"`
	Description string `yaml:"description" json:"description,omitempty"`
	// Display is the range that a gauge shows.
	Display Limits `yaml:"display" json:"display,omitempty"`
	Alarm   Alarm  `yaml:"alarm" json:"alarm,omitempty"`
	// Deadband and LogDeadband: a value has to move by more than this to be
	// published, or to be worth archiving.
	Deadband    float64 `yaml:"deadband" json:"deadband,omitempty"`
	LogDeadband float64 `yaml:"log_deadband" json:"log_deadband,omitempty"`
	// Publish is "changes" (the default), or "always": every poll counts as a change.
	Publish string `yaml:"publish" json:"publish,omitempty"`
	CA      CA     `yaml:"ca" json:"ca,omitempty"`
}

// CA is what Channel Access wants to know of an attribute.
type CA struct {
	// Name replaces the default PV name; the device's prefix is not put before it.
	Name string `yaml:"name" json:"name,omitempty"`
}

// AnnotationCAName is the descriptor's annotation that carries CA.Name, and
// AnnotationCAPrefix the device's that carries its PV prefix.
const (
	AnnotationCAName   = "ca.name"
	AnnotationCAPrefix = "ca.prefix"
)

// Build returns the descriptor of the attribute at path, and reports what is
// wrong to the place at. After a report the descriptor is of no use.
func (a *Attribute) Build(path string, poll time.Duration, at Place) gateway.Descriptor {
	d := gateway.Descriptor{
		Description: a.Description,
		Traits: &gateway.Traits{
			Access:      a.access(at),
			Type:        a.Type.Build(at),
			Display:     a.Display.build(at.In("display")),
			Alarm:       a.Alarm.build(at.In("alarm")),
			Deadband:    a.Deadband,
			LogDeadband: a.LogDeadband,
			Poll:        poll,
		},
	}
	p, err := gateway.ParsePath(path)
	if err != nil {
		at.Errorf("%v", err)
	}
	d.Path = p
	if a.Deadband < 0 || a.LogDeadband < 0 {
		at.In("deadband").Errorf("a dead-band cannot be negative")
	}
	switch a.Publish {
	case "", "changes":
	case "always":
		d.Always = true
	default:
		at.In("publish").Errorf("%q is neither changes nor always%s", a.Publish, DidYouMean(a.Publish, []string{"changes", "always"}))
	}
	if a.CA.Name != "" {
		d.Annotations = map[string]string{AnnotationCAName: a.CA.Name}
	}
	numbersOnly(d.Kind, at,
		setting{"display", a.Display != Limits{}}, setting{"alarm", a.Alarm != Alarm{}},
		setting{"deadband", a.Deadband != 0}, setting{"log_deadband", a.LogDeadband != 0})
	return d
}

func (a *Attribute) access(at Place) gateway.Access {
	switch a.Access {
	case "r", "":
		return gateway.AccessRead
	case "w":
		return gateway.AccessWrite
	case "rw":
		return gateway.AccessReadWrite
	}
	at.In("access").Errorf("%q is none of r, w and rw", a.Access)
	return gateway.AccessRead
}

// Build returns the type, and reports what is wrong to the place at.
func (a *Type) Build(at Place) gateway.Type {
	t := gateway.Type{
		Kind:      parseKind(a.Kind, at.In("kind")),
		MaxLength: a.MaxLength,
		Units:     a.Units,
		Control:   a.Limits.build(at.In("limits")),
		Shape:     a.Shape,
	}
	if a.Precision != nil {
		t.Precision, t.PrecisionSet = *a.Precision, true
		if t.Precision < 0 || t.Precision > 17 {
			at.In("precision").Errorf("%d digits: want 0 to 17", t.Precision)
		}
	}
	if a.MaxLength < 0 {
		at.In("max_length").Errorf("the length must be positive")
	}
	if a.MaxLength > 0 && t.Kind != gateway.String && t.Kind != gateway.Bytes {
		at.In("max_length").Errorf("only a string or bytes has a length, this is %s", t.Kind)
	}
	a.Shape.check(t.Kind, at.In("shape"))
	t.States = buildStates(a.States, t.Kind, at)
	numbersOnly(t.Kind, at, setting{"limits", a.Limits != Limits{}}, setting{"precision", a.Precision != nil})
	return t
}

// parseKind returns the kind that is called name, and reports a wrong one.
func parseKind(name string, at Place) gateway.Kind {
	kind, ok := gateway.ParseKind(name)
	switch {
	case ok:
	case name == "":
		at.Errorf("a kind is missing: one of %s", strings.Join(gateway.KindNames(), ", "))
	default:
		at.Errorf("there is no kind %q%s", name, DidYouMean(name, gateway.KindNames()))
	}
	return kind
}

// A setting is a key and whether the file sets it.
type setting struct {
	key string
	set bool
}

// numbersOnly reports settings that only numbers can have.
func numbersOnly(kind gateway.Kind, at Place, settings ...setting) {
	if kind.IsNumber() || kind == gateway.NoKind {
		return
	}
	for _, s := range settings {
		if s.set {
			at.In(s.key).Errorf("only a number can have this, and this is %s", kind)
		}
	}
}
