package model

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/polygate/gateway"
)

// Sample shows the sample of one role of an attribute.
type Sample struct {
	of     *gateway.Attribute
	role   gateway.Role
	sample *gateway.Sample
}

// SampleOf returns the sample of a role, or nil.
func SampleOf(a *gateway.Attribute, role gateway.Role) *Sample {
	sample := a.Sample(role)
	if sample == nil {
		return nil
	}
	return &Sample{of: a, role: role, sample: sample}
}

// Role tells the two samples apart.
func (s *Sample) Role() Role { return roleOf(s.role) }

// Value is the value as JSON shows it, or nil.
func (s *Sample) Value() *Value { return NewValue(&s.of.Type, s.sample.Value) }

// Text is the value as text, or nil.
func (s *Sample) Text() *string {
	v := s.sample.Value
	var text string
	switch {
	case !v.Known():
		return nil
	case v.IsArray():
		text = string(s.of.AppendJSON(nil, v, gateway.JSONOptions{}))
	case v.Kind() == gateway.String:
		text = v.Text()
	case v.Kind() == gateway.Bytes:
		text = base64.StdEncoding.EncodeToString([]byte(v.Text()))
	case v.Kind() == gateway.Enum:
		label, ok := s.of.Label(v.Index())
		if !ok {
			label = strconv.Itoa(v.Index())
		}
		text = label
	default:
		// Only NaN and the infinities have quotes.
		data := s.of.AppendJSON(nil, v, gateway.JSONOptions{})
		if data[0] == '"' {
			data = data[1 : len(data)-1]
		}
		text = string(data)
	}
	return &text
}

// Number is the value as a Float, or nil.
func (s *Sample) Number() *float64 {
	v := s.sample.Value
	if v.IsArray() || !v.Kind().IsNumber() && v.Kind() != gateway.Bool && v.Kind() != gateway.Enum {
		return nil
	}
	return finite(v.Float())
}

// Integer is a whole number, or nil.
func (s *Sample) Integer() *BigInt {
	v := s.sample.Value
	if v.IsArray() || !v.Kind().IsInteger() {
		return nil
	}
	digits := bigUint(v.Uint())
	if v.Kind().IsSigned() {
		digits = BigInt(strconv.FormatInt(v.Int(), 10))
	}
	return &digits
}

// Boolean is a bool, or nil.
func (s *Sample) Boolean() *bool {
	v := s.sample.Value
	if v.IsArray() || v.Kind() != gateway.Bool {
		return nil
	}
	b := v.Bool()
	return &b
}

// Label is the label of a state, or nil.
func (s *Sample) Label() *string {
	if v := s.sample.Value; v.Kind() == gateway.Enum {
		if label, ok := s.of.Label(v.Index()); ok {
			return &label
		}
	}
	return nil
}

// Index is the index of a state, or nil.
func (s *Sample) Index() *int {
	v := s.sample.Value
	if v.Kind() != gateway.Enum || v.Index() > math.MaxInt32 {
		return nil
	}
	index := v.Index()
	return &index
}

// List is the elements of an array, or nil.
func (s *Sample) List() []*Value {
	v := s.sample.Value
	if !v.IsArray() {
		return nil
	}
	list := make([]*Value, v.Len())
	for i := range list {
		list[i] = NewValue(&s.of.Type, v.At(i))
	}
	return list
}

// Time is when it was taken, or nil.
func (s *Sample) Time() *Time { return timeOf(s.sample.Time.Std()) }

// LastGood is when the last value came that could be trusted, or nil.
func (s *Sample) LastGood() *Time { return timeOf(s.sample.LastGood.Std()) }

// Alarm is how good it is.
func (s *Sample) Alarm() *Alarm {
	return alarmOf(s.sample.Alarm.Worse(s.of.Availability.Alarm(s.of.Words)))
}

// Seq counts the changes.
func (s *Sample) Seq() BigInt { return bigUint(s.sample.Seq) }

// Availability tells whether it is current.
func (s *Sample) Availability() State { return stateOf(s.of.Availability) }

// Alarm shows an alarm.
type Alarm struct {
	Severity     Severity
	Status, Text string
}

func alarmOf(a gateway.Alarm) *Alarm {
	return &Alarm{Severity: Severity(a.Severity.String()), Status: a.Status.String(), Text: a.Text}
}
