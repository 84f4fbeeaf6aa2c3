package hub_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// sample makes a readback of oven.actual at a second of the hour.
func sample(seq uint64, at int, v float64) *gateway.Sample {
	return &gateway.Sample{
		Value: gateway.Of(v), Seq: seq, Mask: gateway.MaskValue,
		Time: gateway.TimeOf(time.Date(2030, 1, 1, 0, 0, at, 0, time.UTC)),
	}
}

func update(d *hubtest.Device, s *gateway.Sample) *gateway.Update {
	return &gateway.Update{Owner: d.Owner(), Revision: 1, Samples: []gateway.SampleUpdate{{Role: gateway.Readback, Sample: s}}}
}

func TestNewerSamplesWin(t *testing.T) {
	const value, all = gateway.MaskValue, gateway.MaskValue | gateway.MaskLog | gateway.MaskAlarm
	tests := []struct {
		name  string
		next  *gateway.Sample
		value float64
		at    int // the second that is shown then
		mask  gateway.Mask
		event bool // for a watch of every poll
	}{
		{"next number", sample(11, 11, 2), 2, 11, value, true},
		{"numbers left out", sample(15, 11, 2), 2, 11, all, true},
		{"older number", sample(9, 11, 2), 1, 10, 0, false},
		{"same again", sample(10, 10, 1), 1, 10, 0, false},
		{"same number, older time", sample(10, 9, 1), 1, 10, 0, false},
		{"same number, newer time", sample(10, 11, 1), 1, 11, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
				w.bus.Post(update(oven, sample(10, 10, 1)))
				every, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual"), Every: true})
				changes, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
				take(every)
				take(changes)
				w.bus.Post(update(oven, tt.next))
				w.wantValue("oven.actual", tt.value)
				if got := w.get("oven.actual").Readback.Time.Std().Second(); got != tt.at {
					t.Errorf("time is second %d, want %d", got, tt.at)
				}
				events := take(every)
				if (len(events) == 1) != tt.event || len(events) == 1 && events[0].Mask != tt.mask {
					t.Errorf("events of every poll: %v", describe(events))
				}
				if got, want := len(take(changes)) > 0, tt.mask != 0; got != want {
					t.Errorf("an event of changes: %v, want %v", got, want)
				}
			})
		})
	}
}

func TestTimesOfARoleRise(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		w.bus.Post(update(oven, sample(10, 10, 1)), update(oven, sample(11, 5, 2)))
		w.wantValue("oven.actual", 2)
		if got := w.get("oven.actual").Readback.Time; got != sample(0, 10, 0).Time.Add(time.Nanosecond) {
			t.Errorf("time %v does not rise", got)
		}
		if got := w.hub.Stats().Restamped; got != 1 {
			t.Errorf("%d restamped, want 1", got)
		}
	})
}

func TestUnusableMessagesChangeNothing(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		s, _ := w.watch(gateway.StreamOptions{}, all())
		take(s)
		s99 := sample(99, 59, 9)
		w.bus.Post(
			&gateway.Update{Owner: oven.Owner(), Revision: 1, Samples: []gateway.SampleUpdate{
				{Index: 77, Role: gateway.Readback, Sample: s99},
				{Index: 0, Role: gateway.Setpoint, Sample: s99},
				{Index: 0, Role: gateway.RoleBoth, Sample: s99},
				{Index: 0, Role: gateway.Readback},
			}},
			&gateway.PutVerdict{Owner: oven.Owner(), Revision: 1, Index: 77, Verdict: gateway.Verdict{Readback: s99}},
			&gateway.PutVerdict{ID: gateway.PutID{Hub: 1, N: 1}},
			&gateway.Announcement{Owner: oven.Owner(), Revision: 2, Pieces: 1, State: gateway.DeviceState{Connected: true}, Attributes: []gateway.Announced{
				{},
				{Descriptor: hubtest.Float("other.x", readOnly)},
				{Descriptor: ovenDescriptors()[0]},
				{Descriptor: ovenDescriptors()[0]},
				{Descriptor: ovenDescriptors()[1]},
				{Descriptor: ovenDescriptors()[2]},
			}},
		)
		wantEvents(t, s, "")
		w.bus.Post(&gateway.Update{Owner: oven.Owner(), Revision: 2, Samples: []gateway.SampleUpdate{{Index: 2, Role: gateway.Readback, Sample: s99}}})
		w.wantValue("oven.actual", 9)
	})
}

