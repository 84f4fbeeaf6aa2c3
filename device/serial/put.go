package serial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/stream"
)

// A putting is a put or a command on its way.
type putting struct {
	item     *item
	index    int
	value    gateway.Value
	requests [][]byte // of each step
	values   []stream.Value
	outcome  device.Outcome

	// start is asked once, before the first step. It reports whether the put is
	// still wanted; from then on its end does not stop a write of several steps.
	start   func() bool
	started bool
}

// errExpired says that a put was not started any more.
var errExpired = errors.New("the budget ran out")

// Put sets an attribute or runs a command. What the write is made of is sent
// as one piece: once its first byte or break is out, a write of several steps is
// carried through, whatever happens to ctx.
func (d *Driver) Put(ctx context.Context, index int, v gateway.Value) device.Outcome {
	p := &putting{item: &d.plan.items[index], index: index, value: v, outcome: device.Outcome{Stage: gateway.StageAccepted}}
	w := p.item.write
	if w == nil {
		p.fail(gateway.KindInternal, "%s cannot be written", d.plan.model.Attributes[index].Path)
		return p.outcome
	}
	if err := p.encode(w, v, d.plan.outTerminator); err != nil {
		p.fail(gateway.KindOutOfRange, "cannot be written: %w", err)
		return p.outcome
	}
	runCtx, cancel := ctx, func() {}
	p.start = func() bool { return wanted(ctx) }
	if len(w.steps) > 1 || len(w.steps) > 0 && w.steps[0].brk > 0 {
		var keep func() bool
		runCtx, keep, cancel = untilStarted(ctx)
		p.start = func() bool { return wanted(ctx) && keep() }
	}
	defer cancel()
	var failed error
	lost := d.do(runCtx, link.Put, func(t *talk) error {
		failed = t.put(w, p)
		return failed
	})
	p.settle(lost, failed)
	if p.outcome.Err == nil {
		d.setpoints[index] = v
	}
	return p.outcome
}

// untilStarted returns a context that ends with ctx unless start is called
// before that, which reports whether it was in time. It keeps ctx's values.
func untilStarted(ctx context.Context) (shielded context.Context, start func() bool, cancel func()) {
	shielded, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	return shielded, stop, func() {
		stop()
		end(nil)
	}
}

