package hub

import (
	"sync/atomic"
	"time"

	"github.com/polygate/gateway"
)

// clockReadings is how many readings of an owner's clock are kept. A message
// that was held on its way makes the clock look slow; the best of a few does not.
const clockReadings = 8

// An ownerClock follows the clock of a device's owner, so that a put can say
// until when it counts. The loop reads, everybody asks.
//
// A reading is old when it arrives, so the estimate is never ahead of the
// owner's clock: a put can end too early by the time that a message takes, and
// not too late.
type ownerClock struct {
	owner gateway.Owner
	ahead [clockReadings]time.Duration // of the hub's clock, by reading
	next  int

	best atomic.Pointer[clockOffset]
}

type clockOffset struct {
	owner gateway.Owner
	ahead time.Duration
}

// read takes a reading, which the owner gave and which arrived at now.
func (c *ownerClock) read(owner gateway.Owner, clock, now time.Duration) {
	if clock <= 0 {
		return // an owner that does not tell
	}
	ahead := clock - now
	if c.owner != owner {
		c.owner, c.next = owner, 0
		for i := range c.ahead {
			c.ahead[i] = ahead
		}
	}
	c.ahead[c.next%clockReadings] = ahead
	c.next++
	best := c.ahead[0]
	for _, other := range c.ahead[1:] {
		best = max(best, other)
	}
	if known := c.best.Load(); known == nil || known.owner != owner || known.ahead != best {
		c.best.Store(&clockOffset{owner, best})
	}
}

// at returns what the owner's clock will show when the hub's shows now, or 0 if
// it is not known. Any goroutine may call it.
func (c *ownerClock) at(owner gateway.Owner, now time.Duration) time.Duration {
	known := c.best.Load()
	if known == nil || known.owner != owner {
		return 0
	}
	return max(now+known.ahead, 1)
}
