package hub_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// A feed is a bus that hands out updates as fast as the hub takes them.
type feed struct {
	*hubtest.Bus
	owner gateway.Owner
	seq   []uint64
	start gateway.Time

	batch  int // attributes in an update
	left   int // updates to hand out
	next   int // attribute
	demand chan int
	busy   bool
	empty  chan struct{} // gets a value when a demand has been met
}

func newFeed(attributes, batch int) *feed {
	return &feed{
		Bus: hubtest.NewBus(), owner: gateway.Owner{Device: "dev", Instance: "i1", Term: 1},
		seq: make([]uint64, attributes), start: gateway.TimeOf(time.Now()), batch: batch,
		demand: make(chan int), empty: make(chan struct{}, 1),
	}
}

func (f *feed) descriptors() []*gateway.Descriptor {
	list := make([]*gateway.Descriptor, len(f.seq))
	for i := range list {
		list[i] = hubtest.Float(gateway.Path(fmt.Sprintf("dev.group%03d.v%05d", i/100, i)), readOnly)
	}
	return list
}

func (f *feed) Receive(ctx context.Context, wake <-chan struct{}) (gateway.Message, error) {
	for {
		if m := f.TryReceive(); m != nil {
			return m, nil
		}
		select {
		case <-wake:
			return nil, nil
		default:
		}
		if f.busy {
			f.busy = false
			f.empty <- struct{}{}
		}
		select {
		case f.left = <-f.demand:
			f.busy = true
		case <-wake:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *feed) TryReceive() gateway.Message {
	if m := f.Bus.TryReceive(); m != nil {
		return m
	}
	if f.left == 0 {
		return nil
	}
	f.left--
	u := &gateway.Update{Owner: f.owner, Revision: 1, Samples: make([]gateway.SampleUpdate, f.batch)}
	samples := make([]gateway.Sample, f.batch)
	for i := range samples {
		f.next = (f.next + 1) % len(f.seq)
		f.seq[f.next]++
		seq := f.seq[f.next]
		samples[i] = gateway.Sample{Value: gateway.Of(float64(seq)), Time: f.start + gateway.Time(seq), Seq: seq, Mask: gateway.MaskValue}
		u.Samples[i] = gateway.SampleUpdate{Index: uint32(f.next), Role: gateway.Readback, Sample: &samples[i]}
	}
	return u
}

// run has n updates go through the hub, and all that was posted or asked before.
func (f *feed) run(n int) {
	f.demand <- n
	<-f.empty
}

func benchWorld(b *testing.B, f *feed) *hub.Hub {
	b.Helper()
	h := hub.New(f, hub.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(ctx)
	}()
	b.Cleanup(func() { cancel(); <-done })
	var announced []gateway.Announced
	for _, d := range f.descriptors() {
		announced = append(announced, gateway.Announced{Descriptor: d, Readback: gateway.NeverRead})
	}
	f.Post(&gateway.Announcement{Owner: f.owner, Revision: 1, Pieces: 1, State: gateway.DeviceState{Connected: true}, Attributes: announced})
	f.run(0)
	return h
}

// BenchmarkFanOut is one update of one attribute to N connections that keep up:
// they take as often as a reader would that is told once in 64 messages.
func BenchmarkFanOut(b *testing.B) {
	for _, subscribers := range []int{0, 1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("subscribers=%d", subscribers), func(b *testing.B) {
			f := newFeed(100, 1)
			h := benchWorld(b, f)
			session := h.For(gateway.Caller{})
			var streams []gateway.Stream
			for range subscribers {
				s := session.Open(gateway.StreamOptions{})
				b.Cleanup(s.Close)
				if _, err := s.Watch(gateway.WatchOptions{Match: gateway.MatchAll}); err != nil {
					b.Fatal(err)
				}
				streams = append(streams, s)
			}
			var buf []gateway.Event
			const chunk = 64
			round := func() {
				f.run(chunk)
				for _, s := range streams {
					buf = s.Take(buf[:0])
				}
			}
			round()
			round()
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += chunk {
				round()
			}
		})
	}
}

// BenchmarkUpdates is 10,000 attributes and one connection that watches all,
// with one sample and with 100 in a message. An operation is one sample.
func BenchmarkUpdates(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			f := newFeed(10000, batch)
			h := benchWorld(b, f)
			s := h.For(gateway.Caller{}).Open(gateway.StreamOptions{})
			defer s.Close()
			if _, err := s.Watch(gateway.WatchOptions{Match: gateway.MatchAll}); err != nil {
				b.Fatal(err)
			}
			const chunk = 1000 // samples between two takes
			var buf []gateway.Event
			f.run(chunk / batch)
			buf = s.Take(buf)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += chunk {
				f.run(chunk / batch)
				buf = s.Take(buf[:0])
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func BenchmarkGet(b *testing.B) {
	f := newFeed(10000, 1)
	session := benchWorld(b, f).For(gateway.Caller{})
	paths := make([]gateway.Path, 0, 10000)
	for _, d := range f.descriptors() {
		paths = append(paths, d.Path)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := session.Get(paths[i%len(paths)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	bus := hubtest.NewBus()
	hubtest.NewDevice(bus, "oven", ovenDescriptors()...)
	h := hub.New(bus, hub.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(ctx)
	}()
	defer func() { cancel(); <-done }()
	if err := bus.Settle(ctx); err != nil {
		b.Fatal(err)
	}
	session := h.For(gateway.Caller{})
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		p, err := session.Put(ramp(float64(i)))
		if err != nil {
			b.Fatal(err)
		}
		<-p.Done()
	}
}

// BenchmarkResume is a connection that comes back after 1,000 events.
func BenchmarkResume(b *testing.B) {
	f := newFeed(10000, 100)
	h := benchWorld(b, f)
	session := h.For(gateway.Caller{})
	s := session.Open(gateway.StreamOptions{})
	defer s.Close()
	if _, err := s.Watch(gateway.WatchOptions{Match: gateway.MatchAll}); err != nil {
		b.Fatal(err)
	}
	f.run(0)
	events := s.Take(nil)
	cursor := events[len(events)-1].Cursor
	f.run(10)
	buf := s.Take(nil)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s := session.Open(gateway.StreamOptions{})
		if _, err := s.Watch(gateway.WatchOptions{Match: gateway.MatchAll, Cursor: cursor}); err != nil {
			b.Fatal(err)
		}
		f.run(0)
		if buf = s.Take(buf[:0]); len(buf) != 1001 {
			b.Fatalf("resumed with %d events", len(buf))
		}
		s.Close()
	}
}

// TestHeapOfAnAttribute measures the slope of the heap between 10,000 and
// 100,000 attributes with two samples each, everything that the hub keeps
// included: descriptor, samples, table.
func TestHeapOfAnAttribute(t *testing.T) {
	if testing.Short() {
		t.Skip("fills the heap")
	}
	heap := func(n int) float64 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		bus := hubtest.NewBus()
		h := hub.New(bus, hub.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = h.Serve(ctx)
		}()
		announce(bus, n)
		if err := bus.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		// Past the replay ring, which is bounded and not part of the slope.
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := h.Stats().Attributes; got != n {
			t.Errorf("%d attributes, want %d", got, n)
		}
		cancel()
		<-done
		return float64(after.HeapAlloc) - float64(before.HeapAlloc)
	}
	slope := (heap(100000) - heap(10000)) / 90000
	t.Logf("%.0f bytes of heap per attribute", slope)
	if slope > 1024 {
		t.Errorf("an attribute takes %.0f bytes of heap, more than 1 kB", slope)
	}
}

// announce says n attributes in pieces, as they come from a real bus: nothing
// of them is shared.
func announce(bus *hubtest.Bus, n int) {
	owner := gateway.Owner{Device: "dev", Instance: "i1", Term: 1}
	const size = 500
	for first := 0; first < n; first += size {
		a := &gateway.Announcement{
			Owner: owner, Revision: 1, Piece: first / size, Pieces: n / size, Offset: uint32(first),
			State: gateway.DeviceState{Connected: true},
		}
		for i := first; i < first+size; i++ {
			s := func() *gateway.Sample {
				return &gateway.Sample{Value: gateway.Of(float64(i)), Time: gateway.TimeOf(time.Now()), Seq: 1, Mask: gateway.MaskValue}
			}
			d := hubtest.Float(gateway.Path(fmt.Sprintf("dev.group%03d.v%05d", i/100, i)), readWrite)
			a.Attributes = append(a.Attributes, gateway.Announced{Descriptor: d, Readback: s(), Setpoint: s()})
		}
		bus.Post(a)
	}
}

// BenchmarkAnnounce is a device with 10,000 attributes that is announced again:
// by the same owner, as an answer to another hub, and by a new one.
func BenchmarkAnnounce(b *testing.B) {
	const n = 10000
	for _, kind := range []string{"again", "restart"} {
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			f := newFeed(n, 1)
			say := func(owner gateway.Owner) {
				var announced []gateway.Announced
				for _, d := range f.descriptors() {
					announced = append(announced, gateway.Announced{Descriptor: d, Readback: gateway.NeverRead})
				}
				b.StartTimer()
				f.Post(&gateway.Announcement{Owner: owner, Revision: 1, Pieces: 1, State: gateway.DeviceState{Connected: true}, Attributes: announced})
				f.run(0)
				b.StopTimer()
			}
			b.StopTimer()
			benchWorld(b, f)
			owner := f.owner
			for range b.N {
				if kind == "restart" {
					owner.Term++
				}
				say(owner)
			}
		})
	}
}
