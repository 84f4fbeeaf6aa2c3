package device

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/polygate/gateway"
)

// maxElements bounds the arrays of a model, so that a slip in a shape is an
// error and not a gigabyte.
const maxElements = 1 << 26

// mistakes collects what is wrong with a model.
type mistakes []error

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// checkModel returns all mistakes of a model, joined, or nil.
func checkModel(name string, model *Model) error {
	var all mistakes
	if err := gateway.CheckSegment(name); err != nil {
		all.add("the name: %w", err)
	}
	seen := make(map[gateway.Path]bool, len(model.Attributes))
	for i := range model.Attributes {
		d := &model.Attributes[i]
		var found mistakes
		if seen[d.Path] {
			found.add("there are two of this name")
		}
		seen[d.Path] = true
		found.checkPath(name, d.Path)
		found.checkDescriptor(d)
		for _, err := range found {
			all.add("attribute %s: %w", gateway.Quotable(string(d.Path)), err)
		}
	}
	if model.ReplyTimeout < 0 {
		all.add("the reply timeout %v is negative", model.ReplyTimeout)
	}
	for i := range model.Polls {
		var found mistakes
		found.checkPoll(&model.Polls[i], model.Attributes)
		for _, err := range found {
			all.add("poll %d: %w", i, err)
		}
	}
	return errors.Join(all...)
}

func (m *mistakes) checkPath(device string, path gateway.Path) {
	if _, err := gateway.ParsePath(string(path)); err != nil {
		m.add("%w", err)
	} else if path.Device() != device {
		m.add("it does not belong to this device")
	}
}

func (m *mistakes) checkDescriptor(d *gateway.Descriptor) {
	if d.Traits == nil {
		m.add("it has no traits")
		return
	}
	switch d.Access {
	case gateway.AccessRead, gateway.AccessWrite, gateway.AccessReadWrite:
		if d.Argument != nil || d.Result != nil {
			m.add("only a command has an argument or a result")
		}
	case gateway.AccessExecute:
		m.checkCommand(d)
	default:
		m.add("access %d is none of r, w, rw and x", d.Access)
	}
	m.checkType(&d.Type)
	m.checkText("description", d.Description)
	m.checkRange("display limits", d.Display)
	m.checkLevels(d)
	m.checkDeadbands(d)
	if d.Poll < 0 {
		m.add("the poll period %v is negative", d.Poll)
	}
}

func (m *mistakes) checkCommand(d *gateway.Descriptor) {
	if d.Kind != gateway.Bool || d.IsArray() {
		m.add("a command's own type is bool: whether it is running")
	}
	for _, part := range []struct {
		name string
		*gateway.Type
	}{{"argument", d.Argument}, {"result", d.Result}} {
		if part.Type == nil {
			continue
		}
		var found mistakes
		found.checkType(part.Type)
		for _, err := range found {
			m.add("%s: %w", part.name, err)
		}
	}
}

func (m *mistakes) checkType(t *gateway.Type) {
	if t.Kind < gateway.Bool || t.Kind > gateway.Enum {
		m.add("it has no kind")
		return
	}
	m.checkShape(t)
	m.checkStates(t)
	m.checkText("units", t.Units)
	m.checkRange("control limits", t.Control)
	if !t.Kind.IsNumber() && (t.Control.Low.Set || t.Control.High.Set) {
		m.add("control limits need a number, not %s", t.Kind)
	}
	if t.MaxLength < 0 {
		m.add("the maximum length %d is negative", t.MaxLength)
	}
	if t.PrecisionSet && (t.Precision < 0 || t.Precision > 17) {
		m.add("the precision %d is not in 0 ... 17", t.Precision)
	}
}

func (m *mistakes) checkShape(t *gateway.Type) {
	if !t.IsArray() {
		return
	}
	if t.Kind == gateway.Bytes || t.Kind == gateway.Enum {
		m.add("%s cannot be the element of an array", t.Kind)
	}
	elements := 1
	for _, extent := range t.Shape {
		if extent <= 0 || extent > maxElements/elements {
			m.add("the shape %v is not of 1 ... %d elements", t.Shape, maxElements)
			return
		}
		elements *= extent
	}
}

