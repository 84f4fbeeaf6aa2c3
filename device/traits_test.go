package device_test

import (
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

func TestEqualTraitsAreKeptOnce(t *testing.T) {
	of := func(change func(*gateway.Traits)) *gateway.Traits {
		traits := &gateway.Traits{Access: gateway.AccessReadWrite, Type: gateway.Type{
			Kind: gateway.Enum, States: []gateway.State{{Label: "Off"}, {Label: "On"}},
		}}
		change(traits)
		return traits
	}
	same := func(*gateway.Traits) {}
	m := device.Model{Attributes: []gateway.Descriptor{
		{Path: "oven.a", Traits: of(same)},
		{Path: "oven.b", Traits: of(same), Description: "with a description"},
		{Path: "oven.poll", Traits: of(func(t *gateway.Traits) { t.Poll = time.Second })},
		{Path: "oven.label", Traits: of(func(t *gateway.Traits) { t.States[1].Label = "Fault" })},
		{Path: "oven.always", Traits: of(func(t *gateway.Traits) { t.Always = true })},
	}}
	if _, err := device.New("oven", &devicetest.Script{Has: m}, devicetest.NewBus(), device.Options{}); err != nil {
		t.Fatal(err)
	}
	first := m.Attributes[0].Traits
	if m.Attributes[1].Traits != first {
		t.Error("equal traits are kept twice")
	}
	for _, d := range m.Attributes[2:] {
		if d.Traits == first {
			t.Errorf("%s has the traits of another", d.Path)
		}
	}
}
