package proto

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/polygate/gateway"
)

func (w *writer) descriptor(num uint64, d *gateway.Descriptor) {
	m := w.begin(num, 2*short)
	w.text(1, string(d.Path))
	w.varint(2, d.Revision)
	w.varint(3, uint64(d.Access))
	w.typ(4, &d.Type)
	w.text(5, d.Description)
	w.limits(6, &d.Display)
	w.levels(7, &d.Alarm)
	w.double(8, d.Deadband)
	w.double(9, d.LogDeadband)
	w.bool(10, d.Always)
	w.varint(11, uint64(d.Poll))
	w.annotations(12, d.Annotations)
	w.typ(13, d.Argument)
	w.typ(14, d.Result)
	w.end(m)
}

// knownTraits are the traits of one message by the bytes that they came as, so
// that what many attributes have in common is decoded and kept once.
type knownTraits map[string]*gateway.Traits

func (d *Decoder) descriptor(b []byte, known knownTraits) (*gateway.Descriptor, error) {
	to := new(gateway.Descriptor)
	r := reader{b: b}
	d.common = d.common[:0]
	for r.more() {
		start := r.at
		switch key := r.next(); key {
		case 1<<3 | lenType:
			to.Path = gateway.Path(r.text())
		case 2<<3 | varintType:
			to.Revision = r.varint()
		case 5<<3 | lenType:
			to.Description = r.text()
		case 12<<3 | lenType:
			to.Annotations = d.annotation(&r, to.Annotations)
		default:
			r.skip(key)
			d.common = append(d.common, b[start:r.at]...)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if _, err := gateway.ParsePath(string(to.Path)); err != nil {
		return nil, err
	}
	if to.Traits = known[string(d.common)]; to.Traits != nil {
		return to, nil
	}
	var err error
	if to.Traits, err = d.traits(d.common); err != nil {
		return nil, fmt.Errorf("%s: %w", to.Path, err)
	}
	known[string(d.common)] = to.Traits
	return to, nil
}

// traits reads the fields of a descriptor that are not its own alone.
func (d *Decoder) traits(b []byte) (*gateway.Traits, error) {
	to := new(gateway.Traits)
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 3<<3 | varintType:
			to.Access = gateway.Access(max(r.enum(int32(gateway.AccessExecute)), 0))
		case 4<<3 | lenType:
			r.fail(d.typ(r.bytes(), &to.Type))
		case 6<<3 | lenType:
			r.fail(limits(r.bytes(), &to.Display))
		case 7<<3 | lenType:
			r.fail(levels(r.bytes(), &to.Alarm))
		case 8<<3 | fixed64Type:
			to.Deadband = r.double()
		case 9<<3 | fixed64Type:
			to.LogDeadband = r.double()
		case 10<<3 | varintType:
			to.Always = r.bool()
		case 11<<3 | varintType:
			to.Poll = time.Duration(r.varint())
		case 13<<3 | lenType:
			d.newType(&r, &to.Argument)
		case 14<<3 | lenType:
			d.newType(&r, &to.Result)
		default:
			r.skip(key)
		}
	}
	if r.err == nil {
		r.err = checkTraits(to)
	}
	return to, r.err
}

// newType reads into t, or into a new type if t is nil.
func (d *Decoder) newType(r *reader, t **gateway.Type) {
	if *t == nil {
		*t = new(gateway.Type)
	}
	r.fail(d.typ(r.bytes(), *t))
}

func checkTraits(t *gateway.Traits) error {
	if t.Access.String() == "" {
		return errors.New("nothing can be done with it")
	}
	if t.Poll < 0 {
		return fmt.Errorf("poll period %v is negative", t.Poll)
	}
	return checkType(&t.Type)
}

// annotations writes a map in the order of its keys, so that equal maps give equal bytes.
func (w *writer) annotations(num uint64, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		m := w.begin(num, short)
		w.textAlways(1, name)
		w.textAlways(2, annotations[name])
		w.end(m)
	}
}

// annotation reads one entry of a map.
func (d *Decoder) annotation(r *reader, annotations map[string]string) map[string]string {
	entry := reader{b: r.bytes()}
	var name, text string
	for key := entry.next(); key != 0; key = entry.next() {
		switch key {
		case 1<<3 | lenType:
			name = d.again(&entry)
		case 2<<3 | lenType:
			text = d.again(&entry)
		default:
			entry.skip(key)
		}
	}
	r.fail(entry.err)
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[name] = text
	if len(annotations) > maxAnnotations {
		r.fail(fmt.Errorf("more than %d annotations", maxAnnotations))
	}
	return annotations
}
