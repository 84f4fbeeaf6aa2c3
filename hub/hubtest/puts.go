package hubtest

import (
	"math"
	"slices"

	"github.com/polygate/gateway"
)

// HandlePut takes a put off the line. It reports false if nobody is there to
// take it.
func (d *Device) HandlePut(p *gateway.Put) bool {
	d.mu.Lock()
	if p.To != d.owner || d.left {
		d.mu.Unlock()
		return false
	}
	if !slices.ContainsFunc(d.attributes, func(a gateway.Announced) bool { return a.Descriptor.Path == p.Path }) {
		err := gateway.Errorf(gateway.KindNotFound, "no attribute or command %q", p.Path)
		d.line.Say(&gateway.PutVerdict{
			Owner: d.owner, ID: p.ID, Revision: d.revision, Index: math.MaxUint32,
			Verdict: gateway.Verdict{Stage: gateway.StageRefused, Err: err},
		})
		d.mu.Unlock()
		return true
	}
	d.puts = append(d.puts, p)
	answer, silent := d.answer, d.silent
	d.mu.Unlock()
	switch {
	case silent:
	case answer != nil:
		answer(d, p)
	default:
		Comply(d, p)
	}
	return true
}

// OnPut sets how the device answers puts; nil means Comply. The function runs
// on the goroutine that puts, must not wait, and may answer later from another.
func (d *Device) OnPut(answer func(*Device, *gateway.Put)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answer = answer
}

// Puts returns all puts that reached the device, in order.
func (d *Device) Puts() []*gateway.Put {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*gateway.Put(nil), d.puts...)
}

// Comply accepts a put and does at once what it asks: the setpoint changes,
// and the readback follows. Of a refresh it says that the readback is as it was.
func Comply(d *Device, p *gateway.Put) {
	if !p.Refresh {
		d.Accept(p)
	}
	d.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
}

// Accept makes the asked value the setpoint, as a driver does at once.
func (d *Device) Accept(p *gateway.Put) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := Change{Path: p.Path, Role: gateway.Setpoint, Value: p.Value}
	if d.attributes[d.index(p.Path)].Descriptor.IsCommand() {
		c.Value = gateway.Of(true)
	}
	d.line.Say(d.update([]Change{c}, p.ID))
}

// Finish gives the verdict. After success the readback is the asked value;
// after a failure the setpoint has the alarm that belongs to its kind. The
// verdict carries the samples, which also go to everyone.
func (d *Device) Finish(p *gateway.Put, v gateway.Verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	index := d.index(p.Path)
	descriptor := d.attributes[index].Descriptor
	var changes []Change
	switch {
	case v.Stage == gateway.StageRefused || v.Stage == gateway.StageSuperseded || p.Refresh:
	case v.Err != nil:
		changes = append(changes, Change{Path: p.Path, Role: gateway.Setpoint, Value: p.Value, Alarm: alarmOf(v.Err)})
	case descriptor.IsCommand():
		changes = append(changes, Change{Path: p.Path, Role: gateway.Setpoint, Value: gateway.Of(false)})
	case descriptor.CanRead():
		changes = append(changes, Change{Path: p.Path, Role: gateway.Readback, Value: p.Value})
	}
	if len(changes) > 0 {
		d.line.Say(d.update(changes, gateway.PutID{}))
	}
	v.Setpoint, v.Readback = d.attributes[index].Setpoint, d.attributes[index].Readback
	if v.Stage == gateway.StageRefused {
		v.Setpoint, v.Readback = nil, nil
	}
	d.line.Say(&gateway.PutVerdict{Owner: d.owner, ID: p.ID, Revision: d.revision, Index: uint32(index), Verdict: v})
}

// Refuse is what a driver says that does not accept a put: nothing changes.
func (d *Device) Refuse(p *gateway.Put, kind gateway.ErrorKind, words string) {
	err := gateway.Errorf(kind, "%s: %s", p.Path, words)
	err.Stage = gateway.StageRefused
	d.Finish(p, gateway.Verdict{Stage: gateway.StageRefused, Err: err})
}

// Reject accepts a put and then reports that the device said no.
func (d *Device) Reject(p *gateway.Put, words string) {
	d.Accept(p)
	err := gateway.Errorf(gateway.KindRefusedByDevice, "%s: the device refused", p.Path)
	err.Stage, err.DeviceWords = gateway.StageSent, words
	d.Finish(p, gateway.Verdict{Stage: gateway.StageSent, Err: err})
}

// Supersede says that a newer put took the place of p.
func (d *Device) Supersede(p *gateway.Put) {
	err := gateway.Errorf(gateway.KindSuperseded, "%s: a newer put took its place", p.Path)
	err.Stage = gateway.StageSuperseded
	d.Finish(p, gateway.Verdict{Stage: gateway.StageSuperseded, Err: err})
}

func alarmOf(err *gateway.Error) gateway.Alarm {
	alarm := gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusWrite, Text: err.Error()}
	switch err.Kind {
	case gateway.KindNotConnected, gateway.KindExpired, gateway.KindBusDown, gateway.KindShuttingDown:
		alarm.Status = gateway.StatusComm
	case gateway.KindUnknownOutcome:
		alarm.Status = gateway.StatusTimeout
	}
	return alarm
}
