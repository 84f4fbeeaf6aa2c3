package gateway

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	if TimeOf(time.Time{}) != 0 || !Time(0).IsZero() || !Time(0).Std().IsZero() {
		t.Error("no time is a time after all")
	}
	noon := time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("CET", 3600))
	got := TimeOf(noon)
	if !got.Std().Equal(noon) || got.Std().Location() != time.UTC || got.IsZero() {
		t.Errorf("%v became %v", noon, got)
	}
	if later := got.Add(time.Nanosecond); !later.After(got) || got.After(later) || !got.Before(later) || !later.Std().After(noon) {
		t.Errorf("%v and a nanosecond are %v", got, later)
	}
}
