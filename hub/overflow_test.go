package hub_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func setRamp(d *hubtest.Device, role gateway.Role, v float64, alarm gateway.Alarm) {
	d.Update(hubtest.Change{Path: "oven.ramp", Role: role, Value: gateway.Of(v), Alarm: alarm})
}

func TestSlowReaderGetsTheNewestOfEach(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{MaxEvents: 5}, all())
		take(s)
		oven.Set("oven.actual", gateway.Of(100.0))
		setRamp(oven, gateway.Setpoint, 1, gateway.Alarm{Severity: gateway.Minor})
		for i := range 10 {
			setRamp(oven, gateway.Readback, float64(i), gateway.Alarm{})
			oven.Set("oven.actual", gateway.Of(float64(i)))
		}
		setRamp(oven, gateway.Setpoint, 2, gateway.Alarm{Severity: gateway.Minor})
		synctest.Wait()
		if st := s.Stats(); st.Overflows != 1 || st.Lost != 20 || st.Queued != 3 {
			t.Errorf("stats %+v", st)
		}
		events := wantEvents(t, s, "sample oven.ramp 9 lost 9, sample oven.actual 9 lost 10, sample oven.ramp setpoint 2 lost 1")
		if mask := events[2].Mask; mask&gateway.MaskAlarm == 0 {
			t.Errorf("mask %v of the setpoint has forgotten the alarm that was merged", mask)
		}
		// From here on it keeps up.
		oven.Set("oven.actual", gateway.Of(10.0))
		oven.Set("oven.actual", gateway.Of(11.0))
		wantEvents(t, s, "sample oven.actual 10, sample oven.actual 11")
	})
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hub.Options{})
		wave := &gateway.Descriptor{Path: "scope.wave", Traits: &gateway.Traits{Access: readOnly, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{1000}}}}
		scope := hubtest.NewDevice(w.bus, "scope", wave, hubtest.Float("scope.gain", readOnly))
		s, _ := w.watch(gateway.StreamOptions{MaxBytes: 30000}, all())
		take(s)
		scope.Set("scope.gain", gateway.Of(1.0))
		for i := range 100 {
			scope.Set("scope.wave", gateway.ArrayOf(append(make([]float64, 999), float64(i))))
			synctest.Wait()
			if st := s.Stats(); st.Bytes > 30000 {
				t.Fatalf("%d bytes are queued", st.Bytes)
			}
		}
		events := take(s)
		if len(events) != 2 || events[0].Attribute.Path != "scope.gain" || events[1].Lost != 99 ||
			gateway.Elements[float64](events[1].Sample().Value)[999] != 99 {
			t.Errorf("events %s", describe(events))
		}
	})
}

func TestOverflowNeverLosesWhatExists(t *testing.T) {
	a, b, c := hubtest.Float("oven.a", readOnly), hubtest.Float("oven.b", readOnly), hubtest.Float("oven.c", readOnly)
	described := hubtest.Float("oven.a", readOnly)
	described.Units = "K"
	overflow := func(d *hubtest.Device) {
		for i := range 10 {
			d.Set("oven.a", gateway.Of(float64(i)))
		}
	}
	tests := []struct {
		name string
		do   func(d *hubtest.Device)
		want string
	}{
		{"added", func(d *hubtest.Device) { overflow(d); d.Redescribe(a, b, c) }, "sample oven.a 9 lost 9, added oven.c"},
		{"added before", func(d *hubtest.Device) { d.Redescribe(a, b, c); overflow(d) }, "added oven.c, sample oven.a 9 lost 9"},
		{"removed", func(d *hubtest.Device) { overflow(d); d.Redescribe(a) }, "sample oven.a 9 lost 9, removed oven.b"},
		{"removed with samples", func(d *hubtest.Device) { overflow(d); d.Redescribe(b) }, "removed oven.a"},
		{"removed and back", func(d *hubtest.Device) { overflow(d); d.Redescribe(b); d.Redescribe(a, b) }, "removed oven.a, added oven.a"},
		{"came and went", func(d *hubtest.Device) { overflow(d); d.Redescribe(a, b, c); d.Redescribe(a, b) }, "sample oven.a 9 lost 9"},
		{"described twice", func(d *hubtest.Device) {
			overflow(d)
			d.Redescribe(described, b)
			d.Redescribe(a, b)
		}, "sample oven.a 9 lost 9, described oven.a"},
		{"lost and back", func(d *hubtest.Device) {
			overflow(d)
			d.SetState(false, "")
			d.SetState(true, "")
		}, "sample oven.a 9 lost 9, availability oven.a connected, availability oven.b connected"},
		{"sample of an unseen attribute", func(d *hubtest.Device) {
			overflow(d)
			d.Redescribe(a, b, c)
			d.Set("oven.c", gateway.Of(3.0))
		}, "sample oven.a 9 lost 9, added oven.c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
				oven.Redescribe(a, b)
				s, _ := w.watch(gateway.StreamOptions{MaxEvents: 3}, all())
				take(s)
				tt.do(oven)
				wantEvents(t, s, tt.want)
			})
		})
	}
}

