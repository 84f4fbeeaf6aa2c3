package frontendtest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// Limit is how long a test waits for what must happen. It is long, since it
// only matters when a test fails.
const Limit = time.Minute

// A World is a real hub with scripted devices.
type World struct {
	View gateway.View
	Hub  *hub.Hub
	// Rig is a device with the attributes of RigDescriptors.
	Rig *hubtest.Device
	// Line is what Rig is on; more devices can be added to it.
	Line hubtest.Line
	// Bus is the scripted bus, or nil where the bus is a real one.
	Bus *hubtest.Bus

	tb      testing.TB
	marker  *hubtest.Device
	markers atomic.Int64
}

// NewScripted makes a world on a scripted bus in memory. It ends with the test.
func NewScripted(tb testing.TB) *World {
	tb.Helper()
	bus := hubtest.NewBus()
	return newWorld(tb, bus, bus, hub.Options{}, bus)
}

func newWorld(tb testing.TB, ear hub.Bus, line hubtest.Line, opts hub.Options, bus *hubtest.Bus) *World {
	tb.Helper()
	h := hub.New(ear, opts)
	Serve(tb, h.Serve)
	w := &World{View: h, Hub: h, Line: line, Bus: bus, tb: tb}
	w.marker = hubtest.NewDevice(line, "marker", hubtest.Float("marker.n", gateway.AccessRead))
	w.Rig = hubtest.NewDevice(line, "rig", RigDescriptors()...)
	w.Settle()
	return w
}

// Settle waits until the hub has handled all that the devices have said before.
func (w *World) Settle() {
	w.tb.Helper()
	want := gateway.Of(float64(w.markers.Add(1)))
	s := w.View.For(gateway.Caller{Protocol: "marker"}).Open(gateway.StreamOptions{})
	defer s.Close()
	if _, err := s.Watch(gateway.WatchOptions{Match: gateway.PatternOf("marker.n")}); err != nil {
		w.tb.Fatal(err)
	}
	// All devices share a line, so what comes behind the mark was said behind it.
	w.marker.Set("marker.n", want)
	deadline := time.NewTimer(Limit)
	defer deadline.Stop()
	for {
		for _, e := range s.Take(nil) {
			if e.Attribute != nil && e.Attribute.Readback.Value.Equal(want) {
				return
			}
		}
		select {
		case <-s.Ready():
		case <-deadline.C:
			w.tb.Fatalf("the hub has not handled what was said within %v", Limit)
		}
	}
}

// Attribute returns what the hub knows of an attribute.
func (w *World) Attribute(path gateway.Path) *gateway.Attribute {
	w.tb.Helper()
	a, err := w.View.For(gateway.Caller{}).Get(path)
	if err != nil {
		w.tb.Fatal(err)
	}
	return a
}

// Client returns the counters of the open streams of a protocol.
func (w *World) clients(protocol string) []hub.Client {
	var list []hub.Client
	for _, c := range w.Hub.Clients() {
		if c.Protocol == protocol {
			list = append(list, c)
		}
	}
	return list
}

// WaveLength is the number of elements of rig.wave.
const WaveLength = 8192

// RigDescriptors returns what the device "rig" has:
//
//	level    r  float64, K
//	target   rw float64, 0 ... 100
//	count    rw int32
//	big      rw uint64
//	on       rw bool
//	mode     rw enum Off, On, Fault
//	label    rw string of up to 16 bytes
//	wave     r  float64 array of WaveLength
//	trigger  w  float64
//	reset    command
//	f0...f9  r  float64
func RigDescriptors() []*gateway.Descriptor {
	rw := gateway.AccessReadWrite
	of := func(path gateway.Path, access gateway.Access, t gateway.Type) *gateway.Descriptor {
		return &gateway.Descriptor{Path: path, Description: "scripted " + path.Attribute(), Traits: &gateway.Traits{Access: access, Type: t}}
	}
	list := []*gateway.Descriptor{
		of("rig.level", gateway.AccessRead, gateway.Type{Kind: gateway.Float64, Units: "K", Precision: 3, PrecisionSet: true}),
		of("rig.target", rw, gateway.Type{Kind: gateway.Float64, Control: gateway.Range{Low: gateway.At(0), High: gateway.At(100)}}),
		of("rig.count", rw, gateway.Type{Kind: gateway.Int32}),
		of("rig.big", rw, gateway.Type{Kind: gateway.Uint64}),
		of("rig.on", rw, gateway.Type{Kind: gateway.Bool}),
		of("rig.mode", rw, gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "On"}, {Label: "Fault", Severity: gateway.Major}}}),
		of("rig.label", rw, gateway.Type{Kind: gateway.String, MaxLength: 16}),
		of("rig.wave", gateway.AccessRead, gateway.Type{Kind: gateway.Float64, Shape: []int{WaveLength}}),
		of("rig.trigger", gateway.AccessWrite, gateway.Type{Kind: gateway.Float64}),
		hubtest.Command("rig.reset"),
	}
	for i := range floodWidth {
		list = append(list, of(floodPath(i), gateway.AccessRead, gateway.Type{Kind: gateway.Float64}))
	}
	return list
}

const floodWidth = 10

func floodPath(i int) gateway.Path { return gateway.Path(fmt.Sprintf("rig.f%d", i)) }
