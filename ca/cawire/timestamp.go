package cawire

import (
	"math"
	"time"
)

// epicsEpoch is 1990-01-01 00:00:00 UTC in Unix seconds.
const epicsEpoch = 631152000

// TimeStamp is a time as it travels: seconds since 1990 in UTC, and
// nanoseconds. The zero value is what a channel has that was never set.
type TimeStamp struct {
	Seconds uint32
	Nanos   uint32
}

// TimeStampOf returns the stamp for t. A time before 1990, the zero Time
// included, becomes the zero stamp, and one after February 2126, when the
// seconds run out, becomes the last stamp that there is.
func TimeStampOf(t time.Time) TimeStamp {
	if t.IsZero() {
		return TimeStamp{}
	}
	return timeStamp(t.Unix()-epicsEpoch, int64(t.Nanosecond()))
}

func timeStamp(seconds, nanos int64) TimeStamp {
	seconds += nanos / 1e9
	switch {
	case seconds < 0:
		return TimeStamp{}
	case seconds > math.MaxUint32:
		return TimeStamp{Seconds: math.MaxUint32, Nanos: 1e9 - 1}
	}
	return TimeStamp{Seconds: uint32(seconds), Nanos: uint32(nanos % 1e9)}
}

// Normal returns ts with whole seconds carried from Nanos into Seconds. Some
// servers send a second and more there.
func (ts TimeStamp) Normal() TimeStamp {
	if ts.Nanos < 1e9 {
		return ts
	}
	return timeStamp(int64(ts.Seconds), int64(ts.Nanos))
}

// IsZero tells whether ts is the stamp of a channel that was never set.
func (ts TimeStamp) IsZero() bool { return ts == TimeStamp{} }

// Time returns the time in UTC. That of a zero stamp is the start of 1990, so
// look at IsZero first where "never" matters.
func (ts TimeStamp) Time() time.Time {
	return time.Unix(int64(ts.Seconds)+epicsEpoch, int64(ts.Nanos)).UTC()
}