// wanted reports whether ctx goes on. A process that was stopped finds its
// deadline passed before the timer says so.
func wanted(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() == nil && (!ok || time.Now().Before(deadline))
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

// encode makes the bytes of all steps before the first is sent.
func (p *putting) encode(w *write, v gateway.Value, terminator []byte) error {
	p.requests = make([][]byte, len(w.steps))
	for i := range w.steps {
		s := &w.steps[i]
		if s.format == nil {
			continue
		}
		var values []stream.Value
		if s.field != nil {
			var err error
			if values, err = w.codec.encode(nil, s.field, v); err != nil {
				return err
			}
			p.values = values
		}
		b, err := s.format.Append(nil, values...)
		if err != nil {
			return err
		}
		if s.field != nil && len(terminator) > 0 && bytes.Contains(b, terminator) {
			return fmt.Errorf("the text holds %s, which would end the request and begin another", quoted(terminator))
		}
		p.requests[i] = b
	}
	return nil
}

// put takes the steps, and reads back. Its error is the line's or the
// context's; everything else is in the outcome.
func (t *talk) put(w *write, p *putting) error {
	if w.toggle {
		if done, err := t.inState(p); done || err != nil {
			return err
		}
	}
	if w.expectsReply() || len(t.plan.before) > 0 {
		a, err := t.resync("", p.item.exchange)
		if err == nil && a.ok() {
			a, err = t.takeAll(t.plan.before)
		}
		if err != nil {
			return err
		}
		if !a.ok() {
			p.fail(gateway.KindNotConnected, "nothing was sent, since the device does not answer as it should: %s", a.fault.Text)
			p.outcome.Readings = p.readingsOf(a)
			return nil
		}
	}
	for i := range w.steps {
		err := t.step(w, i, p)
		if p.outcome.Stage >= gateway.StageSent && (err != nil || p.outcome.Err != nil) {
			t.cleanup(w)
		}
		if err != nil {
			return err
		}
		if p.outcome.Err != nil {
			break
		}
	}
	if p.outcome.Err == nil {
		p.outcome.Stage = gateway.StageAcknowledged
	}
	if !p.item.readBack || p.outcome.Stage < gateway.StageSent {
		return nil
	}
	return t.readBack(w, p)
}

// readingsOf makes the readings of an exchange that failed before it began.
func (p *putting) readingsOf(a answer) []reading {
	if p.item.exchange == nil {
		return nil
	}
	return p.item.exchange.failed(a.fault, a.at, nil)
}

// expectsReply reports whether the instrument answers to any step.
func (w *write) expectsReply() bool {
	for i := range w.steps {
		if w.steps[i].reply != nil {
			return true
		}
	}
	return w.result != nil
}

// step sends one step and waits for what belongs to it.
func (t *talk) step(w *write, i int, p *putting) error {
	s := &w.steps[i]
	if !p.started {
		if !p.start() {
			return errExpired
		}
		p.started = true
	}
	if s.brk > 0 {
		fault, err := t.sendBreak(s.brk)
		if fault != nil {
			p.fail(gateway.KindInternal, "%w", fault)
		} else if err == nil {
			p.outcome.Stage = gateway.StageSent
		}
		if fault != nil || err != nil {
			return err
		}
	}
	if s.format != nil {
		sent, err := t.send(p.requests[i])
		if sent {
			p.outcome.Stage = gateway.StageSent
		}
		if err != nil {
			return err
		}
	}
	if s.reply != nil {
		if err := t.acknowledged(s.reply, p, w, i, nil); err != nil || p.outcome.Err != nil {
			return err
		}
	}
	if w.result != nil && i == len(w.steps)-1 {
		err := t.acknowledged(w.result.format, p, w, i, func(values []stream.Value) {
			p.setResult(w.result, values)
		})
		if err != nil || p.outcome.Err != nil {
			return err
		}
	}
	if s.wait > 0 {
		return wait(t.ctx, s.wait)
	}
	return nil
}

func (p *putting) setResult(result *target, values []stream.Value) {
	if len(result.values) == 0 {
		return
	}
	v, alarm := result.values[0].codec.decode(&result.fields[0], values)
	if p.outcome.Result = v; !v.Known() {
		p.fail(gateway.KindUnknownOutcome, "the device answered what cannot be understood: %s", alarm.Text)
	}
}

// acknowledged waits for the reply to step i, and gives its values to use.
func (t *talk) acknowledged(reply *stream.Format, p *putting, w *write, i int, use func([]stream.Value)) error {
	// Without declared refusals, whatever is not the reply is one.
	lead := ""
	if len(t.plan.refusals) > 0 {
		lead = leading(reply.String())
	}
	var values []stream.Value
	a, err := t.await(p.requests[i], lead, func(line []byte) error {
		var err error
		values, err = reply.Match(line, compared(reply, p.values)...)
		return err
	})
	if err != nil {
		return err
	}
	where := ""
	if len(w.steps) > 1 {
		where = fmt.Sprintf("step %d of %d: ", i+1, len(w.steps))
	}
	switch {
	case a.ok():
		if use != nil {
			use(values)
		}
	case a.words != nil:
		p.fail(gateway.KindRefusedByDevice, "%sthe device refuses", where)
		p.outcome.Err.DeviceWords = toUTF8(string(a.words))
	default:
		p.fail(gateway.KindUnknownOutcome, "%ssent, but %s", where, a.fault.Text)
	}
	return nil
}

// compared returns the values that a reply has to repeat (%=f).
func compared(reply *stream.Format, written []stream.Value) []stream.Value {
	var current []stream.Value
	for _, field := range reply.Fields() {
		if field.Compare && len(written) > 0 {
			current = append(current, written[0])
		}
	}
	return current
}

// cleanup leaves the instrument as the configuration wants it after a failure.
// What it answers does not matter any more.
func (t *talk) cleanup(w *write) {
	for i := range w.cleanup {
		if _, err := t.take(&w.cleanup[i]); err != nil {
			return
		}
	}
}

// readBack asks what has become of the put.
func (t *talk) readBack(w *write, p *putting) error {
	x := p.item.exchange
	a, err := t.resync(x.leading, x)
	if err == nil && a.ok() {
		a, err = t.ask(x)
	}
	if err != nil {
		return p.unverified(w, err)
	}
	if !a.ok() {
		p.outcome.Readings = x.failed(a.fault, a.at, nil)
		p.notRead(w, a.fault.Text)
		return nil
	}
	p.outcome.Readings, a, err = t.readReply(x, nil)
	if err == nil && a.refused && !w.expectsReply() {
		// The line that the instrument sends only where it does not want to.
		p.outcome.Stage = gateway.StageSent
		p.fail(gateway.KindRefusedByDevice, "the device refuses")
		p.outcome.Err.DeviceWords = toUTF8(string(a.words))
		p.outcome.Readings, a, err = t.readReply(x, nil)
	}
	switch {
	case err != nil:
		return p.unverified(w, err)
	case !a.ok():
		p.notRead(w, a.fault.Text)
	case p.outcome.Err == nil && p.taken(w, t.plan.outTerminator):
		p.outcome.Stage = gateway.StageVerified
	}
	return nil
}

// taken reports whether what was read back is what was asked for, as far as the
// requests can tell: to as many digits as were sent.
func (p *putting) taken(w *write, terminator []byte) bool {
	i := slices.IndexFunc(p.outcome.Readings, func(r reading) bool { return r.Index == p.index && r.Role == gateway.Readback })
	if i < 0 || p.outcome.Readings[i].Failed() {
		return false
	}
	is := p.outcome.Readings[i].Value
	if is.Equal(p.value) {
		return true
	}
	again := &putting{}
	takesValue := slices.ContainsFunc(w.steps, func(s step) bool { return s.field != nil })
	return takesValue && again.encode(w, is, terminator) == nil && slices.EqualFunc(again.requests, p.requests, bytes.Equal)
}

// notRead says what a failed read-back means: without an acknowledgement
// nothing is known of the put.
func (p *putting) notRead(w *write, why string) {
	if p.outcome.Err == nil && !w.expectsReply() {
		p.outcome.Stage = gateway.StageSent
		p.fail(gateway.KindUnknownOutcome, "sent, but it could not be read back: %s", why)
	}
}

// unverified is notRead for a line or a context that ended.
func (p *putting) unverified(w *write, err error) error {
	p.notRead(w, err.Error())
	if p.outcome.Err == nil && lost(err) == nil {
		return nil // It was acknowledged; only the time to read it back was short.
	}
	return err
}
