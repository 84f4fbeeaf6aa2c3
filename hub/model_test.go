package hub_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// A follower builds a table out of the events of a watch, as a frontend does,
// and checks what must hold for each.
type follower struct {
	t      *testing.T
	table  map[gateway.Path]*gateway.Attribute
	synced bool
	last   uint64 // number of the last event
	seen   int    // sample events
	lost   int    // counted in events
}

func (f *follower) follow(events []gateway.Event) {
	for i := range events {
		e := &events[i]
		if e.Cursor.N < f.last && e.Cursor.N != 0 {
			f.t.Fatalf("event %d %s comes behind event %d", e.Cursor.N, e.Type, f.last)
		}
		f.last = max(f.last, e.Cursor.N)
		f.lost += int(e.Lost)
		switch e.Type {
		case gateway.EventAdded:
			if f.table[e.Attribute.Path] != nil {
				f.t.Fatalf("%s was added twice", e.Attribute.Path)
			}
			f.table[e.Attribute.Path] = e.Attribute
		case gateway.EventRemoved:
			if f.table[e.Attribute.Path] == nil {
				f.t.Fatalf("%s was removed before it was added", e.Attribute.Path)
			}
			delete(f.table, e.Attribute.Path)
		case gateway.EventSynced:
			f.synced = true
		case gateway.EventGap:
			f.table = map[gateway.Path]*gateway.Attribute{}
		case gateway.EventSample:
			f.seen++
			old := f.table[e.Attribute.Path]
			if old == nil {
				f.t.Fatalf("sample of %s, which is not there", e.Attribute.Path)
			}
			if before := old.Sample(e.Role); !e.Sample().Time.After(before.Time) {
				f.t.Fatalf("%s went back from %v to %v", e.Attribute.Path, before.Time, e.Sample().Time)
			}
			next := *old
			if e.Role == gateway.Setpoint {
				next.Setpoint = e.Sample()
			} else {
				next.Readback = e.Sample()
			}
			f.table[e.Attribute.Path] = &next
		case gateway.EventAvailability:
			next := *f.table[e.Attribute.Path]
			next.Standing = e.Attribute.Standing
			f.table[e.Attribute.Path] = &next
		case gateway.EventDescribed:
			next := *f.table[e.Attribute.Path]
			next.Descriptor = e.Attribute.Descriptor
			f.table[e.Attribute.Path] = &next
		}
	}
}

// equals compares with the hub's own table.
func (f *follower) equals(view gateway.Session) {
	f.t.Helper()
	truth, _ := view.List(gateway.MatchAll, "", 0)
	if len(truth) != len(f.table) {
		f.t.Fatalf("follower has %v, the hub %d attributes", slices.Sorted(maps.Keys(f.table)), len(truth))
	}
	for _, want := range truth {
		got := f.table[want.Path]
		if got == nil || got.Readback != want.Readback || got.Setpoint != want.Setpoint ||
			got.Availability != want.Availability || got.Descriptor != want.Descriptor {
			f.t.Fatalf("%s: follower has %+v, the hub %+v", want.Path, got, want)
		}
	}
}

