package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestSilentDriverIsLostAfterTheHeartbeatTimeout(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		for range 10 {
			pass(time.Second)
			oven.Heartbeat()
			w.wantAvailability("oven.actual", gateway.Available)
		}
		pass(2900 * time.Millisecond)
		w.wantAvailability("oven.actual", gateway.Available)
		pass(200 * time.Millisecond)
		w.wantAvailability("oven.actual", gateway.DriverLost)

		// It speaks again, but what it said in between is missing: its state
		// alone does not make old values good.
		w.bus.Deafen(true)
		oven.Heartbeat()
		oven.Set("oven.ramp", gateway.Of(2.0))
		w.wantAvailability("oven.actual", gateway.DriverLost)
		w.bus.Deafen(false)
		pass(time.Second)
		w.wantAvailability("oven.actual", gateway.Available)
		pass(4 * time.Second)
		w.wantAvailability("oven.actual", gateway.DriverLost)
	})
}

// The bus knows at once that a driver's process was killed. Silence alone does not
// tell: it may be held.
func TestADriverThatIsGoneIsLostAsSoonAsABeatIsMissing(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		synctest.Wait()
		oven.OnPut(func(*hubtest.Device, *gateway.Put) {}) // it never ends
		put, err := w.view.Put(ramp(5))
		if err != nil {
			t.Fatal(err)
		}
		oven.Die()
		pass(900 * time.Millisecond)
		w.wantAvailability("oven.actual", gateway.Available)
		pass(200 * time.Millisecond)
		w.wantAvailability("oven.actual", gateway.DriverLost)
		if words := w.get("oven.actual").Words; words != "the driver is gone" {
			t.Errorf("lost because %q", words)
		}
		if !isClosed(put.Done()) {
			t.Fatal("the put has not ended")
		}
		wantKind(t, put.Verdict().Err, gateway.KindUnknownOutcome)
		oven.Restart(false)
		oven.Announce()
		w.wantAvailability("oven.actual", gateway.Available)
	})
}

// That a driver is not known to the bus is old news when it has spoken since.
func TestWhoHasSpokenSinceIsNotGone(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		pass(1100 * time.Millisecond)
		oven.Heartbeat()
		w.bus.Post(&gateway.Absent{Owner: oven.Owner()})
		w.wantAvailability("oven.actual", gateway.Available)
		pass(2 * time.Second)
		stranger := oven.Owner()
		stranger.Term++
		w.bus.Post(&gateway.Absent{Owner: stranger}, &gateway.Absent{Owner: gateway.Owner{Device: "no"}})
		w.wantAvailability("oven.actual", gateway.Available)
	})
}

// A hub whose process was stopped for longer than values may be old does not show
// what has waited for it as good: not before it has all that was said meanwhile.
func TestAHubThatWasHeldTrustsNothingUntilItHasCaughtUp(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(0.0))
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
		take(s)
		resume := w.bus.Hold()
		for n := range 3 {
			pass(2 * time.Second)
			oven.Set("oven.actual", gateway.Of(float64(n+1)))
			oven.Announce() // another hub has asked
		}
		resume()
		wantEvents(t, s, "availability oven.actual bus_lost, sample oven.actual 1, sample oven.actual 2, sample oven.actual 3, "+
			"availability oven.actual connected")

		// A driver that died meanwhile stays lost.
		resume = w.bus.Hold()
		pass(2 * time.Second)
		oven.Set("oven.actual", gateway.Of(4.0))
		oven.Announce()
		oven.Die()
		pass(4 * time.Second)
		resume()
		wantEvents(t, s, "availability oven.actual bus_lost, sample oven.actual 4")
		pass(1100 * time.Millisecond)
		wantEvents(t, s, "availability oven.actual driver_lost")
	})
}

// One that was held for a shorter time goes on as if nothing had been, and does not
// lose a driver whose beats are still to come.
func TestAHubThatWasHeldForAShortTimeGoesOn(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
		take(s)
		pass(500 * time.Millisecond)
		resume := w.bus.Hold()
		pass(2400 * time.Millisecond)
		resume()
		wantEvents(t, s, "")
		pass(900 * time.Millisecond)
		oven.Set("oven.actual", gateway.Of(1.0))
		wantEvents(t, s, "sample oven.actual 1")
	})
}

// What was lost on the way may have been the echo that ends the wait.
func TestAHubThatWasHeldAndLostMessagesCatchesUp(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		w.wantAvailability("oven.actual", gateway.Available)
		resume := w.bus.Hold()
		pass(6 * time.Second)
		w.bus.DropEcho()
		resume()
		w.wantAvailability("oven.actual", gateway.BusLost)
		w.bus.Post(&gateway.Dropped{Count: 1})
		w.wantAvailability("oven.actual", gateway.Available)
	})
}
