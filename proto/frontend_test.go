package proto

import (
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	pbproto "google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// pbShown is a sample as clients see it: with the worse alarm and the label.
func pbShown(a *gateway.Attribute, s *gateway.Sample, mask gateway.Mask) *pb.Sample {
	if s == nil {
		return nil
	}
	shown := *s
	shown.Alarm = s.Alarm.Worse(a.Availability.Alarm(a.Words))
	shown.Mask = mask
	to := pbSample(&shown)
	if s.Value.Kind() == gateway.Enum {
		to.Label, _ = a.Label(s.Value.Index())
	}
	return to
}

func pbAttribute(a *gateway.Attribute, describe bool) *pb.Attribute {
	to := &pb.Attribute{
		Path: string(a.Path), Availability: pb.Availability(a.Availability), AvailableSinceNs: pbTime(a.AvailableSince), Words: a.Words,
	}
	if a.Readback != nil {
		to.Readback = pbShown(a, a.Readback, a.Readback.Mask)
	}
	if a.Setpoint != nil {
		to.Setpoint = pbShown(a, a.Setpoint, a.Setpoint.Mask)
	}
	if describe {
		to.Descriptor_ = pbDescriptor(a.Descriptor)
	}
	return to
}

// attributes are one of each kind of value, in each availability.
func attributes() []*gateway.Attribute {
	var list []*gateway.Attribute
	for i, v := range values() {
		d := descriptor("oven.x", gateway.AccessReadWrite, v.Kind())
		if v.Kind() == gateway.Enum {
			d.States = []gateway.State{{Label: "Off"}, {Label: "On"}}
		}
		a := &gateway.Attribute{
			Descriptor: d, Readback: exampleSample(v), Setpoint: &gateway.Sample{Value: v, Seq: uint64(i)},
			Standing: &gateway.Standing{Availability: gateway.Availability(i % 5), AvailableSince: noon.Add(time.Duration(i))},
		}
		if i%2 == 1 {
			a.Words, a.Setpoint = "unplugged", nil
		}
		list = append(list, a)
	}
	return append(list, &gateway.Attribute{Descriptor: fullDescriptor(), Readback: gateway.NeverRead, Standing: &gateway.Standing{}})
}

func checkTwin(t *testing.T, b []byte, err error, got, want pbproto.Message) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := pbproto.Unmarshal(b, got); err != nil {
		t.Fatal(err)
	}
	if !pbproto.Equal(got, want) {
		t.Errorf("got %s\nwant %s", prototext.Format(got), prototext.Format(want))
	}
}

func TestAttributesAsClientsSeeThem(t *testing.T) {
	for _, describe := range []bool{false, true} {
		var b []byte
		want := &pb.GetResponse{}
		for _, a := range attributes() {
			var err error
			if b, err = AppendAttribute(b, a, describe); err != nil {
				t.Fatal(err)
			}
			want.Attributes = append(want.Attributes, pbAttribute(a, describe))
		}
		checkTwin(t, b, nil, &pb.GetResponse{}, want)
	}
}

func TestEventsAsClientsSeeThem(t *testing.T) {
	for _, describe := range []bool{false, true} {
		b := []byte{}
		want := &pb.WatchResponse{}
		add := func(e *gateway.Event, twin *pb.Event) {
			t.Helper()
			var err error
			if b, err = AppendEvent(b, e, describe); err != nil {
				t.Fatal(err)
			}
			want.Events = append(want.Events, twin)
		}
		for i, a := range attributes() {
			path := string(a.Path)
			mask := gateway.Mask(i % 16)
			add(&gateway.Event{Type: gateway.EventSample, Attribute: a, Role: gateway.Readback, Mask: mask, Lost: uint32(i)},
				&pb.Event{Type: pb.EventType_EVENT_TYPE_SAMPLE, Path: path, Role: pb.Role_ROLE_READBACK, Sample: pbShown(a, a.Readback, mask), Lost: uint32(i)})
			add(&gateway.Event{Type: gateway.EventAdded, Attribute: a, Lost: uint32(i)},
				&pb.Event{Type: pb.EventType_EVENT_TYPE_ADDED, Path: path, Attribute: pbAttribute(a, describe), Lost: uint32(i)})
			add(&gateway.Event{Type: gateway.EventAvailability, Attribute: a},
				&pb.Event{Type: pb.EventType_EVENT_TYPE_AVAILABILITY, Path: path, Attribute: pbAttribute(a, false)})
			add(&gateway.Event{Type: gateway.EventDescribed, Attribute: a},
				&pb.Event{Type: pb.EventType_EVENT_TYPE_DESCRIBED, Path: path, Attribute: &pb.Attribute{Path: path, Descriptor_: pbDescriptor(a.Descriptor)}})
			add(&gateway.Event{Type: gateway.EventRemoved, Attribute: a}, &pb.Event{Type: pb.EventType_EVENT_TYPE_REMOVED, Path: path})
		}
		add(&gateway.Event{Type: gateway.EventSynced}, &pb.Event{Type: pb.EventType_EVENT_TYPE_SYNCED})
		add(&gateway.Event{Type: gateway.EventGap}, &pb.Event{Type: pb.EventType_EVENT_TYPE_GAP})
		cursor := gateway.Cursor{Epoch: 77, N: 12345}
		b = AppendBatchEnd(b, cursor, 99)
		want.Cursor, want.Lost = cursor.String(), 99
		checkTwin(t, b, nil, &pb.WatchResponse{}, want)
	}
	if b := AppendBatchEnd(nil, gateway.Cursor{}, 0); len(b) != 0 {
		t.Errorf("a batch with nothing in it has the bytes %x", b)
	}
}

