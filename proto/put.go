package proto

import (
	"errors"
	"fmt"
	"time"

	"github.com/polygate/gateway"
)

// AppendPut appends a Put.
func AppendPut(dst []byte, p *gateway.Put) ([]byte, error) {
	w := writer{b: dst}
	w.putID(1, p.ID)
	w.owner(2, &p.To)
	w.text(3, string(p.Path))
	w.value(4, p.Value)
	w.varint(5, uint64(p.Budget))
	w.varint(6, uint64(p.Mode))
	w.bool(7, p.Urgent)
	w.caller(8, &p.Caller)
	w.varint(9, uint64(p.NotAfter))
	w.bool(10, p.Refresh)
	return w.b, w.err
}

// Put decodes a Put: it has an ID, a path of the device that it is for, a
// budget of 0 ... MaxBudget and a known mode.
func (d *Decoder) Put(b []byte) (*gateway.Put, error) {
	p := new(gateway.Put)
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(putID(r.bytes(), &p.ID))
		case 2<<3 | lenType:
			r.fail(d.owner(r.bytes(), &p.To))
		case 3<<3 | lenType:
			p.Path = gateway.Path(d.again(&r))
		case 4<<3 | lenType:
			r.fail(d.value(r.bytes(), &p.Value))
		case 5<<3 | varintType:
			p.Budget = time.Duration(r.varint())
		case 6<<3 | varintType:
			mode := r.enum(int32(gateway.Latest))
			if mode < 0 {
				r.fail(errors.New("unknown mode"))
			}
			p.Mode = gateway.Mode(max(mode, 0))
		case 7<<3 | varintType:
			p.Urgent = r.bool()
		case 8<<3 | lenType:
			r.fail(d.caller(r.bytes(), &p.Caller))
		case 9<<3 | varintType:
			p.NotAfter = time.Duration(r.varint())
		case 10<<3 | varintType:
			p.Refresh = r.bool()
		default:
			r.skip(key)
		}
	}
	r.fail(checkPut(p))
	if r.err != nil {
		return nil, fmt.Errorf("decoding a put: %w", r.err)
	}
	return p, nil
}

func checkPut(p *gateway.Put) error {
	if err := checkOwner(&p.To); err != nil {
		return err
	}
	if _, err := gateway.ParsePath(string(p.Path)); err != nil {
		return err
	}
	switch {
	case p.Path.Device() != p.To.Device:
		return fmt.Errorf("%s is not of device %s", p.Path, p.To.Device)
	case p.ID == (gateway.PutID{}):
		return errors.New("it has no id")
	case p.Budget < 0 || p.Budget > gateway.MaxBudget:
		return fmt.Errorf("a budget of %v is not within 0 ... %v", p.Budget, gateway.MaxBudget)
	}
	return nil
}

func (w *writer) caller(num uint64, c *gateway.Caller) {
	if *c == (gateway.Caller{}) {
		return
	}
	m := w.begin(num, short)
	w.text(1, c.Identity)
	w.text(2, c.Protocol)
	w.text(3, c.Peer)
	w.text(4, c.Correlation)
	w.end(m)
}

func (d *Decoder) caller(b []byte, c *gateway.Caller) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			c.Identity = d.again(&r)
		case 2<<3 | lenType:
			c.Protocol = d.again(&r)
		case 3<<3 | lenType:
			c.Peer = d.again(&r)
		case 4<<3 | lenType:
			c.Correlation = r.text()
		default:
			r.skip(key)
		}
	}
	return r.err
}
