package device

import (
	"math"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

func TestAlarmLevels(t *testing.T) {
	at := func(v float64, s gateway.Severity) gateway.Level {
		return gateway.Level{Limit: gateway.At(v), Severity: s}
	}
	all := gateway.AlarmLevels{
		LoLo: at(0, gateway.Major), Low: at(10, gateway.Minor),
		High: at(90, gateway.Minor), HiHi: at(100, gateway.Major), Hysteresis: 2,
	}
	tests := map[string]struct {
		levels gateway.AlarmLevels
		values []float64
		want   []gateway.Status
	}{
		"inclusive": {
			all,
			[]float64{50, 89.9, 90, 99.9, 100, 50, 10.1, 10, 0.1, 0},
			[]gateway.Status{0, 0, gateway.StatusHigh, gateway.StatusHigh, gateway.StatusHiHi, 0, 0, gateway.StatusLow, gateway.StatusLow, gateway.StatusLoLo},
		},
		"hysteresis holds the level that is in force": {
			all,
			[]float64{100, 98, 97.9, 88, 87.9, 88.5, 90, 89},
			[]gateway.Status{gateway.StatusHiHi, gateway.StatusHiHi, gateway.StatusHigh, gateway.StatusHigh, 0, 0, gateway.StatusHigh, gateway.StatusHigh},
		},
		"hysteresis below": {
			all,
			[]float64{0, 2, 2.1, 12, 12.1, 11},
			[]gateway.Status{gateway.StatusLoLo, gateway.StatusLoLo, gateway.StatusLow, gateway.StatusLow, 0, 0},
		},
		// As in aiRecord.c a level is compared with the last one that was in
		// force: when HIHI ends in the band of HIGH's hysteresis, HIGH does not hold.
		"hysteresis of another level": {
			all, []float64{100, 89}, []gateway.Status{gateway.StatusHiHi, 0},
		},
		"CA-34 one limit alone": {
			gateway.AlarmLevels{High: at(0.1, gateway.Minor)},
			[]float64{0.05, 0.1, -5},
			[]gateway.Status{0, gateway.StatusHigh, 0},
		},
		"a level without severity": {
			gateway.AlarmLevels{High: gateway.Level{Limit: gateway.At(1)}}, []float64{5}, []gateway.Status{0},
		},
		"infinities": {
			all, []float64{math.Inf(1), math.Inf(-1)}, []gateway.Status{gateway.StatusHiHi, gateway.StatusLoLo},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inForce := levelNone
			for i, v := range test.values {
				var alarm gateway.Alarm
				inForce, alarm = evaluateLevels(&test.levels, v, inForce)
				if alarm.Status != test.want[i] {
					t.Errorf("step %d: %g is %s, want %s", i, v, alarm.Status, test.want[i])
				}
			}
		})
	}
}

// As in EPICS a level that a worse alarm of the device hides is not remembered.
func TestHiddenLevelHasNoHysteresis(t *testing.T) {
	d := &gateway.Descriptor{
		Path: "d.x",
		Traits: &gateway.Traits{
			Access: gateway.AccessRead,
			Type:   gateway.Type{Kind: gateway.Float64},
			Alarm:  gateway.AlarmLevels{High: gateway.Level{Limit: gateway.At(10), Severity: gateway.Minor}, Hysteresis: 5},
		},
	}
	a := newAttribute(d, time.Now())
	steps := []struct {
		v     float64
		alarm gateway.Alarm
		want  gateway.Status
	}{
		{11, gateway.Alarm{Severity: gateway.Major, Status: gateway.StatusHWLimit}, gateway.StatusHWLimit},
		{9, gateway.Alarm{}, gateway.StatusNone},
		{11, gateway.Alarm{}, gateway.StatusHigh},
		{9, gateway.Alarm{}, gateway.StatusHigh},
	}
	for i, step := range steps {
		next := new(gateway.Sample)
		a.read(&Reading{Role: gateway.Readback, Value: gateway.Of(step.v), Alarm: step.alarm}, time.Now(), false, next)
		if next.Alarm.Status != step.want {
			t.Errorf("step %d: %s, want %s", i, next.Alarm.Status, step.want)
		}
	}
}

func TestMoved(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		from, to, deadband float64
		want               bool
	}{
		{0, 0.5, 0.5, false},
		{0, 0.51, 0.5, true},
		{0, -0.51, 0.5, true},
		{1, 1, 0, false},
		{1, 1.1, 0, true},
		{0, math.Copysign(0, -1), 0, false},
		{nan, nan, 0, false},
		{nan, 1, 100, true},
		{1, nan, 100, true},
		{nan, inf, 100, true},
		{inf, inf, 0, false},
		{inf, -inf, 100, true},
		{1, inf, 100, true},
		{inf, 1, 100, true},
	}
	for _, test := range tests {
		if got := moved(test.from, test.to, test.deadband); got != test.want {
			t.Errorf("moved(%g, %g, %g) = %t", test.from, test.to, test.deadband, got)
		}
	}
}
