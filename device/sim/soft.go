package sim

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

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
	Value              Initial `yaml:"value" json:"value,omitempty"`
}

// An Initial is a value in the file: a scalar, or a list of scalars for an
// array. Bytes are written as base64, enums as label or index.
type Initial struct {
	node *yaml.Node
}

// UnmarshalYAML keeps the node; the attribute's type says what it means.
func (v *Initial) UnmarshalYAML(n *yaml.Node) error {
	v.node = n
	return nil
}

// value makes a value of the type, or the type's zero where none is given.
func (v Initial) value(t *gateway.Type) (gateway.Value, error) {
	switch {
	case v.node == nil:
		return zeroOf(t)
	case v.node.Kind == yaml.ScalarNode && !t.IsArray() && t.Kind != gateway.Bytes:
		return t.Parse(v.node.Value)
	case v.node.Kind == yaml.ScalarNode:
		return t.ParseJSON(gateway.AppendJSONString(nil, v.node.Value))
	case v.node.Kind == yaml.SequenceNode:
		json, err := appendList(nil, v.node)
		if err != nil {
			return gateway.Value{}, err
		}
		return t.ParseJSON(json)
	}
	return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "want a value or a list of values")
}

// appendList writes nested lists as JSON, every scalar as text: the type
// reads numbers from text as well, with all their digits.
func appendList(dst []byte, n *yaml.Node) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range n.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch item.Kind {
		case yaml.ScalarNode:
			dst = gateway.AppendJSONString(dst, item.Value)
		case yaml.SequenceNode:
			var err error
			if dst, err = appendList(dst, item); err != nil {
				return nil, err
			}
		default:
			return nil, gateway.Errorf(gateway.KindWrongType, "want a value or a list of values")
		}
	}
	return append(dst, ']'), nil
}

// zeroOf returns 0, false, an empty text, an empty array or the first state.
// Where limits forbid 0, the limit nearest to it is taken.
func zeroOf(t *gateway.Type) (gateway.Value, error) {
	if t.IsArray() {
		return t.ParseJSON([]byte("[]"))
	}
	switch {
	case t.Kind == gateway.String || t.Kind == gateway.Bytes:
		return t.Parse("")
	case t.Kind == gateway.Enum:
		return gateway.EnumOf(0), nil
	}
	return t.FromFloat(min(max(0, t.Control.Low.Or(0)), t.Control.High.Or(math.Inf(1))))
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
		v, err := a.Value.value(&d.Type)
		if err != nil && d.Kind != gateway.NoKind {
			at.In("value").Errorf("%v", err)
		}
		model.Attributes, values = append(model.Attributes, d), append(values, v)
	}
	plain := SoftAttribute{Attribute: describe.Attribute{Type: describe.Type{Kind: gateway.Float64.String()}, Access: "rw"}}
	generated := make(map[string]bool, c.Count)
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

// Model returns the attributes.
func (d *Soft) Model() device.Model { return d.model }

// Connect delivers the initial values, of both roles.
func (d *Soft) Connect(_ context.Context, out device.Sink) error {
	var readings []device.Reading
	for i := range d.model.Attributes {
		readings = d.read(i, gateway.Readback, readings)
		readings = d.read(i, gateway.Setpoint, readings)
	}
	out.Deliver(readings)
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
