package proto

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

func (w *writer) typ(num uint64, t *gateway.Type) {
	if t == nil {
		return
	}
	m := w.begin(num, short)
	w.varint(1, uint64(t.Kind))
	if len(t.Shape) > 0 {
		packed := w.begin(2, short)
		for _, extent := range t.Shape {
			w.b = protowire.AppendVarint(w.b, uint64(extent))
		}
		w.end(packed)
	}
	w.varint(3, uint64(t.MaxLength))
	w.text(4, t.Units)
	if t.PrecisionSet {
		w.key(5, varintType)
		w.b = protowire.AppendVarint(w.b, uint64(t.Precision))
	}
	w.limits(6, &t.Control)
	for i := range t.States {
		w.state(7, &t.States[i])
	}
	w.end(m)
}

func (d *Decoder) typ(b []byte, t *gateway.Type) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | varintType:
			t.Kind = gateway.Kind(max(r.enum(int32(gateway.Enum)), 0))
		case 2<<3 | lenType:
			packed := reader{b: r.bytes()}
			for packed.more() {
				t.Shape = packed.extent(t.Shape)
			}
			r.fail(packed.err)
		case 2<<3 | varintType:
			t.Shape = r.extent(t.Shape)
		case 3<<3 | varintType:
			t.MaxLength = int(r.index())
		case 4<<3 | lenType:
			t.Units = d.again(&r)
		case 5<<3 | varintType:
			t.Precision, t.PrecisionSet = int(r.index()), true
		case 6<<3 | lenType:
			r.fail(limits(r.bytes(), &t.Control))
		case 7<<3 | lenType:
			if len(t.States) == maxStates {
				r.fail(errManyStates)
				break
			}
			t.States = append(t.States, gateway.State{})
			r.fail(d.state(r.bytes(), &t.States[len(t.States)-1]))
		default:
			r.skip(key)
		}
	}
	if r.err == nil {
		r.err = checkType(t)
	}
	return r.err
}

var errManyStates = fmt.Errorf("more than %d states", maxStates)

// extent reads one dimension of a shape.
func (r *reader) extent(shape []int) []int {
	if len(shape) == maxDimensions {
		r.fail(fmt.Errorf("more than %d dimensions", maxDimensions))
		return shape
	}
	return append(shape, int(r.index()))
}

func checkType(t *gateway.Type) error {
	if t.Kind == gateway.NoKind {
		return errors.New("a type has no kind, or one that is not known here")
	}
	if t.IsArray() && (t.Kind == gateway.Bytes || t.Kind == gateway.Enum) {
		return fmt.Errorf("%s cannot be the element of an array", t.Kind)
	}
	elements := 1
	for _, extent := range t.Shape {
		if extent < 1 || extent > maxElements/elements {
			return fmt.Errorf("a shape of %v has no elements, or more than %d", t.Shape, maxElements)
		}
		elements *= extent
	}
	return nil
}

func (w *writer) state(num uint64, s *gateway.State) {
	m := w.begin(num, short)
	w.text(1, s.Label)
	w.text(2, s.Raw)
	w.varint(3, uint64(s.Severity))
	w.end(m)
}

func (d *Decoder) state(b []byte, s *gateway.State) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			s.Label = d.again(&r)
		case 2<<3 | lenType:
			s.Raw = d.again(&r)
		case 3<<3 | varintType:
			s.Severity = r.severity()
		default:
			r.skip(key)
		}
	}
	return r.err
}

// limits writes a Range; one without limits is left out.
func (w *writer) limits(num uint64, l *gateway.Range) {
	if !l.Low.Set && !l.High.Set {
		return
	}
	m := w.begin(num, short)
	w.limit(1, l.Low)
	w.limit(2, l.High)
	w.end(m)
}

// limit writes a limit that is set even if it is 0.
func (w *writer) limit(num uint64, l gateway.Limit) {
	if l.Set {
		w.key(num, fixed64Type)
		w.b = protowire.AppendFixed64(w.b, math.Float64bits(l.Value))
	}
}

func limits(b []byte, l *gateway.Range) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | fixed64Type:
			l.Low = gateway.At(r.double())
		case 2<<3 | fixed64Type:
			l.High = gateway.At(r.double())
		default:
			r.skip(key)
		}
	}
	return r.err
}

func (w *writer) level(num uint64, l *gateway.Level) {
	if !l.Set && l.Severity == gateway.NoAlarm {
		return
	}
	m := w.begin(num, short)
	w.limit(1, l.Limit)
	w.varint(2, uint64(l.Severity))
	w.end(m)
}

func level(b []byte, l *gateway.Level) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | fixed64Type:
			l.Limit = gateway.At(r.double())
		case 2<<3 | varintType:
			l.Severity = r.severity()
		default:
			r.skip(key)
		}
	}
	return r.err
}

func (w *writer) levels(num uint64, a *gateway.AlarmLevels) {
	if *a == (gateway.AlarmLevels{}) {
		return
	}
	m := w.begin(num, short)
	w.level(1, &a.LoLo)
	w.level(2, &a.Low)
	w.level(3, &a.High)
	w.level(4, &a.HiHi)
	w.double(5, a.Hysteresis)
	w.end(m)
}

func levels(b []byte, a *gateway.AlarmLevels) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(level(r.bytes(), &a.LoLo))
		case 2<<3 | lenType:
			r.fail(level(r.bytes(), &a.Low))
		case 3<<3 | lenType:
			r.fail(level(r.bytes(), &a.High))
		case 4<<3 | lenType:
			r.fail(level(r.bytes(), &a.HiHi))
		case 5<<3 | fixed64Type:
			a.Hysteresis = r.double()
		default:
			r.skip(key)
		}
	}
	return r.err
}
