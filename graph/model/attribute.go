package model

import "github.com/polygate/gateway"

// Attribute shows an attribute, and in an event also a command.
type Attribute struct{ Of *gateway.Attribute }

// Name is the full name.
func (a *Attribute) Name() string { return string(a.Of.Path) }

// Device is the name of its device.
func (a *Attribute) Device() string { return a.Of.Path.Device() }

// Descriptor is what it is.
func (a *Attribute) Descriptor() *Descriptor { return &Descriptor{a.Of.Descriptor} }

// Readback is what the device says, or nil.
func (a *Attribute) Readback() *Sample { return SampleOf(a.Of, gateway.Readback) }

// Setpoint is what was last asked for, or nil.
func (a *Attribute) Setpoint() *Sample { return SampleOf(a.Of, gateway.Setpoint) }

// Availability tells whether the samples are current.
func (a *Attribute) Availability() *Availability { return availabilityOf(a.Of) }

// Alarm is the worst of its samples.
func (a *Attribute) Alarm() *Alarm {
	worst := gateway.Alarm{}
	for _, role := range [...]gateway.Role{gateway.Readback, gateway.Setpoint} {
		if a.Of.Sample(role) != nil {
			worst = worst.Worse(a.Of.EffectiveAlarm(role))
		}
	}
	return alarmOf(worst)
}

// HasSeverity reports whether a sample has one of the severities.
func (a *Attribute) HasSeverity(severities []Severity) bool {
	for _, role := range [...]gateway.Role{gateway.Readback, gateway.Setpoint} {
		if a.Of.Sample(role) == nil {
			continue
		}
		have := Severity(a.Of.EffectiveAlarm(role).Severity.String())
		for _, want := range severities {
			if have == want {
				return true
			}
		}
	}
	return false
}

// Command shows a command.
type Command struct{ Of *gateway.Attribute }

// Name is the full name.
func (c *Command) Name() string { return string(c.Of.Path) }

// Device is the name of its device.
func (c *Command) Device() string { return c.Of.Path.Device() }

// Descriptor is what it is.
func (c *Command) Descriptor() *Descriptor { return &Descriptor{c.Of.Descriptor} }

// Running reports whether it runs now.
func (c *Command) Running() bool { return c.Of.Setpoint != nil && c.Of.Setpoint.Value.Bool() }

// Setpoint is the sample that is true while it runs.
func (c *Command) Setpoint() *Sample { return SampleOf(c.Of, gateway.Setpoint) }

// Availability tells whether the device can be reached.
func (c *Command) Availability() *Availability { return availabilityOf(c.Of) }

// Availability shows whether what is known is current.
type Availability struct {
	State State
	Since *Time
	Words string
}

func availabilityOf(a *gateway.Attribute) *Availability {
	return &Availability{State: stateOf(a.Availability), Since: timeOf(a.AvailableSince), Words: a.Words}
}

// AttributePage is a page of attributes.
type AttributePage struct {
	Attributes []*Attribute
	Next       *string
}

// CommandPage is a page of commands.
type CommandPage struct {
	Commands []*Command
	Next     *string
}

// Device shows a device.
type Device struct{ Of *gateway.Device }

// Name is its name.
func (d *Device) Name() string { return d.Of.Name }

// Description is for people.
func (d *Device) Description() string { return d.Of.Description }

// Driver names the kind of driver.
func (d *Device) Driver() string { return d.Of.Driver }

// Link tells where it is connected, or nil.
func (d *Device) Link() *string { return textOrNil(d.Of.Link) }

// Availability tells whether it can be reached.
func (d *Device) Availability() *Availability {
	return &Availability{State: stateOf(d.Of.Availability), Since: timeOf(d.Of.Since), Words: d.Of.Words}
}

// Size is how many attributes and commands it has.
func (d *Device) Size() int { return d.Of.Attributes }

// Stale is how many attributes have overdue polls.
func (d *Device) Stale() int { return d.Of.Stale }

// Annotations are in the order of their keys.
func (d *Device) Annotations() []*Annotation { return annotationsOf(d.Of.Annotations) }
