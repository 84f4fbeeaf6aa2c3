package proto

import (
	"fmt"

	"github.com/polygate/gateway"
)

func (w *writer) owner(num uint64, o *gateway.Owner) {
	m := w.begin(num, short)
	w.text(1, o.Device)
	w.text(2, o.Instance)
	w.varint(3, o.Term)
	w.end(m)
}

func (d *Decoder) owner(b []byte, o *gateway.Owner) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			o.Device = d.again(&r)
		case 2<<3 | lenType:
			o.Instance = d.again(&r)
		case 3<<3 | varintType:
			o.Term = r.varint()
		default:
			r.skip(key)
		}
	}
	return r.err
}

// checkOwner reports why o cannot own anything: both of its names become parts of subjects.
func checkOwner(o *gateway.Owner) error {
	if err := gateway.CheckSegment(o.Device); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	if err := gateway.CheckSegment(o.Instance); err != nil {
		return fmt.Errorf("instance of %s: %w", o.Device, err)
	}
	return nil
}

// Owner decodes only who sent an Update, Announcement, DeviceState or
// PutVerdict: their owner is field 1 of all of them.
func (d *Decoder) Owner(b []byte) (gateway.Owner, error) {
	var o gateway.Owner
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		if key == 1<<3|lenType {
			r.fail(d.owner(r.bytes(), &o))
		} else {
			r.skip(key)
		}
	}
	r.fail(checkOwner(&o))
	if r.err != nil {
		return gateway.Owner{}, fmt.Errorf("decoding an owner: %w", r.err)
	}
	return o, nil
}

func (w *writer) putID(num uint64, id gateway.PutID) {
	if id == (gateway.PutID{}) {
		return
	}
	m := w.begin(num, short)
	w.fixed64(1, id.Hub)
	w.varint(2, id.N)
	w.end(m)
}

func putID(b []byte, id *gateway.PutID) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | fixed64Type:
			id.Hub = r.fixed64()
		case 2<<3 | varintType:
			id.N = r.varint()
		default:
			r.skip(key)
		}
	}
	return r.err
}
