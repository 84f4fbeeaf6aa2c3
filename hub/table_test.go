package hub_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestGetReturnsTheNewestSample(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		if a := w.get("oven.actual"); a.Readback != gateway.NeverRead || a.Setpoint != nil {
			t.Errorf("before any update: readback %v, setpoint %v", a.Readback, a.Setpoint)
		}
		oven.Set("oven.actual", gateway.Of(20.0))
		oven.Set("oven.actual", gateway.Of(21.0))
		w.wantValue("oven.actual", 21)
		_, err := w.view.Get("oven.nothing")
		wantKind(t, err, gateway.KindNotFound)
		if a := w.get("oven.cancel"); a.Readback != nil || a.Setpoint == nil {
			t.Errorf("a command has readback %v, setpoint %v; want a setpoint alone", a.Readback, a.Setpoint)
		}
	})
}

func TestSnapshotsNeverChange(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		oven.Set("oven.actual", gateway.Of(20.0))
		before := w.get("oven.actual")
		oven.Set("oven.actual", gateway.Of(21.0))
		oven.SetState(false, "unplugged")
		synctest.Wait()
		if before.Readback.Value.Float() != 20 || before.Availability != gateway.Available {
			t.Errorf("a snapshot changed to %v, %v", before.Readback.Value, before.Availability)
		}
	})
}

func TestListPagesThroughSortedPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hub.Options{})
		// '-' sorts before '.', so devices and paths sort differently.
		hubtest.NewDevice(w.bus, "a", hubtest.Float("a.x", readOnly), hubtest.Float("a.b.y", readOnly))
		hubtest.NewDevice(w.bus, "a-b", hubtest.Float("a-b.x", readOnly))
		hubtest.NewDevice(w.bus, "ab", hubtest.Float("ab.x", readOnly))
		synctest.Wait()
		tests := []struct {
			match string
			after gateway.Path
			limit int
			want  []string
			more  bool
		}{
			{">", "", 0, []string{"a-b.x", "a.b.y", "a.x", "ab.x"}, false},
			{">", "", 2, []string{"a-b.x", "a.b.y"}, true},
			{">", "a.b.y", 2, []string{"a.x", "ab.x"}, false},
			{">", "ab.x", 2, nil, false},
			{"a.>", "", 0, []string{"a.b.y", "a.x"}, false},
			{"a.*", "", 0, []string{"a.x"}, false},
			{"*.x", "", 2, []string{"a-b.x", "a.x"}, true},
			{"*.x", "a.w", 0, []string{"a.x", "ab.x"}, false},
			{"a.x", "", 0, []string{"a.x"}, false},
			{"a.x", "a.x", 0, nil, false},
			{"b.>", "", 0, nil, false},
		}
		for _, tt := range tests {
			page, more := w.view.List(pattern(t, tt.match), tt.after, tt.limit)
			var got []string
			for _, a := range page {
				got = append(got, string(a.Path))
			}
			if !slices.Equal(got, tt.want) || more != tt.more {
				t.Errorf("List(%q, %q, %d) = %v, %v; want %v, %v", tt.match, tt.after, tt.limit, got, more, tt.want, tt.more)
			}
		}
	})
}

func TestDevicesAreSortedAndSayWhoOwnsThem(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		hubtest.NewDevice(w.bus, "chiller", hubtest.Float("chiller.flow", readOnly))
		oven.SetStale(0)
		synctest.Wait()
		devices := w.view.Devices()
		if len(devices) != 2 || devices[0].Name != "chiller" || devices[1].Name != "oven" {
			t.Fatalf("devices %v", devices)
		}
		d := devices[1]
		if d.Attributes != 3 || d.Stale != 1 || d.Owner != oven.Owner() || d.Availability != gateway.Available || d.Driver != "scripted" {
			t.Errorf("device %+v", d)
		}
	})
}

func TestManyAttributesInManyPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hub.Options{})
		const n = 20000
		descriptors := make([]*gateway.Descriptor, n)
		for i := range descriptors {
			descriptors[i] = hubtest.Float(gateway.Path(fmt.Sprintf("big.v%05d", i)), readOnly)
		}
		d := hubtest.NewDevice(w.bus, "big")
		d.SetPieceSize(100)
		d.Redescribe(descriptors...)
		synctest.Wait()
		if got := w.hub.Stats().Attributes; got != n {
			t.Fatalf("%d attributes, want %d", got, n)
		}
		d.Set("big.v12345", gateway.Of(7.0))
		w.wantValue("big.v12345", 7)
	})
}
