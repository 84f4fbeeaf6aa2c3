package model

import (
	"maps"
	"slices"

	"github.com/polygate/gateway"
)

// Descriptor shows what an attribute or command is.
type Descriptor struct{ of *gateway.Descriptor }

// Kind is that of the values or their elements.
func (d *Descriptor) Kind() Kind { return kindOf(d.of.Kind) }

// Access tells what can be done.
func (d *Descriptor) Access() Access { return accessOf(d.of.Access) }

// Description is for people.
func (d *Descriptor) Description() string { return d.of.Description }

// Units are nil if there are none.
func (d *Descriptor) Units() *string { return textOrNil(d.of.Units) }

// Precision is nil if unset.
func (d *Descriptor) Precision() *int { return d.valueType().Precision() }

// Shape is nil for a single value.
func (d *Descriptor) Shape() []int { return d.of.Shape }

// MaxLength is nil for what has no length.
func (d *Descriptor) MaxLength() *int { return d.valueType().MaxLength() }

// States are those of an enum.
func (d *Descriptor) States() []*EnumState { return d.valueType().States() }

// Control is what a put may ask for.
func (d *Descriptor) Control() *Range { return rangeOf(d.of.Control) }

// Display is what a display should span.
func (d *Descriptor) Display() *Range { return rangeOf(d.of.Display) }

// AlarmLevels are where alarms begin.
func (d *Descriptor) AlarmLevels() *AlarmLevels {
	levels := &d.of.Alarm
	return &AlarmLevels{
		Lolo: levelOf(levels.LoLo), Low: levelOf(levels.Low), High: levelOf(levels.High), Hihi: levelOf(levels.HiHi),
		Hysteresis: levels.Hysteresis,
	}
}

// Deadband is how far a value must move to count as a change.
func (d *Descriptor) Deadband() float64 { return d.of.Deadband }

// LogDeadband is the same for archives.
func (d *Descriptor) LogDeadband() float64 { return d.of.LogDeadband }

// Always tells whether every poll counts as a change.
func (d *Descriptor) Always() bool { return d.of.Always }

// Poll is the wanted period in seconds, or nil.
func (d *Descriptor) Poll() *float64 {
	if d.of.Poll == 0 {
		return nil
	}
	return finite(d.of.Poll.Seconds())
}

// Annotations are in the order of their keys.
func (d *Descriptor) Annotations() []*Annotation { return annotationsOf(d.of.Annotations) }

// Argument is what a command takes, or nil.
func (d *Descriptor) Argument() *ValueType { return typeOf(d.of.Argument) }

// Result is what a command returns, or nil.
func (d *Descriptor) Result() *ValueType { return typeOf(d.of.Result) }

// Revision grows with each change.
func (d *Descriptor) Revision() BigInt { return bigUint(d.of.Revision) }

func (d *Descriptor) valueType() *ValueType { return &ValueType{&d.of.Type} }

// ValueType shows what a command takes or returns.
type ValueType struct{ of *gateway.Type }

func typeOf(t *gateway.Type) *ValueType {
	if t == nil {
		return nil
	}
	return &ValueType{t}
}

// Kind is that of the value or its elements.
func (t *ValueType) Kind() Kind { return kindOf(t.of.Kind) }

// Units are nil if there are none.
func (t *ValueType) Units() *string { return textOrNil(t.of.Units) }

// Precision is nil if unset.
func (t *ValueType) Precision() *int {
	if !t.of.PrecisionSet {
		return nil
	}
	precision := t.of.Precision
	return &precision
}

// Shape is nil for a single value.
func (t *ValueType) Shape() []int { return t.of.Shape }

// MaxLength is nil for what has no length.
func (t *ValueType) MaxLength() *int {
	if t.of.Kind != gateway.String && t.of.Kind != gateway.Bytes {
		return nil
	}
	capacity := t.of.Capacity()
	return &capacity
}

// States are those of an enum.
func (t *ValueType) States() []*EnumState {
	states := make([]*EnumState, len(t.of.States))
	for i, s := range t.of.States {
		states[i] = &EnumState{Index: i, Label: s.Label, Raw: textOrNil(s.Raw), Severity: Severity(s.Severity.String())}
	}
	return states
}

// Control is what may be asked for.
func (t *ValueType) Control() *Range { return rangeOf(t.of.Control) }

// EnumState shows a state of an enum.
type EnumState struct {
	Index    int
	Label    string
	Raw      *string
	Severity Severity
}

// Range shows two limits; one that is not set is nil.
type Range struct{ Low, High *float64 }

func rangeOf(r gateway.Range) *Range { return &Range{Low: limitOf(r.Low), High: limitOf(r.High)} }

func limitOf(l gateway.Limit) *float64 {
	if !l.Set {
		return nil
	}
	return finite(l.Value)
}

// AlarmLevels shows where alarms begin; a level that is not set is nil.
type AlarmLevels struct {
	Lolo, Low, High, Hihi *AlarmLevel
	Hysteresis            float64
}

// AlarmLevel shows a limit at which an alarm begins.
type AlarmLevel struct {
	Value    float64
	Severity Severity
}

func levelOf(l gateway.Level) *AlarmLevel {
	value := limitOf(l.Limit)
	if value == nil {
		return nil
	}
	return &AlarmLevel{Value: *value, Severity: Severity(l.Severity.String())}
}

// Annotation shows a word for single protocols.
type Annotation struct{ Key, Value string }

func annotationsOf(m map[string]string) []*Annotation {
	list := make([]*Annotation, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		list = append(list, &Annotation{Key: key, Value: m[key]})
	}
	return list
}
