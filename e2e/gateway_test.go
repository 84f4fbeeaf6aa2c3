package e2e

import (
	"testing"
	"time"

	"github.com/polygate/gateway/e2e/client"
)

// A gateway that ends cuts its clients off, so that they know; whoever comes again
// sees everything afresh.
func TestAGatewayIsRestartedAndKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.instrument("instrument")
	gateway := w.gateway("gateway", allFrontends+inst)
	c := w.clients("clients")
	views := c.watchAll("gateway", polled, held)
	awaitGood(views)
	if verdict := c.put(client.CA, "gateway", held, 7); !verdict.OK() {
		t.Errorf("a put: %+v", verdict)
	}
	for _, end := range []struct {
		how string
		do  func()
	}{
		{"stopped", gateway.stop},
		{"killed", gateway.kill},
	} {
		from := make([]int, len(views))
		for i, v := range views {
			from[i] = len(v.seen())
		}
		end.do()
		for i, v := range views {
			v.awaitDown(from[i])
		}
		if code := gateway.exitCode(); end.how == "stopped" && code != 0 {
			t.Errorf("a gateway that was told to stop ended with %d", code)
		}
		gateway.restart()
		awaitGood(views)
		for _, v := range views {
			v.await(held, readback, "what the instrument holds", holds(7))
		}
	}
}

// Drivers and frontends are in boxes of their own. Those that die are missed,
// those that come back are found, and two frontends show the same samples.
func TestDriversAndFrontendsInBoxesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const second = "second"
	s.gateway(second, natsOutside+allFrontends)
	views := append(s.clients.watchAll(frontendsName, polled, held), s.clients.watchAll(second, polled, held)...)
	awaitGood(views)
	if verdict := s.clients.put(client.WebSocket, second, held, 3); !verdict.OK() {
		t.Errorf("a put: %+v", verdict)
	}
	first := views[0].await(held, readback, "what was put", holds(3))
	for _, v := range views {
		seen := v.await(held, readback, "what was put", holds(3))
		if seen.Time != first.Time || v.protocol != client.CA && seen.Seq != first.Seq {
			t.Errorf("%s shows %v at %d, another %v at %d", v.protocol, &seen, seen.Time, &first, first.Time)
		}
	}

	s.drivers.kill()
	killed := time.Now()
	awaitBad(views, "a driver that was killed", "COMM")
	t.Logf("a driver that was killed shows everywhere within %v", time.Since(killed))
	s.drivers.restart()
	awaitGood(views)

	s.drivers.stop()
	awaitBad(views, "a driver that was stopped", "COMM")
	s.drivers.restart()
	awaitGood(views)

	s.drivers.pause()
	awaitBad(views, "a driver that hangs", "COMM")
	resumed := time.Now()
	s.drivers.resume()
	awaitGood(views)
	for _, v := range views {
		for _, e := range v.seen() {
			if e.At > resumed.UnixMicro() && e.Kind == client.Shown && e.Name == polled && e.Good() && *e.Value < float64(resumed.UnixMicro()) {
				t.Errorf("%s showed a value from before as good: %v", v.protocol, &e)
			}
		}
	}
}

// Clients of a gateway that holds the connection and says nothing have only their
// own patience. When it goes on, they get what they missed, in order, and are
// shown what is true now.
func TestFrontendsThatHungOrWereCutOffCatchUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.gateway("second", natsOutside+allFrontends)
	views := s.clients.watchAll(frontendsName, polled, held)
	witness := s.clients.watch(client.GRPC, "second", polled)
	awaitGood(append(views, witness))
	for _, f := range silences() {
		f.begin(s.frontends)
		witness.await(polled, readback, "good for longer than a heartbeat may take", later(time.Now().Add(2*heartbeatLimit)))
		ended := time.Now()
		f.end(s.frontends)
		awaitGood(views)
		for _, v := range views {
			checkOrder(t, v)
			old := 0
			for _, e := range v.seen() {
				if e.At > ended.UnixMicro() && e.Kind == client.Shown && e.Name == polled && e.Good() && *e.Value < float64(e.At-heartbeatLimit.Microseconds()) {
					old++
				}
			}
			t.Logf("%s: after it was %s, %d values were shown as good that were too old", v.protocol, f.what, old)
		}
	}
}
