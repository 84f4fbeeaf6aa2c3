package e2e

import (
	"testing"
	"time"

	"github.com/polygate/gateway/e2e/client"
)

// awaitGood waits until all clients show the instrument's clock as it is now.
func awaitGood(views []*view) {
	since := time.Now()
	for _, v := range views {
		v.t.Helper()
		v.await(polled, readback, "good and current", later(since))
	}
}

// awaitBad waits until all clients show an alarm, and checks that the value that
// is shown with it is the last one with its own time.
func awaitBad(views []*view, what string, status ...string) {
	for _, v := range views {
		v.t.Helper()
		e := v.await(polled, readback, what, bad)
		if e.Value == nil || e.Time == 0 {
			v.t.Errorf("%s: the last value does not stay: %v", v.protocol, &e)
		}
		fits := false
		for _, s := range status {
			fits = fits || e.Status == s
		}
		if !fits {
			v.t.Errorf("%s: %s shows as %v, want one of %v", v.protocol, what, &e, status)
		}
	}
}

func TestADeviceIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	views := s.clients.watchAll(frontendsName, polled, held)
	awaitGood(views)

	s.instrument.kill()
	awaitBad(views, "a device whose plug was pulled", "COMM", "TIMEOUT")
	verdict := s.clients.put(client.GRPC, frontendsName, held, 5)
	if verdict.OK() {
		t.Errorf("a put to a device that is not there succeeded: %+v", verdict)
	}
	s.instrument.restart()
	awaitGood(views)
	if verdict := s.clients.put(client.SSE, frontendsName, held, 6); !verdict.OK() {
		t.Errorf("a put to a device that came back: %+v", verdict)
	}

	s.instrument.pause()
	awaitBad(views, "a device that hangs", "TIMEOUT", "COMM")
	s.instrument.resume()
	awaitGood(views)
	for _, v := range views {
		v.await(held, readback, "what it held all the time", holds(6))
	}
}
