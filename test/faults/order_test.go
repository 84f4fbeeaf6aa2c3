package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/test/rig"
)

// One client sets an attribute and reads it, again and again, over REST: the
// read never shows what was there before.
func TestNoReadAfterAPutShowsTheOldValue(t *testing.T) {
	const puts = 3000
	g := program.Start(t, "soft", withREST+"ops: {listen: \"\"}\ndevices: {soft: {driver: soft, count: 10}}\n")
	g.AwaitGood("soft.v00003")
	seq := g.Get("soft.v00003").Seq
	for value := 1; value <= puts; value++ {
		put := g.Put("soft.v00003", fmt.Sprint(value), "")
		if put.Status != http.StatusOK || put.Number() != float64(value) || put.Setpoint.Number() != float64(value) {
			t.Fatalf("put of %d: %d %s", value, put.Status, put.Body)
		}
		got := g.Get("soft.v00003")
		if got.Number() != float64(value) || got.Setpoint.Number() != float64(value) || got.Seq <= seq {
			t.Fatalf("read after the put of %d: %s", value, got.Body)
		}
		seq = got.Seq
	}
}

// The same fifty thousand times, with driver, broker and hub in this process.
func TestNoReadAfterOneOf50000PutsShowsTheOldValue(t *testing.T) {
	const puts = 50_000
	session := softStack(t)
	const path = gateway.Path("soft.v00003")
	appears := func() bool {
		a, err := session.Get(path)
		return err == nil && a.Availability == gateway.Available && a.Readback.Value.Known()
	}
	if !rig.Until(rig.Limit, appears) {
		t.Fatal("the attribute does not appear")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	seq := uint64(0)
	for n := 1; n <= puts; n++ {
		want := gateway.Of(float64(n))
		pending, err := session.Put(gateway.PutRequest{Path: path, Value: want})
		if err != nil {
			t.Fatal(err)
		}
		v := gateway.Wait(ctx, pending)
		if v.Err != nil || v.Stage != gateway.StageVerified || !v.Readback.Value.Equal(want) || !v.Setpoint.Value.Equal(want) {
			t.Fatalf("put %d: %+v", n, v)
		}
		a, err := session.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		if !a.Readback.Value.Equal(want) || !a.Setpoint.Value.Equal(want) || a.Readback.Seq <= seq {
			t.Fatalf("read after put %d: %+v", n, a)
		}
		seq = a.Readback.Seq
	}
}

// softStack runs a soft device, a broker and a hub until the test ends.
func softStack(t *testing.T) gateway.Session {
	t.Helper()
	conn := bustest.New(t)
	subscription, err := conn.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	driver, err := sim.NewSoft("soft", sim.SoftConfig{Count: 10}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := device.New("soft", driver, deviceBus{conn}, device.Options{})
	if err != nil {
		t.Fatal(err)
	}
	view := hub.New(subscription, hub.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	for _, serve := range []func(context.Context) error{supervisor.Serve, view.Serve} {
		parts.Go(func() {
			if err := serve(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		parts.Wait()
		subscription.Close()
	})
	return view.For(gateway.Caller{Protocol: "test"})
}

// deviceBus gives the bus the shape that package device asks for.
type deviceBus struct{ *bus.Conn }

func (b deviceBus) Own(owner gateway.Owner, h device.Handler) (release func(), err error) {
	return b.Conn.Own(owner, h)
}