func TestAnnouncementPieces(t *testing.T) {
	a, b, c := hubtest.Float("oven.a", readOnly), hubtest.Float("oven.b", readOnly), hubtest.Float("oven.c", readOnly)
	piece := func(owner gateway.Owner, n, pieces int, offset uint32, d ...*gateway.Descriptor) *gateway.Announcement {
		x := &gateway.Announcement{Owner: owner, Revision: 2, Piece: n, Pieces: pieces, Offset: offset, State: gateway.DeviceState{Connected: true}}
		for _, d := range d {
			x.Attributes = append(x.Attributes, gateway.Announced{Descriptor: d})
		}
		return x
	}
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Redescribe(a, b)
		s, _ := w.watch(gateway.StreamOptions{}, all())
		wantEvents(t, s, "added oven.a, added oven.b, synced")
		owner := oven.Owner()
		next := func(n, pieces int, offset uint32, d ...*gateway.Descriptor) gateway.Message {
			x := piece(owner, n, pieces, offset, d...)
			x.Revision = 3
			return x
		}
		w.bus.Deafen(true)
		asked := w.bus.Asked()

		// A first piece alone changes nothing.
		w.bus.Post(next(0, 2, 0, a))
		wantEvents(t, s, "")
		// A piece that is missing spoils the set and makes the hub ask.
		w.bus.Post(next(0, 3, 0, a), next(2, 3, 2, c))
		wantEvents(t, s, "")
		pass(2 * time.Second)
		if w.bus.Asked() == asked {
			t.Error("the hub did not ask again")
		}
		// A set that begins anew is taken as a whole; what is in none is gone.
		w.bus.Post(next(0, 2, 0, a), next(1, 2, 1, c))
		wantEvents(t, s, "removed oven.b, added oven.c")
		_, err := w.view.Get("oven.b")
		wantKind(t, err, gateway.KindNotFound)
	})
}

func TestCA39EqualDescriptorsAreNoNews(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		limits := func(hihi float64, units string, labels ...string) []*gateway.Descriptor {
			d := hubtest.Float("oven.actual", readOnly)
			d.Alarm.HiHi = gateway.Level{Limit: gateway.At(hihi), Severity: gateway.Major}
			d.Units = units
			d.Annotations = map[string]string{"ca.name": "Actual"}
			mode := &gateway.Descriptor{Path: "oven.mode", Traits: &gateway.Traits{Access: readOnly, Type: gateway.Type{Kind: gateway.Enum}}}
			for _, l := range labels {
				mode.States = append(mode.States, gateway.State{Label: l})
			}
			return []*gateway.Descriptor{d, mode}
		}
		oven.Redescribe(limits(50, "K", "Off", "On")...)
		s, _ := w.watch(gateway.StreamOptions{}, all())
		take(s)
		for range 40 {
			oven.Redescribe(limits(50, "K", "Off", "On")...)
		}
		wantEvents(t, s, "")
		oven.Redescribe(limits(60, "K", "Off", "On")...)
		events := wantEvents(t, s, "described oven.actual")
		if d := events[0].Attribute; d.Alarm.HiHi.Value != 60 || events[0].Mask != gateway.MaskProperty {
			t.Errorf("described with HIHI %v, mask %v", d.Alarm.HiHi, events[0].Mask)
		}
		oven.Redescribe(limits(60, "degC", "Off", "On")...)
		wantEvents(t, s, "described oven.actual")
		oven.Redescribe(limits(60, "degC", "Off", "Running")...)
		wantEvents(t, s, "described oven.mode, sample oven.mode 0")
	})
}

func TestNewKindReplacesTheValue(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		synctest.Wait()
		text := &gateway.Descriptor{Path: "oven.actual", Traits: &gateway.Traits{Access: readWrite, Type: gateway.Type{Kind: gateway.String}}}
		owner := oven.Owner()
		w.bus.Post(&gateway.Announcement{
			Owner: owner, Revision: 2, Pieces: 1, State: gateway.DeviceState{Connected: true},
			Attributes: []gateway.Announced{{Descriptor: text}},
		})
		a := w.get("oven.actual")
		if a.Readback.Value.Known() || a.Setpoint != gateway.NeverRead {
			t.Errorf("after a change of kind: readback %v, setpoint %v", a.Readback.Value, a.Setpoint)
		}
	})
}

