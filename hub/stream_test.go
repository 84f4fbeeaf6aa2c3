package hub_test

import (
	"testing"
	"testing/synctest"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestWatchBeginsWithWhatIsKnownAndContinues(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		s, id := w.watch(gateway.StreamOptions{}, all())
		events := wantEvents(t, s, "added oven.actual, added oven.cancel, added oven.ramp, synced")
		if got := events[0].Attribute.Readback.Value.Float(); got != 1 {
			t.Errorf("snapshot has %v, want 1", got)
		}
		oven.Set("oven.actual", gateway.Of(2.0))
		oven.Update(
			hubtest.Change{Path: "oven.ramp", Role: gateway.Setpoint, Value: gateway.Of(3.0)},
			hubtest.Change{Path: "oven.ramp", Role: gateway.Readback, Value: gateway.Of(4.0)})
		events = wantEvents(t, s, "sample oven.actual 2, sample oven.ramp setpoint 3, sample oven.ramp 4")
		for _, e := range events {
			if e.Watch != id || e.Cursor.Epoch == 0 {
				t.Errorf("event %+v", e)
			}
		}
		select {
		case <-s.Ready():
		default:
			t.Error("Ready got no value")
		}
	})
}

func TestAReaderMayBeCalledInPlaceOfAChannel(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		called := make(chan struct{}, 16)
		s, _ := w.watch(gateway.StreamOptions{Notify: func() { called <- struct{}{} }}, all())
		<-called
		wantEvents(t, s, "added oven.actual, added oven.cancel, added oven.ramp, synced")
		oven.Set("oven.actual", gateway.Of(2.0))
		<-called
		wantEvents(t, s, "sample oven.actual 2")
		select {
		case <-s.Ready():
			t.Error("Ready got a value as well")
		default:
		}
	})
}

func TestUnwatchedEventsAreNotTaken(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, first := w.watch(gateway.StreamOptions{}, all())
		second, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf("oven.ramp")})
		if err != nil || second == first {
			t.Fatal(second, err)
		}
		synctest.Wait()
		s.Unwatch(first)
		s.Unwatch(first)
		s.Unwatch(99)
		oven.Set("oven.actual", gateway.Of(2.0))
		for _, e := range wantEvents(t, s, "added oven.ramp, synced") {
			if e.Watch != second {
				t.Errorf("event of watch %d", e.Watch)
			}
		}
		if got := s.Stats().Watches; got != 1 {
			t.Errorf("%d watches, want 1", got)
		}
	})
}

func TestWatchSelectsRolesAndChanges(t *testing.T) {
	tests := []struct {
		name  string
		watch gateway.WatchOptions
		want  string
	}{
		{"default", gateway.WatchOptions{}, "sample oven.ramp setpoint 1, sample oven.ramp 2"},
		{"setpoint", gateway.WatchOptions{Roles: gateway.Setpoint}, "sample oven.ramp setpoint 1"},
		{"alarm", gateway.WatchOptions{Mask: gateway.MaskAlarm, Roles: gateway.Readback}, "sample oven.ramp 2"},
		{"property", gateway.WatchOptions{Mask: gateway.MaskProperty}, ""},
		{"every", gateway.WatchOptions{Every: true, Roles: gateway.Readback}, "sample oven.ramp 2, sample oven.ramp 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
				tt.watch.Match = gateway.PatternOf("oven.ramp")
				s, _ := w.watch(gateway.StreamOptions{}, tt.watch)
				wantEvents(t, s, "added oven.ramp, synced")
				oven.Update(hubtest.Change{Path: "oven.ramp", Role: gateway.Setpoint, Value: gateway.Of(1.0), Alarm: gateway.Undefined})
				oven.Update(hubtest.Change{Path: "oven.ramp", Role: gateway.Readback, Value: gateway.Of(2.0)})
				oven.Update(hubtest.Change{Path: "oven.ramp", Role: gateway.Readback, Value: gateway.Of(2.0), Same: true})
				wantEvents(t, s, tt.want)
			})
		})
	}
}

func TestClosedStreamIsQuiet(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{}, all())
		synctest.Wait()
		s.Close()
		s.Close()
		oven.Set("oven.actual", gateway.Of(2.0))
		wantEvents(t, s, "")
		_, err := s.Watch(all())
		wantKind(t, err, gateway.KindShuttingDown)
		if got := len(w.hub.Clients()); got != 0 {
			t.Errorf("%d clients, want none", got)
		}
	})
}
