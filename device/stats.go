package device

import (
	"time"

	"github.com/polygate/gateway"
)

// Stats are what a status page and metrics show of a device.
type Stats struct {
	Name      string
	Owner     gateway.Owner
	StoodDown bool // another owner has taken over
	Standby   bool // another process holds the lease
	Connected bool
	Since     time.Time // of the last change of Connected
	Words     string
	Stale     int // attributes whose polls are overdue
	Polls     []PollStats
	Connects  uint64 // attempts to connect
	Losses    uint64 // how often the device was lost after it was connected
	Errors    map[gateway.Status]uint64
	Puts      map[gateway.Stage]uint64 // by how far they had come when they ended
	Queued    int                      // puts that wait
	Unsent    uint64                   // messages that the bus refused
}

// PollStats are the figures of one poll.
type PollStats struct {
	Attributes       int
	Wanted, Achieved time.Duration // Achieved is 0 before the second exchange
	Exchanges        uint64
	Skipped          uint64        // periods that went by while the device was busy
	Exchange         time.Duration // how long the last exchange took
}

// counts are guarded by the supervisor's mutex.
type counts struct {
	errors           [gateway.StatusWriteAccess + 1]uint64
	puts             [gateway.StageVerified + 1]uint64
	connects, losses uint64
	unsent           uint64
}

// Stats returns the figures of this moment.
func (s *Supervisor) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{
		Name: s.name, Owner: s.owner, StoodDown: s.phase == phaseStoodDown, Standby: s.standby,
		Connected: s.connected, Since: s.since, Words: s.words, Stale: len(s.stale),
		Polls:    make([]PollStats, len(s.polls)),
		Connects: s.counts.connects, Losses: s.counts.losses, Unsent: s.counts.unsent,
		Errors: make(map[gateway.Status]uint64), Puts: make(map[gateway.Stage]uint64),
		Queued: s.queue.len(),
	}
	for i := range s.polls {
		p := &s.polls[i]
		stats.Polls[i] = PollStats{
			Attributes: len(s.model.Polls[i].Indices),
			Wanted:     s.model.Polls[i].Period, Achieved: p.achieved,
			Exchanges: p.exchanges, Skipped: p.skipped, Exchange: p.last,
		}
	}
	for status, n := range s.counts.errors {
		if n > 0 {
			stats.Errors[gateway.Status(status)] = n
		}
	}
	for stage, n := range s.counts.puts {
		if n > 0 {
			stats.Puts[gateway.Stage(stage)] = n
		}
	}
	return stats
}

// A throttle lets one log line through in each logGap and counts the others.
type throttle struct {
	last       time.Time
	suppressed uint64
}

// allow reports whether a line may be written now, and how many were not since
// the last one.
func (t *throttle) allow(now time.Time) (suppressed uint64, ok bool) {
	if !t.last.IsZero() && now.Sub(t.last) < logGap {
		t.suppressed++
		return 0, false
	}
	suppressed, t.suppressed, t.last = t.suppressed, 0, now
	return suppressed, true
}
