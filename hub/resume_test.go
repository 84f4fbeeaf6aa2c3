package hub_test

import (
	"testing"
	"testing/synctest"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func resume(w *world, cursor gateway.Cursor) gateway.Stream {
	s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.MatchAll, Cursor: cursor})
	return s
}

func TestResumeContinuesBehindEachCursor(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{}, all())
		start := take(s)
		for _, e := range start[:3] {
			if e.Cursor != (gateway.Cursor{}) {
				t.Errorf("an event of the snapshot has the cursor %v", e.Cursor)
			}
		}
		oven.Set("oven.actual", gateway.Of(1.0))
		setRamp(oven, gateway.Setpoint, 2, gateway.Alarm{})
		oven.SetState(false, "")
		oven.Redescribe(ovenDescriptors()[:2]...)
		oven.Set("oven.actual", gateway.Of(3.0))
		rest := take(s)
		want := describe(rest)
		if got := describe(take(resume(w, start[3].Cursor))); got != want+", synced" {
			t.Errorf("behind the start:\n got %s\nwant %s", got, want)
		}
		for i := range rest {
			want := describe(rest[i+1:])
			if want != "" {
				want += ", "
			}
			if got := describe(take(resume(w, rest[i].Cursor))); got != want+"synced" {
				t.Errorf("behind event %d:\n got %s\nwant %s", i, got, want)
			}
		}
	})
}

func TestResumeThatCannotBeSaysSo(t *testing.T) {
	const snapshot = "gap, added oven.actual, added oven.cancel, added oven.ramp, synced"
	inWorld(t, hub.Options{ReplayEvents: 10}, func(w *world, oven *hubtest.Device) {
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.MatchAll})
		begin := take(s)
		cursor := begin[len(begin)-1].Cursor
		for i := range 10 {
			oven.Set("oven.actual", gateway.Of(float64(i)))
		}
		synctest.Wait()
		if got := describe(take(resume(w, cursor))[:1]); got != "sample oven.actual 0" {
			t.Errorf("just in reach: first is %s", got)
		}
		oven.Set("oven.actual", gateway.Of(10.0))
		wantEvents(t, resume(w, cursor), snapshot)
		wantEvents(t, resume(w, gateway.Cursor{Epoch: cursor.Epoch + 2, N: cursor.N}), snapshot)
		wantEvents(t, resume(w, gateway.Cursor{Epoch: cursor.Epoch, N: 1 << 40}), snapshot)
	})
}

func TestReplayIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hub.Options{ReplayBytes: 100000})
		wave := &gateway.Descriptor{Path: "scope.wave", Traits: &gateway.Traits{Access: readOnly, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{1000}}}}
		scope := hubtest.NewDevice(w.bus, "scope", wave)
		s, _ := w.watch(gateway.StreamOptions{}, all())
		cursor := take(s)[1].Cursor
		for range 12 {
			scope.Set("scope.wave", gateway.ArrayOf(make([]float64, 1000)))
		}
		if n := len(take(resume(w, cursor))); n != 13 {
			t.Errorf("%d events within the bound, want 12 and synced", n)
		}
		scope.Set("scope.wave", gateway.ArrayOf(make([]float64, 1000)))
		wantEvents(t, resume(w, cursor), "gap, added scope.wave, synced")
	})
}

func TestResumeOfEveryPoll(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		every := gateway.WatchOptions{Match: gateway.PatternOf("oven.actual"), Every: true}
		same := hubtest.Change{Path: "oven.actual", Role: gateway.Readback, Value: gateway.Of(1.0), Same: true}
		s, id := w.watch(gateway.StreamOptions{}, every)
		every.Cursor = take(s)[1].Cursor
		oven.Update(same)
		again, _ := w.watch(gateway.StreamOptions{}, every)
		wantEvents(t, again, "sample oven.actual 1, synced")
		again.Close()
		s.Unwatch(id)
		synctest.Wait()
		// Nobody wants these now, so they are not kept, and that is said.
		oven.Update(same)
		again, _ = w.watch(gateway.StreamOptions{}, every)
		wantEvents(t, again, "gap, added oven.actual, synced")
		// Who wants changes only has missed nothing.
		every.Every = false
		changes, _ := w.watch(gateway.StreamOptions{}, every)
		wantEvents(t, changes, "synced")
	})
}
