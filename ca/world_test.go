package ca

import (
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
)

// A world is a scripted device "x" behind a hub and the frontend.
type world struct {
	*frontendtest.World
	t      testing.TB
	device *hubtest.Device
	server *Server
	stop   func()
}

func newWorld(t testing.TB, descriptors ...*gateway.Descriptor) *world {
	t.Helper()
	return newWorldWith(t, Config{}, descriptors...)
}

func newWorldWith(t testing.TB, cfg Config, descriptors ...*gateway.Descriptor) *world {
	t.Helper()
	w := &world{World: frontendtest.NewScripted(t), t: t}
	w.device = hubtest.NewDevice(w.Line, "x", descriptors...)
	w.Settle()
	w.serve(cfg)
	return w
}

// serve starts a frontend, which ends with the test or by w.stop.
func (w *world) serve(cfg Config) {
	w.t.Helper()
	server, stop := serve(w.t, w.View, cfg)
	stopped := false
	w.server = server
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		if err := stop(w.t.Context()); err != nil && w.t.Context().Err() == nil {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(w.stop)
	<-server.directory.synced
}

func (w *world) dial() *tester {
	w.t.Helper()
	return dialTester(w.t, w.server.Addr().String(), cawire.MinorCurrent)
}

// attribute describes one of device x.
func attribute(name string, access gateway.Access, t gateway.Type) *gateway.Descriptor {
	return &gateway.Descriptor{Path: gateway.Path("x." + name), Traits: &gateway.Traits{Access: access, Type: t}}
}

// Short names for what tests say often.
var (
	r  = gateway.AccessRead
	rw = gateway.AccessReadWrite
)

func float(name string, access gateway.Access) *gateway.Descriptor {
	return attribute(name, access, gateway.Type{Kind: gateway.Float64})
}

func str(name string, access gateway.Access, length int) *gateway.Descriptor {
	return attribute(name, access, gateway.Type{Kind: gateway.String, MaxLength: length})
}

// update says new values of readbacks, and waits until the hub has them.
func (w *world) update(changes ...hubtest.Change) {
	w.t.Helper()
	w.device.Update(changes...)
	w.Settle()
}

func change(name string, v gateway.Value) hubtest.Change {
	return hubtest.Change{Path: gateway.Path("x." + name), Role: gateway.Readback, Value: v}
}

func (c *tester) subscribe(sid uint32, typ cawire.Type, mask cawire.Mask) uint32 {
	c.t.Helper()
	id := c.id()
	c.mustSend(&cawire.EventAdd{Type: typ, SID: sid, SubscriptionID: id, Mask: mask})
	return id
}

// doubles decodes an event.
func doubles(t testing.TB, e *cawire.Event) (cawire.Meta, []float64) {
	t.Helper()
	var meta cawire.Meta
	var v cawire.Values
	if err := cawire.DecodeDBR(e.Type, e.Count, e.Payload, &meta, &v); err != nil {
		t.Fatal(err)
	}
	return meta, v.Doubles
}
