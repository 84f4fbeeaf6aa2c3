package proto

import (
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

func (d *Decoder) descriptor(b []byte, to *gateway.Descriptor) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			to.Path = gateway.Path(r.text())
		case 2<<3 | varintType:
			to.Revision = r.varint()
		case 3<<3 | varintType:
			to.Access = gateway.Access(max(r.enum(int32(gateway.AccessExecute)), 0))
		case 4<<3 | lenType:
			r.fail(d.typ(r.bytes(), &to.Type))
		case 5<<3 | lenType:
			to.Description = r.text()
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
		case 12<<3 | lenType:
			to.Annotations = d.annotation(&r, to.Annotations)
		case 13<<3 | lenType:
			d.newType(&r, &to.Argument)
		case 14<<3 | lenType:
			d.newType(&r, &to.Result)
		default:
			r.skip(key)
		}
	}
	if r.err == nil {
		r.err = checkDescriptor(to)
	}
	return r.err
}

// newType reads into t, or into a new type if t is nil.
func (d *Decoder) newType(r *reader, t **gateway.Type) {
	if *t == nil {
		*t = new(gateway.Type)
	}
	r.fail(d.typ(r.bytes(), *t))
}

func checkDescriptor(d *gateway.Descriptor) error {
	if _, err := gateway.ParsePath(string(d.Path)); err != nil {
		return err
	}
	if d.Access.String() == "" {
		return fmt.Errorf("%s: nothing can be done with it", d.Path)
	}
	if err := checkType(&d.Type); err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	if d.Poll < 0 {
		return fmt.Errorf("%s: poll period %v is negative", d.Path, d.Poll)
	}
	return nil
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
