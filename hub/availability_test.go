package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestLostDeviceIsAStateWithItsOwnEventAndTime(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
		take(s)
		before := w.get("oven.actual")
		pass(time.Minute)
		lostAt := time.Now()
		oven.SetState(false, "unplugged")
		wantEvents(t, s, "availability oven.actual disconnected")
		a := w.get("oven.actual")
		if a.Readback != before.Readback {
			t.Error("the sample changed with the availability")
		}
		if !a.AvailableSince.Equal(lostAt) || a.Words != "unplugged" {
			t.Errorf("since %v because %q, want since %v", a.AvailableSince, a.Words, lostAt)
		}
		if alarm := a.EffectiveAlarm(gateway.Readback); alarm != (gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusComm, Text: "unplugged"}) {
			t.Errorf("alarm %+v", alarm)
		}
		oven.SetState(false, "no such port")
		wantEvents(t, s, "availability oven.actual disconnected")
		if a := w.get("oven.actual"); !a.AvailableSince.Equal(lostAt) || a.Words != "no such port" {
			t.Errorf("new words changed the time to %v", a.AvailableSince)
		}
		oven.Heartbeat()
		wantEvents(t, s, "")
		oven.SetState(true, "")
		wantEvents(t, s, "availability oven.actual connected")
	})
}

func TestStaleIsAboutSingleAttributes(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{}, all())
		take(s)
		oven.SetStale(1)
		wantEvents(t, s, "availability oven.ramp stale")
		oven.SetStale(0, 77)
		wantEvents(t, s, "availability oven.actual stale, availability oven.ramp connected")
		oven.SetState(false, "")
		w.wantAvailability("oven.actual", gateway.Disconnected)
		oven.SetState(true, "")
		w.wantAvailability("oven.actual", gateway.Stale)
		oven.SetStale()
		w.wantAvailability("oven.actual", gateway.Available)
	})
}

func TestDriverThatLeaves(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		oven.Leave("stopped by the operator")
		w.wantAvailability("oven.actual", gateway.DriverLost)
		w.wantValue("oven.actual", 1)
		if d := w.view.Devices()[0]; d.Availability != gateway.DriverLost || d.Words != "stopped by the operator" {
			t.Errorf("device is %v, %q", d.Availability, d.Words)
		}
		_, err := w.view.Put(ramp(1))
		wantKind(t, err, gateway.KindNotConnected)
		oven.Restart(false)
		oven.Announce()
		w.wantAvailability("oven.actual", gateway.Available)
	})
}

func TestBusAwayAndBack(t *testing.T) {
	inWorld(t, hub.Options{HeartbeatTimeout: 3 * time.Second}, func(w *world, oven *hubtest.Device) {
		chiller := hubtest.NewDevice(w.bus, "chiller", hubtest.Float("chiller.flow", readOnly))
		gone := hubtest.NewDevice(w.bus, "gone", hubtest.Float("gone.x", readOnly))
		oven.Set("oven.actual", gateway.Of(1.0))
		chiller.Set("chiller.flow", gateway.Of(1.0))
		gone.Leave("")
		synctest.Wait()
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
		take(s)

		lostAt := time.Now()
		w.bus.SetConnected(gateway.BusState{Connected: false, Since: lostAt, Words: "nats is away"})
		wantEvents(t, s, "availability oven.actual bus_lost")
		if a := w.get("oven.actual"); a.Words != "nats is away" || !a.AvailableSince.Equal(lostAt) {
			t.Errorf("since %v because %q", a.AvailableSince, a.Words)
		}
		_, err := w.view.Put(ramp(1))
		wantKind(t, err, gateway.KindBusDown)
		oven.Set("oven.actual", gateway.Of(2.0)) // nobody hears that
		pass(time.Minute)
		w.wantAvailability("oven.actual", gateway.BusLost)

		chiller.SetSilent(true)
		gone.SetSilent(true)
		w.bus.SetConnected(gateway.BusState{Connected: true, Since: time.Now()})
		// First the new value, then the state that makes it good.
		wantEvents(t, s, "sample oven.actual 2, availability oven.actual connected")
		w.wantAvailability("chiller.flow", gateway.BusLost)
		w.wantAvailability("gone.x", gateway.DriverLost)
		pass(2900 * time.Millisecond)
		oven.Heartbeat()
		pass(200 * time.Millisecond)
		w.wantAvailability("chiller.flow", gateway.DriverLost)
		w.wantAvailability("oven.actual", gateway.Available)
	})
}
