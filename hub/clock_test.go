package hub

import (
	"testing"
	"time"

	"github.com/polygate/gateway"
)

func TestAnOwnersClockIsNeverTakenToBeAhead(t *testing.T) {
	const second = time.Second
	owner := gateway.Owner{Device: "oven", Instance: "one", Term: 1}
	var c ownerClock
	if got := c.at(owner, 5*second); got != 0 {
		t.Errorf("a clock that nobody told of shows %v", got)
	}
	// The owner's clock is 100 s ahead of the hub's; messages take 10 ms, and
	// one was held for 5 s.
	for i, held := range []time.Duration{0, 0, 5 * second, 0} {
		sent := time.Duration(i) * second
		c.read(owner, 100*second+sent, sent+10*time.Millisecond+held)
		now := sent + 10*time.Millisecond + held
		if got, truth := c.at(owner, now), 100*second+now; got > truth || got < truth-20*time.Millisecond {
			t.Errorf("reading %d: got %v, the owner's clock shows %v", i, got, truth)
		}
	}
	for i := range clockReadings { // it slowed down: the old readings must go
		now := time.Duration(10+i) * second
		c.read(owner, 50*second+now, now)
	}
	if got := c.at(owner, 20*second); got != 70*second {
		t.Errorf("got %v after the clock changed, want 70 s", got)
	}
	if got := c.at(gateway.Owner{Device: "oven", Instance: "two", Term: 2}, second); got != 0 {
		t.Errorf("the clock of another owner shows %v", got)
	}
}
