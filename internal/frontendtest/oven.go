package frontendtest

import (
	"context"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// An Oven is a real hub on a scripted bus with a single device, "oven", that has
// an attribute of every sort: for tests of how a frontend shows each. World is
// for those of what all frontends do.
type Oven struct {
	Hub    *hub.Hub
	Bus    *hubtest.Bus
	Device *hubtest.Device

	tb testing.TB
}

// NewOven makes an oven. It ends with the test.
func NewOven(tb testing.TB) *Oven {
	tb.Helper()
	bus := hubtest.NewBus()
	o := &Oven{Hub: hub.New(bus, hub.Options{}), Bus: bus, tb: tb}
	Serve(tb, o.Hub.Serve)
	o.Device = hubtest.NewDevice(bus, "oven", OvenDescriptors()...)
	o.Settle()
	return o
}

// Settle waits until the hub has handled everything that was said.
func (o *Oven) Settle() {
	o.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	if err := o.Bus.Settle(ctx); err != nil {
		o.tb.Fatal(err)
	}
}

// Set makes the device say a new readback and waits until the hub has it.
func (o *Oven) Set(path gateway.Path, v gateway.Value) {
	o.tb.Helper()
	o.Device.Set(path, v)
	o.Settle()
}

// OvenDescriptors returns what the device "oven" has.
func OvenDescriptors() []*gateway.Descriptor {
	rw := gateway.AccessReadWrite
	of := func(path gateway.Path, access gateway.Access, t gateway.Type) *gateway.Descriptor {
		return &gateway.Descriptor{Path: path, Traits: &gateway.Traits{Access: access, Type: t}}
	}
	states := []gateway.State{{Label: "Off"}, {Label: "On", Raw: "1"}, {Label: "Fault", Severity: gateway.Major}}
	ramp := of("oven.ramp", rw, gateway.Type{
		Kind: gateway.Float64, Units: "K/s", Precision: 3, PrecisionSet: true,
		Control: gateway.Range{Low: gateway.At(-10), High: gateway.At(10)},
	})
	ramp.Description, ramp.Poll = "How fast the oven heats", 200*time.Millisecond
	ramp.Alarm.High = gateway.Level{Limit: gateway.At(8), Severity: gateway.Minor}
	ramp.Annotations = map[string]string{"ca.name": "OVEN:Ramp"}
	move := hubtest.Command("oven.move")
	move.Argument = &gateway.Type{Kind: gateway.Float64, Units: "mm"}
	move.Result = &gateway.Type{Kind: gateway.String}
	return []*gateway.Descriptor{
		of("oven.actual", gateway.AccessRead, gateway.Type{Kind: gateway.Float64}),
		ramp,
		of("oven.free", rw, gateway.Type{Kind: gateway.Float64}),
		of("oven.mode", rw, gateway.Type{Kind: gateway.Enum, States: states}),
		of("oven.count", rw, gateway.Type{Kind: gateway.Int64}),
		of("oven.total", rw, gateway.Type{Kind: gateway.Uint64}),
		of("oven.text", rw, gateway.Type{Kind: gateway.String, MaxLength: 100}),
		of("oven.raw", rw, gateway.Type{Kind: gateway.Bytes}),
		of("oven.wave", rw, gateway.Type{Kind: gateway.Float64, Shape: []int{100000}}),
		of("oven.grid", gateway.AccessRead, gateway.Type{Kind: gateway.Int32, Shape: []int{4, 3}}),
		of("oven.secret", gateway.AccessWrite, gateway.Type{Kind: gateway.Float64}),
		of("oven.flag", rw, gateway.Type{Kind: gateway.Bool}),
		hubtest.Command("oven.cancel"),
		move,
	}
}
