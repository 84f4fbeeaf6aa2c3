package device

import (
	"math"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const firstSeq = 1000

// A follower feeds readings into one attribute, a second apart.
type follower struct {
	attribute
	now time.Time
}

func follow(d gateway.Descriptor) *follower {
	d.Path = "d.x"
	if d.Access == 0 {
		d.Access = gateway.AccessReadWrite
	}
	f := &follower{attribute: newAttribute(&d, noon), now: noon}
	f.startFrom(firstSeq)
	return f
}

func (f *follower) feed(r Reading) *gateway.Sample {
	f.now = f.now.Add(time.Second)
	if r.Role == 0 {
		r.Role = gateway.Readback
	}
	r.Time = f.now
	next := new(gateway.Sample)
	if !f.read(&r, f.now, false, next) {
		return nil
	}
	return next
}

func (f *follower) value(v gateway.Value) *gateway.Sample { return f.feed(Reading{Value: v}) }

func (f *follower) fault(status gateway.Status) *gateway.Sample {
	return f.feed(Reading{Alarm: gateway.Alarm{Severity: gateway.Invalid, Status: status}})
}

const bothMasks = gateway.MaskValue | gateway.MaskLog

func TestCA37DeadbandsFromLastSent(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Float64}, Deadband: 0.5, LogDeadband: 2}})
	steps := []struct {
		v    float64
		mask gateway.Mask
		seq  uint64
		want float64 // what is published
	}{
		{0, bothMasks | gateway.MaskAlarm, 1000, 0},
		{0.4, 0, 1000, 0},
		{0.6, gateway.MaskValue, 1001, 0.6},
		{2.1, bothMasks, 1002, 2.1},
		{2.2, 0, 1002, 2.1},
		{2.6, 0, 1002, 2.1}, // exactly the dead-band is not more than it
		{2.7, gateway.MaskValue, 1003, 2.7},
		{4.1, gateway.MaskValue, 1004, 4.1}, // logged is still 2.1
		{4.2, gateway.MaskLog, 1005, 4.2},
	}
	for i, step := range steps {
		before := f.readback.Time
		s := f.value(gateway.Of(step.v))
		if s.Mask != step.mask || s.Seq != step.seq || s.Value.Float() != step.want {
			t.Errorf("step %d: mask %d seq %d value %g; want %d %d %g", i, s.Mask, s.Seq, s.Value.Float(), step.mask, step.seq, step.want)
		}
		if !s.Time.After(before) {
			t.Errorf("step %d: the time stood still", i)
		}
	}
}

func TestCA36AlarmOnlyChanges(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Int32}}})
	good := f.value(gateway.Of(int32(5)))
	lost := f.fault(gateway.StatusTimeout)
	if lost.Mask != gateway.MaskAlarm || lost.Seq != good.Seq+1 || lost.Value.Int() != 5 ||
		lost.Alarm.Severity != gateway.Invalid || lost.Alarm.Status != gateway.StatusTimeout {
		t.Errorf("silent: %+v", lost)
	}
	if !lost.Time.After(good.Time) || lost.LastGood != good.Time {
		t.Errorf("silent: time %v, last good %v; the good sample was of %v", lost.Time, lost.LastGood, good.Time)
	}
	again := f.fault(gateway.StatusTimeout)
	if again.Mask != 0 || again.Seq != lost.Seq || !again.Time.After(lost.Time) {
		t.Errorf("still silent: %+v", again)
	}
	back := f.value(gateway.Of(int32(5)))
	if back.Mask != gateway.MaskAlarm || back.Seq != lost.Seq+1 || back.Alarm != (gateway.Alarm{}) || back.LastGood != back.Time {
		t.Errorf("back: %+v", back)
	}
}

func TestUnchangedAndAlways(t *testing.T) {
	for _, always := range []bool{false, true} {
		f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.String}, Always: always}})
		f.value(gateway.Of("a"))
		s := f.value(gateway.Of("a"))
		wantSeq, wantMask := uint64(firstSeq), gateway.Mask(0)
		if always {
			wantSeq, wantMask = firstSeq+1, bothMasks
		}
		if s.Seq != wantSeq || s.Mask != wantMask {
			t.Errorf("always %t: seq %d mask %d, want %d %d", always, s.Seq, s.Mask, wantSeq, wantMask)
		}
		f.fault(gateway.StatusTimeout)
		if s := f.fault(gateway.StatusTimeout); s.Mask != 0 {
			t.Errorf("always %t: a fault that lasts has mask %d", always, s.Mask)
		}
	}
}

func TestTimesRiseStrictly(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Bool}}})
	first := f.value(gateway.Of(true))
	f.now = noon.Add(-time.Hour) // the clock was set back
	if s := f.value(gateway.Of(false)); s.Time != first.Time.Add(1) {
		t.Errorf("time %v after %v", s.Time, first.Time)
	}
}

