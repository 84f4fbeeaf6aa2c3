package model

import "github.com/polygate/gateway"

// Encoder writes a list of events as JSON.
type Encoder interface {
	AppendEvents(dst []byte, events []gateway.Event) []byte
}

// Updates shows one delivery of a subscription.
type Updates struct {
	Of      []gateway.Event // at least one
	Encoder Encoder
}

// Events shows the events one by one.
func (u *Updates) Events() []*Event {
	list := make([]*Event, len(u.Of))
	for i := range u.Of {
		list[i] = &Event{&u.Of[i]}
	}
	return list
}

// Batch is the events as one piece.
func (u *Updates) Batch() JSON {
	return JSON{func(dst []byte) []byte { return u.Encoder.AppendEvents(dst, u.Of) }}
}

// Cursor continues behind the delivery; nil if there is none.
func (u *Updates) Cursor() *string { return textOrNil(u.Of[len(u.Of)-1].Cursor.String()) }

// Event shows one event.
type Event struct{ of *gateway.Event }

func (e *Event) isSample() bool { return e.of.Type == gateway.EventSample }

// Type is what happened.
func (e *Event) Type() EventType { return eventTypeOf(e.of.Type) }

// Name is the full name of what it is about, or nil.
func (e *Event) Name() *string {
	if e.of.Attribute == nil {
		return nil
	}
	return textOrNil(string(e.of.Attribute.Path))
}

// Role is that of a sample, or nil.
func (e *Event) Role() *Role {
	if !e.isSample() {
		return nil
	}
	role := roleOf(e.of.Role)
	return &role
}

// Sample is the new sample, or nil.
func (e *Event) Sample() *Sample {
	if !e.isSample() {
		return nil
	}
	return SampleOf(e.of.Attribute, e.of.Role)
}

// Changes is what changed in a sample.
func (e *Event) Changes() []Change { return changesOf(e.of.Mask) }

// Lost counts the samples that were left out before.
func (e *Event) Lost() int { return int(e.of.Lost) }

// Attribute is what it is about, after the event, or nil.
func (e *Event) Attribute() *Attribute {
	if e.of.Attribute == nil {
		return nil
	}
	return &Attribute{e.of.Attribute}
}

// Cursor continues behind the event; nil if there is none.
func (e *Event) Cursor() *string { return textOrNil(e.of.Cursor.String()) }
