package gateway

import "time"

// A Time is a moment as samples keep it: nanoseconds since 1970, or 0 for none.
// There are four in what a gateway knows of an attribute, and as many once more
// at its driver, so it matters that it is a third of a time.Time.
type Time int64

// TimeOf returns t without its time zone and its monotonic clock; none for the zero time.
func TimeOf(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixNano())
}

// Std returns the time in UTC, the zero time for none.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(t)).UTC()
}

// IsZero reports whether there is no time.
func (t Time) IsZero() bool { return t == 0 }

// After reports whether t is later than u. No time is before every other.
func (t Time) After(u Time) bool { return t > u }

// Before reports whether t is earlier than u.
func (t Time) Before(u Time) bool { return t < u }

// Add returns the time that is d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// String writes a time for people.
func (t Time) String() string { return t.Std().String() }
