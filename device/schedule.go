package device

import "time"

// A schedule says which poll is due next. Due times lie on a fixed grid of
// each poll's period, so they do not drift. A poll whose time came while the
// device was busy runs as soon as it can, but once: the periods before are
// skipped, so they do not pile up. It belongs to the worker.
type schedule struct {
	periods []time.Duration
	due     []time.Time
	heap    []int // poll numbers, the next due one first
}

func newSchedule(polls []Poll) *schedule {
	s := &schedule{
		periods: make([]time.Duration, len(polls)),
		due:     make([]time.Time, len(polls)),
		heap:    make([]int, len(polls)),
	}
	for i := range polls {
		s.periods[i] = polls[i].Period
	}
	return s
}

// reset makes every poll due now, in the order of the model.
func (s *schedule) reset(now time.Time) {
	for i := range s.heap {
		s.due[i], s.heap[i] = now, i
	}
}

// next returns the poll that is due first and when; false if there are none.
func (s *schedule) next() (poll int, due time.Time, ok bool) {
	if len(s.heap) == 0 {
		return 0, time.Time{}, false
	}
	return s.heap[0], s.due[s.heap[0]], true
}

// done moves the first poll to its next due time, after an exchange that lasted
// from began to now, and returns how many periods were skipped.
func (s *schedule) done(began, now time.Time) (skipped uint64) {
	poll := s.heap[0]
	due, period := s.due[poll], s.periods[poll]
	// The last time on the grid that has passed, unless this exchange was for
	// that as well.
	next := due.Add(max(now.Sub(due).Truncate(period), period))
	if !next.After(began) {
		next = next.Add(period)
	}
	s.due[poll] = next
	s.sink(0)
	return uint64(next.Sub(due)/period) - 1
}

// sink restores the heap below place i.
func (s *schedule) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(s.heap); child++ {
			if s.before(s.heap[child], s.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}

func (s *schedule) before(a, b int) bool {
	if s.due[a].Equal(s.due[b]) {
		return a < b
	}
	return s.due[a].Before(s.due[b])
}
