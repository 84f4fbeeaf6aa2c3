package frontendtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// These tests are about the hub on a real bus. They are here because neither of
// the two knows the other.

// awaitEvent takes events until one fits.
func awaitEvent(t *testing.T, s gateway.Stream, what string, fits func(*gateway.Event) bool) {
	t.Helper()
	limit := time.NewTimer(Limit)
	defer limit.Stop()
	for {
		for _, e := range s.Take(nil) {
			if fits(&e) {
				return
			}
		}
		select {
		case <-s.Ready():
		case <-limit.C:
			t.Fatalf("%s did not come", what)
		}
	}
}

func openWatch(t *testing.T, view gateway.View, path gateway.Path) gateway.Stream {
	t.Helper()
	s := view.For(gateway.Caller{}).Open(gateway.StreamOptions{})
	t.Cleanup(s.Close)
	if _, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf(path)}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBrokerAwayAndBack(t *testing.T) {
	broker := bustest.Broker(t, embedded.Options{Listen: "127.0.0.1:0"})
	url := broker.URL()
	dial := func() *bus.Conn { return bustest.Dial(t, bus.Options{Config: bus.Config{URL: url}}) }
	w := onBroker(t, dial(), dial())
	w.Rig.Set("rig.target", gateway.Of(1.0))
	w.Settle()
	s := openWatch(t, w.View, "rig.target")

	broker.Shutdown()
	awaitEvent(t, s, "the loss of the bus", func(e *gateway.Event) bool {
		return e.Type == gateway.EventAvailability && e.Attribute.Availability == gateway.BusLost
	})
	view := w.View.For(gateway.Caller{})
	put := gateway.PutRequest{Path: "rig.target", Value: gateway.Of(5.0)}
	if _, err := view.Put(put); gateway.KindOf(err) != gateway.KindBusDown {
		t.Errorf("a put without a bus: %v", err)
	}
	w.Rig.Set("rig.target", gateway.Of(2.0)) // nobody hears that

	bustest.Broker(t, embedded.Options{Listen: url[len("nats://"):]})
	awaitEvent(t, s, "the return of the bus", func(e *gateway.Event) bool {
		if e.Attribute == nil || e.Attribute.Availability != gateway.Available {
			return false
		}
		if got := e.Attribute.Readback.Value.Float(); got != 2 {
			t.Errorf("the old value %v is shown as good", got)
		}
		return true
	})
	p, err := view.Put(put)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	if v := gateway.Wait(ctx, p); v.Err != nil || w.Attribute("rig.target").Readback.Value.Float() != 5 {
		t.Errorf("a put after the return: %+v", v)
	}
}

// TestLateHubOnABroker has a second hub join when everything has been said.
func TestLateHubOnABroker(t *testing.T) {
	const n = 10000
	broker := bustest.Broker(t, embedded.Options{Listen: "127.0.0.1:0"})
	dial := func() *bus.Conn { return bustest.Dial(t, bus.Options{Config: bus.Config{URL: broker.URL()}}) }
	line := newBrokerLine(t, dial())
	descriptors := make([]*gateway.Descriptor, n)
	for i := range descriptors {
		descriptors[i] = hubtest.Float(gateway.Path(fmt.Sprintf("big.v%05d", i)), gateway.AccessReadWrite)
	}
	d := hubtest.NewDevice(line, "big", descriptors...)
	for _, desc := range descriptors[n-10:] {
		d.Set(desc.Path, gateway.Of(7.0))
	}

	ear, err := dial().Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	h := hub.New(ear, hub.Options{})
	last := descriptors[n-1].Path
	s := openWatch(t, h, last)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- h.Serve(ctx) }()
	awaitEvent(t, s, "the last attribute", func(e *gateway.Event) bool { return e.Type == gateway.EventAdded })
	t.Logf("%d attributes after %v", n, time.Since(began))
	for _, desc := range descriptors[n-10:] {
		a, err := h.For(gateway.Caller{}).Get(desc.Path)
		if err != nil || a.Readback.Value.Float() != 7 || a.Availability != gateway.Available {
			t.Fatalf("%s is %+v, %v", desc.Path, a, err)
		}
	}
	if got := h.Stats().Attributes; got != n {
		t.Errorf("%d attributes, want %d", got, n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
