package proto

import (
	"fmt"

	"github.com/polygate/gateway"
)

// AppendPutVerdict appends a PutVerdict.
func AppendPutVerdict(dst []byte, p *gateway.PutVerdict) ([]byte, error) {
	w := writer{b: dst}
	w.owner(1, &p.Owner)
	w.putID(2, p.ID)
	w.varint(3, p.Revision)
	w.varint(4, uint64(p.Index))
	w.verdict(5, &p.Verdict)
	return w.b, w.err
}

// PutVerdict decodes a PutVerdict.
func (d *Decoder) PutVerdict(b []byte) (*gateway.PutVerdict, error) {
	p := new(gateway.PutVerdict)
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(d.owner(r.bytes(), &p.Owner))
		case 2<<3 | lenType:
			r.fail(putID(r.bytes(), &p.ID))
		case 3<<3 | varintType:
			p.Revision = r.varint()
		case 4<<3 | varintType:
			p.Index = r.index()
		case 5<<3 | lenType:
			r.fail(d.verdict(r.bytes(), &p.Verdict))
		default:
			r.skip(key)
		}
	}
	r.fail(checkOwner(&p.Owner))
	if r.err != nil {
		return nil, fmt.Errorf("decoding a verdict: %w", r.err)
	}
	return p, nil
}

func (w *writer) verdict(num uint64, v *gateway.Verdict) {
	guess := short + v.Result.Size()
	for _, s := range []*gateway.Sample{v.Setpoint, v.Readback} {
		if s != nil {
			guess += short + s.Value.Size()
		}
	}
	m := w.begin(num, guess)
	w.varint(1, uint64(v.Stage))
	w.error(2, v.Err)
	w.sample(3, v.Setpoint)
	w.sample(4, v.Readback)
	w.value(5, v.Result)
	w.end(m)
}

func (d *Decoder) verdict(b []byte, v *gateway.Verdict) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | varintType:
			v.Stage = r.stage()
		case 2<<3 | lenType:
			if v.Err == nil {
				v.Err = &gateway.Error{Kind: gateway.KindInternal}
			}
			r.fail(d.error(r.bytes(), v.Err))
		case 3<<3 | lenType:
			d.newSample(&r, &v.Setpoint)
		case 4<<3 | lenType:
			d.newSample(&r, &v.Readback)
		case 5<<3 | lenType:
			r.fail(d.value(r.bytes(), &v.Result))
		default:
			r.skip(key)
		}
	}
	return r.err
}

// stage takes one that it does not know for none.
func (r *reader) stage() gateway.Stage {
	return gateway.Stage(max(r.enum(int32(gateway.StageVerified)), 0))
}

// error leaves out the cause, which does not travel.
func (w *writer) error(num uint64, e *gateway.Error) {
	if e == nil {
		return
	}
	m := w.begin(num, len(e.Msg)+len(e.DeviceWords)+8)
	w.varint(1, uint64(e.Kind))
	w.varint(2, uint64(e.Stage))
	w.text(3, e.Msg)
	w.text(4, e.DeviceWords)
	w.end(m)
}

func (d *Decoder) error(b []byte, e *gateway.Error) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | varintType:
			// A kind that is not known, and an error without one, are internal.
			e.Kind = gateway.KindInternal
			if kind := r.enum(int32(gateway.KindInternal)); kind > int(gateway.KindOK) {
				e.Kind = gateway.ErrorKind(kind)
			}
		case 2<<3 | varintType:
			e.Stage = r.stage()
		case 3<<3 | lenType:
			e.Msg = r.text()
		case 4<<3 | lenType:
			e.DeviceWords = r.text()
		default:
			r.skip(key)
		}
	}
	return r.err
}