func (m *mistakes) checkStates(t *gateway.Type) {
	if t.Kind != gateway.Enum {
		if len(t.States) > 0 {
			m.add("only an enum has states, not %s", t.Kind)
		}
		return
	}
	if len(t.States) == 0 {
		m.add("an enum needs states")
	}
	labels := make(map[string]int, len(t.States))
	raws := make(map[string]int, len(t.States))
	for i, state := range t.States {
		m.checkText("label", state.Label)
		if state.Label == "" {
			m.add("state %d has no label", i)
		} else if other, ok := labels[state.Label]; ok {
			m.add("states %d and %d have the same label %q", other, i, gateway.Quotable(state.Label))
		}
		labels[state.Label] = i
		raw := state.Raw
		if raw == "" {
			raw = fmt.Sprint(i)
		}
		if other, ok := raws[raw]; ok {
			m.add("states %d and %d are the same %q at the device", other, i, gateway.Quotable(raw))
		}
		raws[raw] = i
		if state.Severity > gateway.Invalid {
			m.add("state %d has the unknown severity %d", i, state.Severity)
		}
	}
}

func (m *mistakes) checkText(what, text string) {
	if !utf8.ValidString(text) {
		m.add("the %s is not valid UTF-8", what)
	}
}

func (m *mistakes) checkRange(what string, r gateway.Range) {
	m.checkOrder(what, []gateway.Limit{r.Low, r.High})
}

// checkOrder wants those limits that are set to be numbers that do not fall.
func (m *mistakes) checkOrder(what string, limits []gateway.Limit) {
	before := math.Inf(-1)
	for _, limit := range limits {
		switch {
		case !limit.Set:
		case math.IsNaN(limit.Value):
			m.add("the %s have NaN as one that is set", what)
		case limit.Value < before:
			m.add("the %s are in the wrong order: %g is below %g", what, limit.Value, before)
		default:
			before = limit.Value
		}
	}
}

func (m *mistakes) checkLevels(d *gateway.Descriptor) {
	levels := []gateway.Level{d.Alarm.LoLo, d.Alarm.Low, d.Alarm.High, d.Alarm.HiHi}
	limits := make([]gateway.Limit, len(levels))
	given := false
	for i, level := range levels {
		limits[i] = level.Limit
		given = given || level.Set
		if level.Severity > gateway.Invalid {
			m.add("an alarm level has the unknown severity %d", level.Severity)
		}
	}
	m.checkOrder("alarm levels", limits)
	if given && (!d.Kind.IsNumber() || d.IsArray() || !d.CanRead()) {
		m.add("alarm levels need a single number that can be read")
	}
	if !(d.Alarm.Hysteresis >= 0) || math.IsInf(d.Alarm.Hysteresis, 0) {
		m.add("the hysteresis %g is not a number from 0 on", d.Alarm.Hysteresis)
	}
}

func (m *mistakes) checkDeadbands(d *gateway.Descriptor) {
	if !(d.Deadband >= 0) || !(d.LogDeadband >= 0) {
		m.add("the dead-bands %g and %g are not numbers from 0 on", d.Deadband, d.LogDeadband)
	}
	if (d.Deadband > 0 || d.LogDeadband > 0) && (!d.Kind.IsNumber() || d.IsArray()) {
		m.add("dead-bands need a single number")
	}
}

func (m *mistakes) checkPoll(p *Poll, attributes []gateway.Descriptor) {
	if p.Period <= 0 {
		m.add("the period %v is not positive", p.Period)
	}
	if len(p.Indices) == 0 {
		m.add("it refreshes no attribute")
	}
	if p.MaxAge < 0 {
		m.add("the maximum age %v is negative", p.MaxAge)
	}
	for _, index := range p.Indices {
		switch {
		case index < 0 || index >= len(attributes):
			m.add("there is no attribute %d", index)
		case attributes[index].Traits != nil && attributes[index].IsCommand():
			m.add("the command %s cannot be polled", attributes[index].Path)
		}
	}
}
