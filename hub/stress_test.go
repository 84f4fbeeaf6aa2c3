package hub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// TestEverythingAtOnce has all methods called by many goroutines while devices
// change under them and the hub stops in the midst of it. The race detector
// and the leak check judge.
func TestEverythingAtOnce(t *testing.T) {
	bus := hubtest.NewBus()
	hot := hubtest.Float("oven.hot", readWrite)
	oven := hubtest.NewDevice(bus, "oven", ovenDescriptors()...)
	h := hub.New(bus, hub.Options{MaxPuts: 50, ReplayEvents: 20})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()

	rounds := 400
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			view := h.For(gateway.Caller{Protocol: fmt.Sprint(n)})
			s := view.Open(gateway.StreamOptions{MaxEvents: 8})
			defer s.Close()
			var ids []gateway.WatchID
			var cursor gateway.Cursor
			for range rounds {
				switch r.IntN(8) {
				case 0:
					id, err := s.Watch(gateway.WatchOptions{Match: gateway.MatchAll, Cursor: cursor, Every: r.IntN(2) == 0})
					if err == nil {
						ids = append(ids, id)
					}
				case 1:
					if len(ids) > 0 {
						s.Unwatch(ids[0])
						ids = ids[1:]
					}
				case 2:
					for _, e := range s.Take(nil) {
						cursor = e.Cursor
					}
				case 3:
					if p, err := view.Put(ramp(1)); err == nil {
						<-p.Accepted()
						<-p.Done()
						p.Verdict()
					}
				case 4:
					view.List(gateway.MatchAll, "", 2)
					view.Devices()
				case 5:
					h.Stats()
					h.Clients()
				case 6:
					_ = h.Alive(t.Context())
				default:
					_, _ = view.Get("oven.ramp")
				}
			}
		})
	}
	wg.Go(func() {
		for i := range rounds {
			switch i % 20 {
			case 3:
				oven.Redescribe(append(ovenDescriptors(), hot)...)
			case 7:
				oven.Redescribe(ovenDescriptors()...)
			case 11:
				oven.Restart(false)
				oven.Announce()
			case 13:
				oven.SetState(i%40 == 13, "")
			default:
				oven.Set("oven.actual", gateway.Of(float64(i)))
			}
			if i == rounds*3/4 {
				cancel()
			}
		}
	})
	wg.Wait()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if n := h.Stats().PendingPuts; n != 0 {
		t.Errorf("%d puts were forgotten", n)
	}
}

func TestStatsAndClients(t *testing.T) {
	inWorld(t, hub.Options{}, func(w *world, oven *hubtest.Device) {
		view := w.hub.For(gateway.Caller{Protocol: "rest", Peer: "127.0.0.1:9"})
		s := view.Open(gateway.StreamOptions{})
		defer s.Close()
		if _, err := s.Watch(all()); err != nil {
			t.Fatal(err)
		}
		oven.Set("oven.actual", gateway.Of(1.0))
		w.get("oven.actual")
		clients := w.hub.Clients()
		if len(clients) != 1 || clients[0].Peer != "127.0.0.1:9" || clients[0].Watches != 1 || clients[0].Queued == 0 {
			t.Errorf("clients %+v", clients)
		}
		st := w.hub.Stats()
		if st.Devices != 1 || st.Attributes != 3 || st.Streams != 1 || st.Events < 4 || st.Messages < 2 || st.LastReceive.IsZero() {
			t.Errorf("stats %+v", st)
		}
		take(s)
		if got := s.Stats(); got.Delivered < 4 || got.Queued != 0 {
			t.Errorf("stream %+v", got)
		}
	})
}
