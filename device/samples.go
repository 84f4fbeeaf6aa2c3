package device

import (
	"strings"
	"time"

	"github.com/polygate/gateway"
)

// An attribute is what the supervisor knows of one attribute or command: the
// current sample of each role and what the next one is compared with. It is
// guarded by the supervisor's mutex.
type attribute struct {
	*gateway.Descriptor
	readback, setpoint *gateway.Sample // nil if there is no such role

	start uint64 // the first sequence number of this owner
	// sent and logged are the values of the last readbacks that counted as a
	// change, as EPICS's MLST and ALST: dead-bands are measured from them.
	sent, logged float64

	waiting   int32 // puts that were accepted and have not ended
	putFailed bool  // the setpoint carries the alarm of a failed put
	inForce   level // of the readback's alarm levels
}

// newAttribute makes the samples of an attribute that nothing is known of.
func newAttribute(d *gateway.Descriptor, now time.Time) attribute {
	a := attribute{Descriptor: d}
	if d.CanRead() {
		a.readback = gateway.NeverRead
	}
	switch {
	case d.IsCommand():
		// That a command is not running is known from the start.
		a.setpoint = &gateway.Sample{Value: gateway.Of(false), Time: gateway.TimeOf(now), LastGood: gateway.TimeOf(now)}
	case d.CanWrite():
		a.setpoint = neverSet
	}
	return a
}

// neverSet is the setpoint that nobody has asked for yet.
var neverSet = &gateway.Sample{Alarm: gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusUDF, Text: "never set"}}

// startFrom makes sequence numbers of a new owner begin at start. What is known
// gets a number of it at once; what is not keeps 0, so that a hub does not take
// it for news.
func (a *attribute) startFrom(start uint64) {
	a.start = start
	renumbered := func(s *gateway.Sample) *gateway.Sample {
		if s == nil || !s.Value.Known() {
			return s
		}
		next := *s
		next.Seq = max(start, s.Seq+1)
		return &next
	}
	a.readback, a.setpoint = renumbered(a.readback), renumbered(a.setpoint)
}

// read makes *next the sample that follows from a reading, and the current one
// of its role. It returns false if the reading changes nothing: it is for a
// role that the attribute does not have, or a put knows better. Exact readings
// (those of a put's read-back) pass the dead-bands, so that whoever has put a
// value reads what the device has made of it.
//
// Alarm levels, dead-bands and the severities of states are about what the
// device says; the alarm of a setpoint is about puts alone.
func (a *attribute) read(r *Reading, now time.Time, exact bool, next *gateway.Sample) bool {
	switch r.Role {
	case gateway.Readback:
		if a.readback == nil {
			return false
		}
		a.readReadback(r, now, exact, next)
		a.readback = next
	case gateway.Setpoint:
		// What was asked for is newer than what the device had before, and
		// the alarm of a failed put stands until the next good one.
		if a.setpoint == nil || a.IsCommand() || a.waiting > 0 || a.putFailed {
			return false
		}
		value, alarm := a.judge(r)
		a.follow(a.setpoint, value, alarm, a.changes(a.setpoint, value), timeOf(r, now), next)
		a.setpoint = next
	default:
		return false
	}
	return true
}

func (a *attribute) readReadback(r *Reading, now time.Time, exact bool, next *gateway.Sample) {
	value, alarm := a.judge(r)
	if !value.Known() {
		a.follow(a.readback, value, alarm, 0, timeOf(r, now), next)
		return
	}
	if !a.IsArray() {
		switch {
		case a.Kind.IsNumber():
			alarm = a.levelAlarm(value.Float(), alarm)
		case a.Kind == gateway.Enum:
			if severity := a.States[value.Index()].Severity; severity != gateway.NoAlarm {
				alarm = alarm.Worse(gateway.Alarm{Severity: severity, Status: gateway.StatusState})
			}
		}
	}
	mask := a.beyondDeadbands(value, exact)
	a.follow(a.readback, value, alarm, mask, timeOf(r, now), next)
}

// levelAlarm adds the alarm of a number's levels to the one that it came with.
// As in EPICS a level that does not show, because the value came with a worse
// alarm, is not remembered for its hysteresis.
func (a *attribute) levelAlarm(v float64, alarm gateway.Alarm) gateway.Alarm {
	if v != v {
		return alarm.Worse(notANumber)
	}
	inForce, ofLevel := evaluateLevels(&a.Alarm, v, a.inForce)
	if inForce == levelNone || ofLevel.Severity > alarm.Severity {
		a.inForce = inForce
	}
	return alarm.Worse(ofLevel)
}

