package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/test/rig"
)

// The same as with processes, as often as these would take too long for: drivers
// with connections of their own claim the device and leave, at any moment of each
// other's lives.
func TestRivalsInOneProcessNeverWriteOnePutTwice(t *testing.T) {
	i := newInstrument(t)
	broker := bustest.Broker(t, embedded.Options{})
	subscription, err := bustest.Connect(t, broker).Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	view := hub.New(subscription, hub.Options{HeartbeatTimeout: 3500 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { _ = view.Serve(ctx) }) // it ends with ctx
	session := view.For(gateway.Caller{Protocol: "test"})
	const path = gateway.Path("oven.value")

	var clients sync.WaitGroup
	verdicts := make([]map[int]gateway.Verdict, 4)
	for client := range verdicts {
		own := map[int]gateway.Verdict{}
		verdicts[client] = own
		clients.Go(func() {
			for value := client + 1; ctx.Err() == nil; value += len(verdicts) {
				v := gateway.Verdict{Stage: gateway.StageRefused}
				pending, err := session.Put(gateway.PutRequest{Path: path, Value: gateway.Of(int32(value)), Budget: 2 * time.Second})
				if err == nil {
					v = gateway.Wait(context.Background(), pending)
				}
				if own[value] = v; v.Stage <= gateway.StageRefused {
					<-time.After(time.Millisecond) // as a client would that is told to come back later
				}
			}
		})
	}

	const rounds = 100
	stops := make([]context.CancelFunc, rounds)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range rounds {
		driverCtx, stop := context.WithCancel(ctx)
		stops[n] = stop
		skip := len(i.got())
		supervisor, line := newRival(t, i, deviceBus{bustest.Connect(t, broker)})
		parts.Go(func() { _ = line.Serve(driverCtx) })
		parts.Go(func() {
			if err := supervisor.Serve(driverCtx); err != nil {
				t.Error(err)
			}
		})
		if wait := random.IntN(20); wait > 0 { // else the next claims it at once, too
			i.await(0, "puts from the new owner", i.putsOfNew(skip, wait))
		}
		if n > 0 && random.IntN(3) > 0 {
			stops[n-1]() // else it finds out by itself that it was followed
		}
	}
	done := func() bool {
		a, err := session.Get(path)
		return err == nil && a.Availability == gateway.Available
	}
	if !rig.Until(rig.Limit, done) {
		t.Error("the last driver does not own the device")
	}
	cancel()
	clients.Wait()
	parts.Wait()
	subscription.Close()

	written := map[string]int{}
	for _, r := range i.got() {
		written[r.text]++
	}
	outcomes := map[string]int{}
	for _, own := range verdicts {
		for value, v := range own {
			kind := gateway.KindOK
			if v.Err != nil {
				kind = v.Err.Kind
			}
			outcomes[kind.String()+" "+v.Stage.String()]++
			writes := written[fmt.Sprintf("V=%d", value)]
			switch {
			case writes > 1,
				v.Stage >= gateway.StageSent && v.Err == nil && writes != 1,
				v.Stage < gateway.StageSent && writes != 0:
				t.Errorf("%d was written %d times: %s, %v", value, writes, v.Stage, v.Err)
			}
		}
	}
	t.Log(outcomes)
	if outcomes["ok verified"] < rounds {
		t.Errorf("hardly any put was done: %v", outcomes)
	}
}

// newRival makes a driver of the instrument with a line of its own.
func newRival(t *testing.T, i *instrument, b device.Bus) (*device.Supervisor, *link.Line) {
	t.Helper()
	var file struct {
		Devices struct {
			Oven struct {
				serial.Config `yaml:",inline"`
			} `yaml:"oven"`
		} `yaml:"devices"`
	}
	if err := yaml.Load([]byte(oven(i.address())), &file); err != nil {
		t.Fatal(err)
	}
	line := link.NewLine("line1", link.TCP{Address: i.address()})
	driver, err := serial.New("oven", file.Devices.Oven.Config, line, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	supervisor, err := device.New("oven", driver, b, device.Options{Heartbeat: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return supervisor, line
}
