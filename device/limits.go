package device

import (
	"math"

	"github.com/polygate/gateway"
)

// A level names the alarm level that is in force for a value.
type level uint8

const (
	levelNone level = iota
	levelHiHi
	levelLoLo
	levelHigh
	levelLow
)

// evaluateLevels finds the alarm that v is in. The rule is checkAlarms of
// epics-base's aiRecord.c: levels are inclusive and are tried in the order
// HIHI, LOLO, HIGH, LOW; a level that is in force stays so until the value is
// more than the hysteresis back inside; a level without a limit or without a
// severity does not exist.
func evaluateLevels(levels *gateway.AlarmLevels, v float64, inForce level) (level, gateway.Alarm) {
	hysteresis := func(l level) float64 {
		if l == inForce {
			return levels.Hysteresis
		}
		return 0
	}
	above := func(l level, limit gateway.Level) bool {
		return limit.Set && limit.Severity != gateway.NoAlarm && v >= limit.Value-hysteresis(l)
	}
	below := func(l level, limit gateway.Level) bool {
		return limit.Set && limit.Severity != gateway.NoAlarm && v <= limit.Value+hysteresis(l)
	}
	switch {
	case above(levelHiHi, levels.HiHi):
		return levelHiHi, gateway.Alarm{Severity: levels.HiHi.Severity, Status: gateway.StatusHiHi}
	case below(levelLoLo, levels.LoLo):
		return levelLoLo, gateway.Alarm{Severity: levels.LoLo.Severity, Status: gateway.StatusLoLo}
	case above(levelHigh, levels.High):
		return levelHigh, gateway.Alarm{Severity: levels.High.Severity, Status: gateway.StatusHigh}
	case below(levelLow, levels.Low):
		return levelLow, gateway.Alarm{Severity: levels.Low.Severity, Status: gateway.StatusLow}
	}
	return levelNone, gateway.Alarm{}
}

// notANumber is the alarm of a number that is NaN and came without an alarm of
// its own: EPICS's analogue records call such a value undefined.
var notANumber = gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusUDF, Text: "not a number"}

// moved reports whether a number moved by more than the dead-band, as
// recGblCheckDeadband of epics-base has it: strictly more, and any step to,
// from or between NaN and the infinities counts.
func moved(from, to, deadband float64) bool {
	if isFinite(from) && isFinite(to) {
		return math.Abs(from-to) > deadband
	}
	return from != to && !(math.IsNaN(from) && math.IsNaN(to))
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
