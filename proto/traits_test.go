package proto

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

func TestEqualTraitsOfAnAnnouncementAreKeptOnce(t *testing.T) {
	named := func(path gateway.Path) *gateway.Descriptor {
		d := fullDescriptor()
		d.Path = path
		return d
	}
	other := named("oven.other")
	other.Units = "V"
	all := []*gateway.Descriptor{named("oven.a"), named("oven.b"), other}
	a := &gateway.Announcement{Owner: owner, Pieces: 1}
	for _, d := range all {
		a.Attributes = append(a.Attributes, gateway.Announced{
			Descriptor: d, Readback: gateway.NeverRead, Setpoint: gateway.NeverRead,
		})
	}
	b, err := AppendAnnouncement(nil, a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := new(Decoder).Announcement(b)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range all {
		if diff := cmp.Diff(want, got.Attributes[i].Descriptor); diff != "" {
			t.Errorf("%s: %s", want.Path, diff)
		}
	}
	first := got.Attributes[0].Descriptor.Traits
	if got.Attributes[1].Descriptor.Traits != first {
		t.Error("equal traits are kept twice")
	}
	if got.Attributes[2].Descriptor.Traits == first {
		t.Error("other traits are taken for the same")
	}
}

// A message that comes again is merged, as protobuf asks.
func TestADescriptorMayComeInParts(t *testing.T) {
	want := fullDescriptor()
	whole, err := AppendAnnounced(nil, &gateway.Announced{Descriptor: want, Readback: gateway.NeverRead, Setpoint: gateway.NeverRead})
	if err != nil {
		t.Fatal(err)
	}
	message, _ := protowire.ConsumeBytes(whole[1:])
	descriptor, n := protowire.ConsumeBytes(message[1:])
	samples := message[1+n:]
	var parts []byte
	for len(descriptor) > 0 { // each field in a message of its own
		_, _, n := protowire.ConsumeField(descriptor)
		parts = protowire.AppendTag(parts, 1, protowire.BytesType)
		parts = protowire.AppendBytes(parts, descriptor[:n])
		descriptor = descriptor[n:]
	}
	var got gateway.Announced
	if err := new(Decoder).announced(append(parts, samples...), &got, knownTraits{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Descriptor); diff != "" {
		t.Error(diff)
	}
}
