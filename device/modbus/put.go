package modbus

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// A putting is a put on its way.
type putting struct {
	index   int
	item    *item
	value   gateway.Value
	data    []byte // what is to be written, as the unit has it
	outcome device.Outcome
}

// errExpired says that a put was not started any more.
var errExpired = errors.New("the budget ran out")

// Put writes an attribute, and reads it back in the same turn on the line.
func (d *Driver) Put(ctx context.Context, index int, v gateway.Value) device.Outcome {
	p := &putting{index: index, item: &d.plan.items[index], value: v, outcome: device.Outcome{Stage: gateway.StageAccepted}}
	var err error
	if p.data, err = p.item.codec.encode(v); err != nil {
		p.fail(gateway.KindOutOfRange, "cannot be written: %w", err)
		return p.outcome
	}
	var failed error
	lost := d.do(ctx, link.Put, func(t *talk) error {
		failed = t.put(p)
		return failed
	})
	p.settle(lost, failed)
	if p.outcome.Err == nil {
		d.setpoints[index] = v
	}
	return p.outcome
}

// fail sets the error, if there is none yet.
func (p *putting) fail(kind gateway.ErrorKind, format string, args ...any) {
	if p.outcome.Err == nil {
		p.outcome.Err = gateway.Errorf(kind, format, args...)
	}
}

// settle says what a line that was lost, or a budget that ran out, means.
func (p *putting) settle(lost, failed error) {
	sent := p.outcome.Stage >= gateway.StageSent
	p.outcome.Lost = lost
	switch {
	case p.outcome.Stage >= gateway.StageAcknowledged:
	case lost != nil && !sent:
		p.fail(gateway.KindNotConnected, "nothing was sent: %w", lost)
	case lost != nil:
		p.fail(gateway.KindUnknownOutcome, "sent, and then the line was lost: %w", lost)
	case !sent:
		p.fail(gateway.KindExpired, "the budget ran out before it was sent")
	case failed != nil:
		p.fail(gateway.KindUnknownOutcome, "sent, and the budget ran out before the device answered")
	}
}

// put writes and reads back. Its error is the line's or the context's;
// everything else is in the outcome.
func (t *talk) put(p *putting) error {
	if p.item.codec.width > 0 && p.item.write != writeMask {
		if err := t.merge(p); err != nil || p.outcome.Err != nil {
			return err
		}
	}
	if !wanted(t.ctx) {
		return errExpired
	}
	a, err := t.ask(p.request())
	if a.sent {
		p.outcome.Stage = gateway.StageSent
	}
	if err != nil {
		return err
	}
	if !p.written(a) {
		p.outcome.Readings = t.unread(p, a)
		return nil
	}
	p.outcome.Stage = gateway.StageAcknowledged
	return t.readBack(p)
}

// wanted reports whether ctx goes on. A process that was stopped finds its
// deadline passed before the timer says so.
func wanted(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() == nil && (!ok || time.Now().Before(deadline))
}

// merge puts the attribute's part of a register between what the unit has
// around it.
func (t *talk) merge(p *putting) error {
	a, err := t.ask(p.item.request())
	if err != nil {
		return err
	}
	if a.failed() {
		if a.exception != 0 && exceptionStatus(a.exception) != gateway.StatusTimeout {
			p.refused(a, "the device does not let the register be read, a part of which is to be written")
		} else {
			p.fail(gateway.KindNotConnected, "nothing was written, since the register could not be read: %s", a.fault.Text)
		}
		p.outcome.Readings = t.unread(p, a)
		return nil
	}
	for i, mask := range p.item.codec.mask() {
		p.data[i] |= a.data[i] &^ mask
	}
	return nil
}

// request is what writes the data.
func (p *putting) request() *pdu.Request {
	it := p.item
	r := &pdu.Request{Address: uint16(it.from), Quantity: uint16(it.to - it.from), Data: p.data}
	single := r.Quantity == 1 && it.write != writeMultiple
	switch {
	case it.table == coils && single:
		r.Function, r.Data = pdu.WriteSingleCoil, []byte{0, 0}
		if p.data[0] != 0 {
			r.Data[0] = 0xFF
		}
	case it.table == coils:
		r.Function = pdu.WriteMultipleCoils
	case it.write == writeMask:
		// The unit takes (old AND mask) OR (value AND NOT mask); section 6.16.
		mask := it.codec.mask()
		r.Function, r.Data = pdu.MaskWriteRegister, []byte{^mask[0], ^mask[1], p.data[0], p.data[1]}
	case single:
		r.Function = pdu.WriteSingleRegister
	default:
		r.Function = pdu.WriteMultipleRegisters
	}
	return r
}

// written reports whether the unit did it, and otherwise says why not.
func (p *putting) written(a answer) bool {
	switch {
	case !a.failed():
		return true
	case !a.sent:
		p.fail(gateway.KindNotConnected, "nothing was sent, since the device does not answer as it should: %s", a.fault.Text)
	case a.exception == pdu.GatewayPath:
		p.fail(gateway.KindNotConnected, "the gateway on the way does not reach the device: %v", a.exception)
	case a.exception == pdu.GatewayTarget || a.exception == pdu.Acknowledge:
		p.fail(gateway.KindUnknownOutcome, "sent, but it is not known to be done: %v", a.exception)
		p.outcome.Err.DeviceWords = a.exception.Error()
	case a.exception != 0:
		p.refused(a, "the device refuses")
	default:
		p.fail(gateway.KindUnknownOutcome, "sent, but %s", a.fault.Text)
	}
	return false
}

func (p *putting) refused(a answer, why string) {
	p.fail(gateway.KindRefusedByDevice, "%s", why)
	p.outcome.Err.DeviceWords = a.exception.Error()
}

// unread makes the reading of an attribute whose unit is silent.
func (t *talk) unread(p *putting, a answer) []device.Reading {
	if !p.item.readable || a.exception != 0 {
		return nil
	}
	return t.readings(p.item.from, []int{p.index}, a, nil)
}

// readBack asks what has become of the put.
func (t *talk) readBack(p *putting) error {
	if !p.item.readBack {
		return nil
	}
	a, err := t.ask(p.item.request())
	if err != nil {
		return err // It was acknowledged; only the time to read it back was short, or the line is lost.
	}
	p.outcome.Readings = t.readings(p.item.from, []int{p.index}, a, nil)
	if !a.failed() && p.taken() {
		p.outcome.Stage = gateway.StageVerified
	}
	return nil
}

// taken reports whether what was read back is what was asked for, as far as the
// unit can tell: to as many digits as it has.
func (p *putting) taken() bool {
	codec, is := p.item.codec, p.outcome.Readings[0].Value
	asked, err := codec.encode(p.value)
	if err != nil || !is.Known() {
		return false
	}
	has, err := codec.encode(is)
	return err == nil && bytes.Equal(asked, has)
}