// TestCA42SnapshotSurvivesOverflow is a client that subscribes to many channels
// and does not read for a while.
func TestCA42SnapshotSurvivesOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hub.Options{})
		var descriptors []*gateway.Descriptor
		for i := range 20 {
			descriptors = append(descriptors, hubtest.Float(gateway.Path(fmt.Sprintf("dev.v%02d", i)), readOnly))
		}
		d := hubtest.NewDevice(w.bus, "dev", descriptors...)
		synctest.Wait()
		s := w.view.Open(gateway.StreamOptions{MaxEvents: 2})
		defer s.Close()
		for _, desc := range descriptors {
			if _, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf(desc.Path)}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for i := range 100 {
			d.Set(descriptors[i%7].Path, gateway.Of(float64(i)))
		}
		newest := map[gateway.WatchID]float64{}
		synced := map[gateway.WatchID]bool{}
		for _, e := range take(s) {
			switch e.Type {
			case gateway.EventAdded:
				newest[e.Watch] = e.Attribute.Readback.Value.Float()
				if synced[e.Watch] {
					t.Errorf("watch %d: added after synced", e.Watch)
				}
			case gateway.EventSample:
				newest[e.Watch] = e.Sample().Value.Float()
			case gateway.EventSynced:
				synced[e.Watch] = true
			}
		}
		if len(newest) != 20 || len(synced) != 20 {
			t.Fatalf("%d watches got a value, %d were synced", len(newest), len(synced))
		}
		for i, desc := range descriptors {
			a, _ := w.view.Get(desc.Path)
			if got := newest[gateway.WatchID(i+1)]; got != a.Readback.Value.Float() {
				t.Errorf("%s: got %v, newest is %v", desc.Path, got, a.Readback.Value.Float())
			}
		}
	})
}

func TestWatchDuringOverflow(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{MaxEvents: 3}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
		for i := range 10 {
			oven.Set("oven.actual", gateway.Of(float64(i)))
		}
		synctest.Wait()
		if _, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf("oven.ramp")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		setRamp(oven, gateway.Readback, 5, gateway.Alarm{})
		events := wantEvents(t, s, "added oven.actual, synced, added oven.ramp, synced")
		if got := events[0].Attribute.Readback.Value.Float(); got != 9 {
			t.Errorf("oven.actual begins with %v, newest is 9", got)
		}
		if got := events[2].Attribute.Readback.Value.Float(); got != 5 {
			t.Errorf("oven.ramp begins with %v, newest is 5", got)
		}
	})
}

func TestReaderThatNeverReadsIsBounded(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{MaxEvents: 10}, all())
		for i := range 3000 {
			id, err := s.Watch(all())
			if err != nil {
				t.Fatal(err)
			}
			oven.Redescribe(append(ovenDescriptors(), hubtest.Float(gateway.Path(fmt.Sprintf("oven.hot%d", i)), readOnly))...)
			oven.Set("oven.actual", gateway.Of(float64(i)))
			synctest.Wait()
			s.Unwatch(id)
			synctest.Wait()
			if st := s.Stats(); st.Queued > 2000 {
				t.Fatalf("%d events wait after %d rounds", st.Queued, i)
			}
		}
	})
}

func TestShortestInterval(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.MatchAll, MinInterval: time.Second})
		take(s)
		pass(2 * time.Second)
		// What one exchange brings is one delivery, at once after a quiet time.
		oven.Update(
			hubtest.Change{Path: "oven.actual", Role: gateway.Readback, Value: gateway.Of(1.0)},
			hubtest.Change{Path: "oven.ramp", Role: gateway.Readback, Value: gateway.Of(1.0)})
		wantEvents(t, s, "sample oven.actual 1, sample oven.ramp 1")
		for i := range 9 {
			pass(100 * time.Millisecond)
			oven.Set("oven.actual", gateway.Of(float64(i)))
			wantEvents(t, s, "")
		}
		oven.SetStale(1)
		wantEvents(t, s, "")
		pass(100 * time.Millisecond)
		wantEvents(t, s, "sample oven.actual 8, availability oven.ramp stale")
		if lost := s.Stats().Lost; lost != 0 {
			t.Errorf("%d samples count as lost to a slow reader", lost)
		}
		pass(time.Minute)
		wantEvents(t, s, "")
		oven.Set("oven.actual", gateway.Of(9.0))
		oven.Set("oven.actual", gateway.Of(10.0))
		events := take(s)
		pass(time.Second)
		events = append(events, take(s)...)
		if last := &events[len(events)-1]; last.Sample().Value.Float() != 10 {
			t.Errorf("events %s", describe(events))
		}
	})
}

func TestUnwatchWhileHeldBack(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, id := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.MatchAll, MinInterval: time.Second})
		take(s)
		oven.Set("oven.actual", gateway.Of(1.0))
		synctest.Wait()
		s.Unwatch(id)
		pass(2 * time.Second)
		wantEvents(t, s, "")
	})
}
