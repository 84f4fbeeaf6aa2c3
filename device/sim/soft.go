package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/describe"
)

// SoftConfig describes a device that only exists in the gateway. It has Count
// float64 attributes v00000, v00001, ..., and those that are listed.
type SoftConfig struct {
	Description string                   `yaml:"description" json:"description,omitempty"`
	Count       int                      `yaml:"count" json:"count,omitempty"`
	Attributes  map[string]SoftAttribute `yaml:"attributes" json:"attributes,omitempty"`
	CA          struct {
		Prefix string `yaml:"prefix" json:"prefix,omitempty"`
	} `yaml:"ca" json:"ca,omitempty"`
}

// A SoftAttribute is an attribute, whose access is rw where it is not set, and
// the value that it starts with.
type SoftAttribute struct {
	describe.Attribute `yaml:",inline"`
	Value              describe.Initial `yaml:"value" json:"value,omitempty"`
}

// Check returns everything that is wrong with the configuration of device name.
func (c *SoftConfig) Check(name string) []describe.Problem {
	_, _, problems := c.build(name)
	return problems
}

func (c *SoftConfig) build(name string) (model device.Model, values []gateway.Value, problems []describe.Problem) {
	root := describe.Root(&problems)
	model.Info = gateway.DeviceInfo{Description: c.Description, Driver: "soft"}
	if c.CA.Prefix != "" {
		model.Info.Annotations = map[string]string{describe.AnnotationCAPrefix: c.CA.Prefix}
	}
	if c.Count < 0 || c.Count > MaxCounters {
		root.In("count").Errorf("%d attributes: want 0 to %d", c.Count, MaxCounters)
		return model, nil, problems
	}
	add := func(path string, a *SoftAttribute, at describe.Place) {
		d := a.Build(name+"."+path, 0, at)
		v, err := a.Value.Of(&d.Type)
		if err != nil && d.Kind != gateway.NoKind {
			at.In("value").Errorf("%v", err)
		}
		model.Attributes, values = append(model.Attributes, d), append(values, v)
	}
	plain := SoftAttribute{Attribute: describe.Attribute{Type: describe.Type{Kind: gateway.Float64.String()}, Access: "rw"}}
	generated := make(map[string]bool, c.Count)
	model.Attributes = make([]gateway.Descriptor, 0, c.Count+len(c.Attributes))
	values = make([]gateway.Value, 0, c.Count+len(c.Attributes))
	for i := range c.Count {
		path := fmt.Sprintf("v%05d", i)
		generated[path] = true
		add(path, &plain, root.In("count", strconv.Itoa(i)))
	}
	for _, path := range slices.Sorted(maps.Keys(c.Attributes)) {
		a, at := c.Attributes[path], root.In("attributes", path)
		if a.Access == "" {
			a.Access = "rw"
		}
		if generated[path] {
			at.Errorf("count makes an attribute of this name already")
		}
		add(path, &a, at)
	}
	if len(model.Attributes) == 0 {
		root.Errorf("a soft device needs a count or attributes")
	}
	return model, values, problems
}

// Soft is the driver of a soft device: every put is taken at once, and read
// back as it was asked.
type Soft struct {
	model  device.Model
	values []gateway.Value
	now    func() time.Time
}

var _ device.Driver = (*Soft)(nil)

// NewSoft returns the driver of device name. Readings are stamped with now.
func NewSoft(name string, c SoftConfig, now func() time.Time) (*Soft, error) {
	model, values, problems := c.build(name)
	for _, p := range problems {
		if !p.Warning {
			return nil, fmt.Errorf("soft device %s: %s", name, p)
		}
	}
	return &Soft{model: model, values: values, now: now}, nil
}

// softBatch is how many attributes one message is about. What comes in one stays
// in memory together until the last of it is replaced, and puts come one by one.
const softBatch = 64

// Model returns the attributes.
func (d *Soft) Model() device.Model { return d.model }

// Connect delivers the initial values, of both roles.
func (d *Soft) Connect(_ context.Context, out device.Sink) error {
	readings := make([]device.Reading, 0, 2*softBatch)
	for i := range d.model.Attributes {
		readings = d.read(i, gateway.Readback, readings)
		readings = d.read(i, gateway.Setpoint, readings)
		if i%softBatch == softBatch-1 || i == len(d.model.Attributes)-1 {
			out.Deliver(readings)
			readings = readings[:0]
		}
	}
	return nil
}

// read appends the reading of one role, where the attribute has it.
func (d *Soft) read(index int, role gateway.Role, into []device.Reading) []device.Reading {
	if d.model.Attributes[index].Roles()&role == 0 {
		return into
	}
	return append(into, device.Reading{Index: index, Role: role, Value: d.values[index], Time: d.now()})
}

// Poll has nothing to do: a soft device has no polls.
func (d *Soft) Poll(_ context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
	return into, nil
}

// Put keeps the value.
func (d *Soft) Put(_ context.Context, index int, value gateway.Value) device.Outcome {
	d.values[index] = value
	if !d.model.Attributes[index].CanRead() {
		return device.Outcome{Stage: gateway.StageAcknowledged}
	}
	return device.Outcome{Stage: gateway.StageVerified, Readings: d.read(index, gateway.Readback, nil)}
}

// Refresh returns the value as it stands.
func (d *Soft) Refresh(_ context.Context, index int, into []device.Reading) ([]device.Reading, error) {
	return d.read(index, gateway.Readback, into), nil
}

// Close has nothing to give back; the values stay.
func (d *Soft) Close() error { return nil }