func TestDriverRestartKeepsAttributes(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		s, _ := w.watch(gateway.StreamOptions{}, all())
		take(s)
		old := oven.Owner()
		oven.Restart(false)
		oven.Announce()
		wantEvents(t, s, "")
		// The old owner is not listened to any more.
		w.bus.Post(&gateway.Update{Owner: old, Revision: 1, Samples: []gateway.SampleUpdate{{Role: gateway.Readback, Sample: sample(1e18, 59, 9)}}})
		w.wantValue("oven.actual", 1)
		if got := w.hub.Stats().Ignored; got != 1 {
			t.Errorf("%d messages ignored, want 1", got)
		}
		oven.Set("oven.actual", gateway.Of(2.0))
		wantEvents(t, s, "sample oven.actual 2")
		if got := w.view.Devices()[0].Owner; got != oven.Owner() {
			t.Errorf("owner %v", got)
		}
	})
}

func TestNewOwnerThatHasReadNothingKeepsTheValueAsStale(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		w.bus.Post(update(oven, sample(10, 10, 1)))
		s, _ := w.watch(gateway.StreamOptions{}, gateway.WatchOptions{Match: gateway.PatternOf("oven.actual")})
		take(s)
		oven.Restart(true)
		oven.Announce()
		wantEvents(t, s, "availability oven.actual stale")
		w.wantValue("oven.actual", 1)
		if alarm := w.get("oven.actual").EffectiveAlarm(gateway.Readback); alarm.Severity != gateway.Invalid {
			t.Errorf("an old value is shown with %v", alarm.Severity)
		}
		// Its clock is behind: its numbers are lower, and it counts all the same.
		w.bus.Post(&gateway.Update{Owner: oven.Owner(), Revision: 1, Samples: []gateway.SampleUpdate{{Role: gateway.Readback, Sample: sample(3, 1, 2)}}})
		wantEvents(t, s, "sample oven.actual 2, availability oven.actual connected")
	})
}

func TestSecondOwnerThatSpeaksBeforeItAnnounces(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(1.0))
		synctest.Wait()
		w.bus.Deafen(true)
		oven.Restart(false)
		oven.Set("oven.actual", gateway.Of(2.0))
		w.wantAvailability("oven.actual", gateway.DriverLost)
		w.bus.Deafen(false)
		pass(3 * time.Second)
		oven.Heartbeat()
		pass(3 * time.Second)
		w.wantAvailability("oven.actual", gateway.Available)
		w.wantValue("oven.actual", 2)
	})
}

func TestUnknownRevisionAsksOnceAndNotTooOften(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		pass(5 * time.Second)
		synctest.Wait()
		w.bus.Deafen(true)
		asked := w.bus.Asked()
		for range 100 {
			w.bus.Post(&gateway.Update{Owner: oven.Owner(), Revision: 9})
			synctest.Wait()
		}
		if got := w.bus.Asked() - asked; got != 1 {
			t.Errorf("asked %d times at once, want 1", got)
		}
		pass(5 * time.Second)
		if got := w.bus.Asked() - asked; got != 2 {
			t.Errorf("asked %d times in all, want 2", got)
		}
	})
}

func TestRevisionsMayBeginAtZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hub.Options{})
		owner := gateway.Owner{Device: "oven", Instance: "i", Term: 1}
		w.bus.Post(
			&gateway.Announcement{Owner: owner, Pieces: 1, State: gateway.DeviceState{Connected: true}, Attributes: []gateway.Announced{
				{Descriptor: hubtest.Float("oven.actual", readOnly)},
			}},
			&gateway.Update{Owner: owner, Samples: []gateway.SampleUpdate{{Role: gateway.Readback, Sample: sample(1, 1, 5)}}},
		)
		w.wantValue("oven.actual", 5)
		w.wantAvailability("oven.actual", gateway.Available)
	})
}

func TestLateJoinAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := hubtest.NewBus()
		oven := hubtest.NewDevice(bus, "oven", ovenDescriptors()...)
		oven.Set("oven.actual", gateway.Of(1.0))
		for bus.TryReceive() != nil { // said before the hub was there
		}
		w := runWorld(t, bus, hub.Options{})
		w.wantValue("oven.actual", 1)
		pass(2 * time.Second)
		oven.Set("oven.actual", gateway.Of(2.0))
		for bus.TryReceive() != nil { // lost on its way
		}
		w.wantValue("oven.actual", 1)
		bus.Post(&gateway.Dropped{Count: 1})
		w.wantValue("oven.actual", 2)
	})
}