// beyondDeadbands says in which respects a good value counts as a change, and
// remembers it for those.
func (a *attribute) beyondDeadbands(value gateway.Value, exact bool) gateway.Mask {
	mask := a.changes(a.readback, value)
	if a.IsArray() || !a.Kind.IsNumber() {
		return mask
	}
	v := value.Float()
	switch {
	case !a.readback.Value.Known(), a.Always, exact:
	case a.Kind.IsFloat() || a.Deadband > 0 || a.LogDeadband > 0:
		mask = 0
		if moved(a.sent, v, a.Deadband) {
			mask |= gateway.MaskValue
		}
		if moved(a.logged, v, a.LogDeadband) {
			mask |= gateway.MaskLog
		}
	}
	if mask&gateway.MaskValue != 0 {
		a.sent = v
	}
	if mask&gateway.MaskLog != 0 {
		a.logged = v
	}
	return mask
}

// changes says whether a value differs from that of the sample before.
func (a *attribute) changes(before *gateway.Sample, value gateway.Value) gateway.Mask {
	if value.Known() && (a.Always || !value.Equal(before.Value)) {
		return gateway.MaskValue | gateway.MaskLog
	}
	return 0
}

// judge returns a reading's value and alarm, or no value and an INVALID alarm
// if it failed or is not of the attribute's type.
func (a *attribute) judge(r *Reading) (gateway.Value, gateway.Alarm) {
	alarm := r.Alarm
	alarm.Text = validText(alarm.Text)
	if r.Failed() {
		alarm.Severity = gateway.Invalid
		if alarm.Status == gateway.StatusNone {
			alarm.Status = gateway.StatusRead
		}
		return gateway.Value{}, alarm
	}
	if err := fits(&a.Type, r.Value); err != nil {
		status := gateway.StatusCalc
		if gateway.KindOf(err) == gateway.KindNotALabel {
			status = gateway.StatusState
		}
		return gateway.Value{}, gateway.Alarm{Severity: gateway.Invalid, Status: status, Text: err.Error()}
	}
	return r.Value, alarm
}

// fits reports whether a value can be of a type. Control limits bind those who
// ask, not the device.
func fits(t *gateway.Type, v gateway.Value) error {
	if !t.Control.Low.Set && !t.Control.High.Set {
		return t.Check(v)
	}
	unlimited := *t
	unlimited.Control = gateway.Range{}
	return unlimited.Check(v)
}

// follow makes *next the successor of before. Without a change it is the same
// sample at a later time.
func (a *attribute) follow(before *gateway.Sample, value gateway.Value, alarm gateway.Alarm, mask gateway.Mask, at time.Time, next *gateway.Sample) {
	if alarm != before.Alarm {
		mask |= gateway.MaskAlarm
	}
	next.Value, next.Seq = before.Value, before.Seq
	if mask != 0 {
		next.Seq = max(a.start, before.Seq+1)
		if value.Known() {
			next.Value = value
		}
	}
	next.Alarm, next.Mask = alarm, mask
	next.Time = gateway.TimeOf(at)
	if !next.Time.After(before.Time) {
		next.Time = before.Time.Add(time.Nanosecond)
	}
	next.LastGood = before.LastGood
	if alarm.Severity < gateway.Invalid {
		next.LastGood = next.Time
	}
}

// accept makes the setpoint what a put asks for; for a command it is true from
// now on. The alarm of an earlier put that failed stays until one succeeds.
func (a *attribute) accept(value gateway.Value, now time.Time) {
	alarm := gateway.Alarm{}
	if a.putFailed {
		alarm = a.setpoint.Alarm
	}
	if a.IsCommand() {
		value = gateway.Of(true)
	}
	next := new(gateway.Sample)
	a.follow(a.setpoint, value, alarm, a.changes(a.setpoint, value), now, next)
	a.setpoint = next
	a.waiting++
}

// end makes the setpoint show how a put ended: with its alarm, or with none
// after success. It returns whether there is a new sample.
func (a *attribute) end(alarm gateway.Alarm, now time.Time) bool {
	a.waiting--
	a.putFailed = alarm != gateway.Alarm{}
	value := a.setpoint.Value
	if a.IsCommand() {
		value = gateway.Of(a.waiting > 0)
	}
	if alarm == a.setpoint.Alarm && value.Equal(a.setpoint.Value) {
		return false
	}
	var mask gateway.Mask
	if !value.Equal(a.setpoint.Value) {
		mask = gateway.MaskValue | gateway.MaskLog
	}
	next := new(gateway.Sample)
	a.follow(a.setpoint, value, alarm, mask, now, next)
	a.setpoint = next
	return true
}

// validText makes text that may quote the device fit for every protocol.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func timeOf(r *Reading, now time.Time) time.Time {
	if r.Time.IsZero() {
		return now
	}
	return r.Time
}