func TestBadValuesBecomeFaults(t *testing.T) {
	enum := gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "Trip", Severity: gateway.Major}}}
	float := gateway.Type{Kind: gateway.Float64}
	array := gateway.Type{Kind: gateway.Int16, Shape: []int{3}}
	limited := gateway.Type{Kind: gateway.Float64, Control: gateway.Range{High: gateway.At(10)}}
	tests := map[string]struct {
		t         gateway.Type
		good, bad gateway.Value
		severity  gateway.Severity
		status    gateway.Status
		kept      bool // the value of the good reading is kept
	}{
		"CA-04 unknown state":          {enum, gateway.EnumOf(0), gateway.EnumOf(7), gateway.Invalid, gateway.StatusState, true},
		"state with severity":          {enum, gateway.EnumOf(0), gateway.EnumOf(1), gateway.Major, gateway.StatusState, false},
		"wrong type":                   {float, gateway.Of(1.0), gateway.Of(int32(2)), gateway.Invalid, gateway.StatusCalc, true},
		"CA-17 too many elements":      {array, gateway.ArrayOf([]int16{1}), gateway.ArrayOf(make([]int16, 4)), gateway.Invalid, gateway.StatusCalc, true},
		"NaN":                          {float, gateway.Of(1.0), gateway.Of(math.NaN()), gateway.Invalid, gateway.StatusUDF, false},
		"infinity is a number":         {float, gateway.Of(1.0), gateway.Of(math.Inf(1)), gateway.NoAlarm, gateway.StatusNone, false},
		"control limits bind puts":     {limited, gateway.Of(1.0), gateway.Of(20.0), gateway.NoAlarm, gateway.StatusNone, false},
		"text is not UTF-8":            {gateway.Type{Kind: gateway.String}, gateway.Of("a"), gateway.Of("\xa8"), gateway.Invalid, gateway.StatusCalc, true},
		"text is longer than its type": {gateway.Type{Kind: gateway.String, MaxLength: 2}, gateway.Of("a"), gateway.Of("abc"), gateway.Invalid, gateway.StatusCalc, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: test.t}})
			first := f.value(test.good)
			s := f.value(test.bad)
			if s.Alarm.Severity != test.severity || s.Alarm.Status != test.status {
				t.Errorf("alarm %+v, want %s/%s", s.Alarm, test.severity, test.status)
			}
			want := test.bad
			if test.kept {
				want = test.good
			}
			if !s.Value.Equal(want) {
				t.Errorf("value %v, want %v", s.Value, want)
			}
			wantGood := s.Time
			if test.severity == gateway.Invalid {
				wantGood = first.Time
			}
			if s.LastGood != wantGood {
				t.Errorf("last good %v, want %v", s.LastGood, wantGood)
			}
		})
	}
}

// A device that keeps saying NaN is not changing.
func TestNaNIsNoChange(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Float32}}})
	f.value(gateway.Of(float32(math.NaN())))
	if s := f.value(gateway.Of(float32(math.NaN()))); s.Mask != 0 || s.Seq != firstSeq {
		t.Errorf("%+v", s)
	}
}

// 64-bit integers that are the same as float64 are still different.
func TestLargeIntegersChange(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Int64}}})
	f.value(gateway.Of(int64(1<<53 + 1)))
	if s := f.value(gateway.Of(int64(1 << 53))); s.Mask != bothMasks {
		t.Errorf("mask %d", s.Mask)
	}
}

// Whoever puts a value reads what became of it, whatever the dead-band.
func TestReadBackPassesDeadbands(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Float64}, Deadband: 10}})
	f.value(gateway.Of(1.0))
	next := new(gateway.Sample)
	f.read(&Reading{Role: gateway.Readback, Value: gateway.Of(2.0), Time: noon.Add(time.Minute)}, noon, true, next)
	if next.Mask != bothMasks || next.Value.Float() != 2 {
		t.Errorf("%+v", next)
	}
}

func TestSetpointOfTheDevice(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Float64}, Deadband: 10}})
	local := func(v float64) *gateway.Sample { return f.feed(Reading{Role: gateway.Setpoint, Value: gateway.Of(v)}) }
	if s := local(1); s == nil || s.Alarm != (gateway.Alarm{}) || s.Seq != firstSeq {
		t.Fatalf("first: %+v", s)
	}
	if s := local(1.5); s == nil || s.Mask != bothMasks {
		t.Errorf("a setpoint has no dead-band: %+v", s)
	}
	f.accept(gateway.Of(7.0), f.now)
	if s := local(1.5); s != nil {
		t.Errorf("a reading took the place of what was asked for: %+v", s)
	}
	f.end(alarmOf(gateway.Errorf(gateway.KindRefusedByDevice, "no")), f.now)
	if s := local(1.5); s != nil || f.setpoint.Value.Float() != 7 || f.setpoint.Alarm.Status != gateway.StatusWrite {
		t.Errorf("a failed put does not show: %+v, %+v", s, f.setpoint)
	}
	f.accept(gateway.Of(8.0), f.now)
	if f.setpoint.Alarm.Status != gateway.StatusWrite {
		t.Errorf("the alarm ended before a put was good: %+v", f.setpoint)
	}
	f.end(gateway.Alarm{}, f.now)
	if s := local(1.5); s == nil || s.Alarm != (gateway.Alarm{}) {
		t.Errorf("after a good put: %+v", s)
	}
}

func TestNewOwnerNumbersOn(t *testing.T) {
	f := follow(gateway.Descriptor{Traits: &gateway.Traits{Type: gateway.Type{Kind: gateway.Bool}}})
	f.value(gateway.Of(true))
	f.startFrom(firstSeq) // the clock did not move on
	if f.readback.Seq != firstSeq+1 {
		t.Errorf("seq %d", f.readback.Seq)
	}
	if f.setpoint.Seq != 0 {
		t.Errorf("a setpoint that nobody set has seq %d", f.setpoint.Seq)
	}
	f.startFrom(9000)
	if s := f.value(gateway.Of(false)); s.Seq != 9001 {
		t.Errorf("seq %d", s.Seq)
	}
}