// TestFollowersEndWithTheHubsTable does random things to a device while readers
// of all tempers follow. Whatever is merged or lost on the way, each must know
// the truth once it has read.
func TestFollowersEndWithTheHubsTable(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { followRandomly(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func followRandomly(t *testing.T, r *rand.Rand) {
	w := newWorld(t, hub.Options{ReplayEvents: 50})
	path := func(i int) gateway.Path { return gateway.Path(fmt.Sprintf("dev.v%d", i)) }
	some := func() (list []*gateway.Descriptor) {
		for i := range 6 {
			if r.IntN(4) > 0 {
				d := hubtest.Float(path(i), readWrite)
				d.Units = []string{"K", "V"}[r.IntN(2)]
				list = append(list, d)
			}
		}
		return list
	}
	d := hubtest.NewDevice(w.bus, "dev", some()...)
	d.SetPieceSize(2)
	synctest.Wait()

	type reader struct {
		s     gateway.Stream
		watch gateway.WatchOptions
		f     follower
	}
	var readers []*reader
	open := func(opts gateway.StreamOptions, interval time.Duration) {
		x := &reader{s: w.view.Open(opts), watch: gateway.WatchOptions{Match: gateway.MatchAll, MinInterval: interval, Every: r.IntN(2) == 0}}
		x.f = follower{t: t, table: map[gateway.Path]*gateway.Attribute{}}
		if _, err := x.s.Watch(x.watch); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, x)
	}
	open(gateway.StreamOptions{}, 0)
	open(gateway.StreamOptions{MaxEvents: 4}, 0)
	open(gateway.StreamOptions{MaxBytes: 700}, 0)
	open(gateway.StreamOptions{}, 50*time.Millisecond)
	open(gateway.StreamOptions{MaxEvents: 4}, 50*time.Millisecond)
	value := 0.0
	for range 400 {
		switch r.IntN(20) {
		case 0:
			d.Redescribe(some()...)
		case 1:
			d.SetState(r.IntN(2) == 0, "")
		case 2:
			d.SetStale(uint32(r.IntN(3)))
		case 3:
			d.Restart(r.IntN(2) == 0)
			d.Announce()
		case 4:
			pass(time.Duration(r.IntN(100)) * time.Millisecond)
		case 5:
			synctest.Wait()
			w.bus.SetConnected(gateway.BusState{Connected: false, Since: time.Now()})
			synctest.Wait()
			w.bus.SetConnected(gateway.BusState{Connected: true, Since: time.Now()})
		case 6, 7:
			x := readers[r.IntN(len(readers))]
			synctest.Wait()
			x.f.follow(x.s.Take(nil))
		case 8:
			// A reader drops its connection and resumes.
			x := readers[0]
			synctest.Wait()
			x.f.follow(x.s.Take(nil))
			x.s.Close()
			x.watch.Cursor = gateway.Cursor{}
			if x.f.last > 0 {
				x.watch.Cursor = cursorOf(w, x.f.last)
			} else {
				x.f.table = map[gateway.Path]*gateway.Attribute{}
			}
			x.s = w.view.Open(gateway.StreamOptions{})
			if _, err := x.s.Watch(x.watch); err != nil {
				t.Fatal(err)
			}
		default:
			list := d.Descriptors()
			if len(list) == 0 {
				continue
			}
			value++
			d.Update(hubtest.Change{
				Path: list[r.IntN(len(list))].Path, Role: gateway.Role(1 + r.IntN(2)), Value: gateway.Of(value), Same: r.IntN(5) == 0,
			})
		}
	}
	d.Restart(false)
	d.Announce()
	pass(10 * time.Second)
	synctest.Wait()
	for i, x := range readers {
		x.f.follow(x.s.Take(nil))
		if x.watch.Every {
			x.f.equals(w.view)
		}
		if !x.f.synced {
			t.Errorf("reader %d was never synced", i)
		}
		x.s.Close()
	}
}

func cursorOf(w *world, n uint64) gateway.Cursor {
	s := w.view.Open(gateway.StreamOptions{})
	defer s.Close()
	if _, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf("no.thing")}); err != nil {
		w.Fatal(err)
	}
	return gateway.Cursor{Epoch: take(s)[0].Cursor.Epoch, N: n}
}

// TestLostCountsAddUp checks that every sample is either delivered or counted.
func TestLostCountsAddUp(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			w := newWorld(t, hub.Options{})
			oven := hubtest.NewDevice(w.bus, "oven", ovenDescriptors()...)
			s, _ := w.watch(gateway.StreamOptions{MaxEvents: 1 + r.IntN(20)}, all())
			f := follower{t: t, table: map[gateway.Path]*gateway.Attribute{}}
			f.follow(take(s))
			const n = 2000
			for i := range n {
				setRamp(oven, gateway.Role(1+r.IntN(2)), float64(i), gateway.Alarm{})
				if r.IntN(15) == 0 {
					f.follow(take(s))
				}
			}
			f.follow(take(s))
			f.equals(w.view)
			if f.seen+f.lost != n {
				t.Errorf("%d delivered and %d counted as lost, of %d", f.seen, f.lost, n)
			}
			if st := s.Stats(); st.Lost != uint64(f.lost) || st.Queued != 0 || st.Bytes != 0 {
				t.Errorf("stats %+v, lost in events %d", st, f.lost)
			}
		})
	}
}

// TestBUS01SlowReaderHoldsNobodyUp floods a reader that never reads beside one
// that does, with real goroutines.
func TestBUS01SlowReaderHoldsNobodyUp(t *testing.T) {
	bus := hubtest.NewBus()
	var descriptors []*gateway.Descriptor
	for i := range 200 {
		descriptors = append(descriptors, hubtest.Float(gateway.Path(fmt.Sprintf("dev.v%03d", i)), readOnly))
	}
	d := hubtest.NewDevice(bus, "dev", descriptors...)
	w := runWorld(t, bus, hub.Options{})
	settle := func() {
		t.Helper()
		if err := bus.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	open := func(o gateway.StreamOptions) gateway.Stream {
		s := w.view.Open(o)
		if _, err := s.Watch(all()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	slow, quick := open(gateway.StreamOptions{MaxEvents: 100}), open(gateway.StreamOptions{MaxEvents: 1 << 20})
	defer slow.Close()
	defer quick.Close()

	const rounds = 100
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		f := follower{t: t, table: map[gateway.Path]*gateway.Attribute{}}
		var buf []gateway.Event
		for running := true; running; {
			select {
			case <-quick.Ready():
			case <-done:
				running = false
			}
			buf = quick.Take(buf[:0])
			f.follow(buf)
		}
		if f.seen != rounds*200 {
			t.Errorf("the quick reader got %d samples, want %d", f.seen, rounds*200)
		}
	})
	for i := range rounds {
		for _, desc := range descriptors {
			d.Set(desc.Path, gateway.Of(float64(i)))
		}
	}
	settle()
	close(done)
	wg.Wait()
	f := follower{t: t, table: map[gateway.Path]*gateway.Attribute{}}
	f.follow(slow.Take(nil))
	f.equals(w.view)
	if st := slow.Stats(); st.Lost == 0 || st.Overflows != 1 {
		t.Errorf("stats of the slow reader: %+v", st)
	}
}