func TestVerdictsAsClientsSeeThem(t *testing.T) {
	a := attributes()[0] // which is connected
	for _, v := range verdicts() {
		b, err := AppendVerdict(nil, a, &v.Verdict)
		checkTwin(t, b, err, &pb.PutResponse{}, &pb.PutResponse{Verdict: pbPutVerdict(v).GetVerdict()})
	}
}

func TestDescriptionsAsClientsSeeThem(t *testing.T) {
	d := &gateway.Device{
		Name: "oven", DeviceInfo: gateway.DeviceInfo{Description: "hot", Driver: "serial", Annotations: map[string]string{"ca.prefix": "OVEN"}},
		Availability: gateway.DriverLost, Since: noon, Words: "left", Attributes: 300, Stale: 2, Owner: owner,
	}
	b, err := AppendDevice(nil, d)
	if err == nil {
		b, err = AppendDescriptor(b, fullDescriptor())
	}
	checkTwin(t, b, err, &pb.DescribeResponse{}, &pb.DescribeResponse{
		Devices: []*pb.Device{{
			Name: "oven", Info: &pb.DeviceInfo{Description: "hot", Driver: "serial", Annotations: d.Annotations},
			Availability: pb.Availability_AVAILABILITY_DRIVER_LOST, SinceNs: noon.UnixNano(), Words: "left", Attributes: 300, Stale: 2,
			Instance: owner.Instance, Term: owner.Term,
		}},
		Descriptors: []*pb.Descriptor{pbDescriptor(fullDescriptor())},
	})
}

func TestNumbersForClientsAreThoseOfTheModel(t *testing.T) {
	for number, name := range map[int32]string{
		int32(gateway.EventAdded): "EVENT_TYPE_ADDED", int32(gateway.EventSynced): "EVENT_TYPE_SYNCED",
		int32(gateway.EventSample): "EVENT_TYPE_SAMPLE", int32(gateway.EventAvailability): "EVENT_TYPE_AVAILABILITY",
		int32(gateway.EventDescribed): "EVENT_TYPE_DESCRIBED", int32(gateway.EventRemoved): "EVENT_TYPE_REMOVED",
		int32(gateway.EventGap): "EVENT_TYPE_GAP",
	} {
		if got := pb.EventType_name[number]; got != name {
			t.Errorf("event type %d is %s, want %s", number, got, name)
		}
	}
	for number, name := range map[int32]string{
		int32(gateway.Available): "AVAILABILITY_CONNECTED", int32(gateway.Stale): "AVAILABILITY_STALE",
		int32(gateway.Disconnected): "AVAILABILITY_DISCONNECTED", int32(gateway.DriverLost): "AVAILABILITY_DRIVER_LOST",
		int32(gateway.BusLost): "AVAILABILITY_BUS_LOST",
	} {
		if got := pb.Availability_name[number]; got != name {
			t.Errorf("availability %d is %s, want %s", number, got, name)
		}
	}
}

// Values that clients send come through generated code first.
func TestValuesOfClientsAreRead(t *testing.T) {
	for _, v := range values() {
		b, err := pbproto.Marshal(pbValue(v))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeValue(b)
		if err != nil || !got.Equal(v) || got.IsArray() != v.IsArray() {
			t.Errorf("%v came as %v: %v", v, got, err)
		}
	}
	for _, bad := range []*pb.Value{
		{Value: &pb.Value_Int8Value{Int8Value: 128}}, {Value: &pb.Value_Uint16Value{Uint16Value: 1 << 16}},
	} {
		b, err := pbproto.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := DecodeValue(b); err == nil {
			t.Errorf("%v was read as %v", bad, v)
		}
	}
}
