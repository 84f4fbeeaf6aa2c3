package device

import (
	"testing"
	"time"
)

func TestScheduleDoesNotDriftOrPileUp(t *testing.T) {
	const period = 100 * time.Millisecond
	s := newSchedule([]Poll{{Period: period}})
	s.reset(noon)
	steps := []struct {
		began, ended int // in ms
		skipped      uint64
		due          int // of the next
	}{
		{0, 30, 0, 100},
		{100, 199, 0, 200},
		{200, 300, 0, 300},    // due again at its end
		{300, 410, 0, 400},    // late, and as soon as possible
		{410, 455, 0, 500},    // back on the grid
		{600, 620, 1, 700},    // the device was busy with something else; this was for 600 as well
		{700, 1234, 4, 1200},  // an exchange of many periods
		{1234, 1250, 0, 1300}, // late, but once
	}
	for i, step := range steps {
		at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
		if skipped := s.done(at(step.began), at(step.ended)); skipped != step.skipped {
			t.Errorf("step %d: skipped %d, want %d", i, skipped, step.skipped)
		}
		if _, due, _ := s.next(); due != at(step.due) {
			t.Errorf("step %d: due at %v, want %d ms", i, due.Sub(noon), step.due)
		}
	}
}

// A device that cannot keep up still serves all polls in turn.
func TestScheduleIsFairUnderLoad(t *testing.T) {
	s := newSchedule([]Poll{{Period: time.Second}, {Period: time.Second}, {Period: 10 * time.Millisecond}, {Period: 3 * time.Second}})
	s.reset(noon)
	now := noon
	counts := make([]int, 4)
	for range 400 {
		poll, due, _ := s.next()
		for other := range counts {
			if s.due[other].Before(due) {
				t.Fatalf("poll %d of %v goes before poll %d of %v", poll, due, other, s.due[other])
			}
		}
		if now.Before(due) {
			now = due
		}
		began := now
		now = now.Add(700 * time.Millisecond)
		counts[poll]++
		s.done(began, now)
	}
	for poll, n := range counts {
		if n < 50 {
			t.Errorf("poll %d ran %d times of 400", poll, n)
		}
	}
}

func TestScheduleWithoutPolls(t *testing.T) {
	s := newSchedule(nil)
	s.reset(noon)
	if _, _, ok := s.next(); ok {
		t.Error("something is due")
	}
}
