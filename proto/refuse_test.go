package proto

import (
	"strings"
	"testing"

	pbproto "google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

func marshal(t *testing.T, m pbproto.Message) []byte {
	t.Helper()
	// Go's own encoder refuses bad text, too: it is put in by patched.
	b, err := pbproto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// patched replaces text in an encoded message with as many other bytes.
func patched(t *testing.T, m pbproto.Message, old, replacement string) []byte {
	t.Helper()
	return []byte(strings.ReplaceAll(string(marshal(t, m)), old, replacement))
}

func update(s *pb.SampleUpdate) *pb.Update {
	return &pb.Update{Owner: pbOwner(owner), Samples: []*pb.SampleUpdate{s}}
}

func valueUpdate(v *pb.Value) *pb.Update {
	return update(&pb.SampleUpdate{Role: pb.Role_ROLE_READBACK, Sample: &pb.Sample{Value: v}})
}

func announcement(d *pb.Descriptor, readback, setpoint *pb.Sample) *pb.Announcement {
	return &pb.Announcement{
		Owner: pbOwner(owner), Pieces: 1,
		Attributes: []*pb.Announced{{Descriptor_: d, Readback: readback, Setpoint: setpoint}},
	}
}

func TestUpdatesThatAreRefused(t *testing.T) {
	text := &pb.Value{Value: &pb.Value_StringValue{StringValue: "????"}}
	tests := []struct {
		name, want string
		b          []byte
	}{
		{"no owner", "device: a segment is empty", marshal(t, &pb.Update{})},
		{"no instance", "instance of oven", marshal(t, &pb.Update{Owner: &pb.Owner{Device: "oven"}})},
		{"a device with a dot", "has '.'", marshal(t, &pb.Update{Owner: &pb.Owner{Device: "a.b", Instance: "i"}})},
		{"no sample", "no sample", marshal(t, update(&pb.SampleUpdate{Role: pb.Role_ROLE_READBACK}))},
		{"no role", "role", marshal(t, update(&pb.SampleUpdate{Sample: &pb.Sample{}}))},
		{"both roles", "role", marshal(t, update(&pb.SampleUpdate{Role: 3, Sample: &pb.Sample{}}))},
		{"an absurd index", "too large", marshal(t, update(&pb.SampleUpdate{Index: 1 << 31, Role: 1, Sample: &pb.Sample{}}))},
		{"int8 of 128", "128 does not fit", marshal(t, valueUpdate(&pb.Value{Value: &pb.Value_Int8Value{Int8Value: 128}}))},
		{"uint16 of 65536", "65536 does not fit", marshal(t, valueUpdate(&pb.Value{Value: &pb.Value_Uint16Value{Uint16Value: 1 << 16}}))},
		{"int16 array", "40000 does not fit", marshal(t, valueUpdate(&pb.Value{
			Value: &pb.Value_Int16Array{Int16Array: &pb.Int16Array{Elements: []int32{1, 40000}}},
		}))},
		{"a text that is not UTF-8", "UTF-8", patched(t, valueUpdate(text), "????", "?\xff??")},
		{"an alarm text that is not UTF-8", "UTF-8", patched(t, update(&pb.SampleUpdate{
			Role: 1, Sample: &pb.Sample{Alarm: &pb.Alarm{Text: "????"}},
		}), "????", "??\xc3?")},
		{"half an element", "within an element", append(marshal(t, &pb.Update{Owner: pbOwner(owner)}),
			"\x1a\x0d\x10\x01\x1a\x09\x0a\x07\xa2\x01\x04\x0a\x02\x00\x00"...)},
		{"two arrays", "two arrays", append(marshal(t, &pb.Update{Owner: pbOwner(owner)}),
			"\x1a\x0e\x10\x01\x1a\x0a\x0a\x08\xb2\x01\x01\x05\xb2\x01\x01\x06"...)},
		{"more samples than allowed", "more than", append(marshal(t, &pb.Update{Owner: pbOwner(owner)}),
			strings.Repeat("\x1a\x00", MaxSamples+1)...)},
		{"field number 0", "field number", []byte{0x00, 0x00}},
		{"a length beyond the end", "EOF", []byte("\x1a\xff\xff\xff\xff\x07")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := new(Decoder).Update(tt.b)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", u, err, tt.want)
			}
		})
	}
}

func TestAnnouncementsThatAreRefused(t *testing.T) {
	scalar := &pb.Type{Kind: pb.Kind_KIND_INT32}
	read := func(path string, typ *pb.Type) *pb.Descriptor {
		return &pb.Descriptor{Path: path, Access: pb.Access_ACCESS_READ, Type: typ}
	}
	double := &pb.Sample{Value: &pb.Value{Value: &pb.Value_Float64Value{Float64Value: 1}}}
	tests := []struct {
		name, want string
		m          *pb.Announcement
	}{
		{"no descriptor", "no descriptor", announcement(nil, nil, nil)},
		{"a path without device", "has no device", announcement(read("x", scalar), &pb.Sample{}, nil)},
		{"a path of another device", "not of device", announcement(read("other.x", scalar), &pb.Sample{}, nil)},
		{"no access", "nothing can be done", announcement(&pb.Descriptor{Path: "oven.x", Type: scalar}, nil, nil)},
		{"access 5", "nothing can be done", announcement(&pb.Descriptor{Path: "oven.x", Access: 5, Type: scalar}, nil, nil)},
		{"a kind of the future", "no kind", announcement(read("oven.x", &pb.Type{Kind: 15}), &pb.Sample{}, nil)},
		{"no type", "no kind", announcement(read("oven.x", nil), &pb.Sample{}, nil)},
		{"array of enums", "cannot be the element", announcement(read("oven.x", &pb.Type{Kind: pb.Kind_KIND_ENUM, Shape: []uint32{2}}), &pb.Sample{}, nil)},
		{"no elements", "no elements", announcement(read("oven.x", &pb.Type{Kind: 1, Shape: []uint32{2, 0}}), &pb.Sample{}, nil)},
		{"shape that overflows", "or more than", announcement(read("oven.x", &pb.Type{Kind: 1, Shape: []uint32{1 << 30, 1 << 30, 1 << 30}}), &pb.Sample{}, nil)},
		{"nine dimensions", "dimensions", announcement(read("oven.x", &pb.Type{Kind: 1, Shape: []uint32{1, 1, 1, 1, 1, 1, 1, 1, 1}}), &pb.Sample{}, nil)},
		{"a sample is missing", "missing", announcement(read("oven.x", scalar), nil, nil)},
		{"a sample too many", "too many", announcement(read("oven.x", scalar), &pb.Sample{}, &pb.Sample{})},
		{"a value of another kind", "another type", announcement(read("oven.x", scalar), double, nil)},
		{"negative period", "negative", announcement(&pb.Descriptor{Path: "oven.x", Access: 1, Type: scalar, PollNs: -1}, &pb.Sample{}, nil)},
		{"no pieces", "no piece 0 of 0", &pb.Announcement{Owner: pbOwner(owner)}},
		{"piece behind the last", "no piece 2 of 2", &pb.Announcement{Owner: pbOwner(owner), Piece: 2, Pieces: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := new(Decoder).Announcement(marshal(t, tt.m))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", a, err, tt.want)
			}
		})
	}
}

func TestPutsThatAreRefused(t *testing.T) {
	good := func(change func(*pb.Put)) *pb.Put {
		p := pbPut(puts()[0])
		change(p)
		return p
	}
	tests := []struct {
		name, want string
		m          *pb.Put
	}{
		{"no id", "no id", good(func(p *pb.Put) { p.Id = nil })},
		{"no owner", "device", good(func(p *pb.Put) { p.To = nil })},
		{"no path", "a segment is empty", good(func(p *pb.Put) { p.Path = "" })},
		{"another device", "not of device", good(func(p *pb.Put) { p.Path = "lamp.x" })},
		{"a negative budget", "budget", good(func(p *pb.Put) { p.BudgetNs = -1 })},
		{"a long budget", "budget", good(func(p *pb.Put) { p.BudgetNs = int64(gateway.MaxBudget) + 1 })},
		{"a mode of the future", "unknown mode", good(func(p *pb.Put) { p.Mode = 2 })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := new(Decoder).Put(marshal(t, tt.m))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", p, err, tt.want)
			}
		})
	}
}

func TestWhatNewerPeersInventIsTakenForTheWorst(t *testing.T) {
	m := update(&pb.SampleUpdate{Role: 1, Sample: &pb.Sample{Mask: 0x1ff, Alarm: &pb.Alarm{Severity: 9, Status: 77}}})
	u, err := new(Decoder).Update(marshal(t, m))
	if err != nil {
		t.Fatal(err)
	}
	s := u.Samples[0].Sample
	if s.Alarm.Severity != gateway.Invalid || s.Alarm.Status != gateway.StatusUDF || s.Mask != gateway.MaskAll {
		t.Errorf("got %+v", s)
	}
	v := &pb.PutVerdict{Owner: pbOwner(owner), Verdict: &pb.Verdict{Stage: 99, Error: &pb.Error{Kind: 4711}}}
	got, err := new(Decoder).PutVerdict(marshal(t, v))
	if err != nil {
		t.Fatal(err)
	}
	if got.Verdict.Err.Kind != gateway.KindInternal || got.Verdict.Stage != gateway.StageNone {
		t.Errorf("got %+v", got.Verdict)
	}
}

func TestTextThatIsNotUTF8IsNotWritten(t *testing.T) {
	bad := "K\xe4lte"
	u := &gateway.Update{Owner: owner, Samples: []gateway.SampleUpdate{{Role: gateway.Readback, Sample: &gateway.Sample{Value: gateway.Of(bad)}}}}
	if _, err := AppendUpdate(nil, u); err == nil {
		t.Error("an update was written")
	}
	d := descriptor("oven.x", gateway.AccessRead, gateway.Int32)
	d.Units = bad
	a := &gateway.Announcement{Owner: owner, Attributes: []gateway.Announced{{Descriptor: d, Readback: gateway.NeverRead}}}
	if _, err := AppendAnnouncement(nil, a); err == nil {
		t.Error("an announcement was written")
	}
}

func TestOwnerIsReadWithoutTheRest(t *testing.T) {
	for _, c := range codecCases() {
		if strings.HasPrefix(c.name, "put ") {
			continue
		}
		b, err := c.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := new(Decoder).Owner(b); err != nil || got != owner {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}

func TestRememberedTextsAreBounded(t *testing.T) {
	var d Decoder
	for i := range 3 * maxRemembered {
		o := gateway.Owner{Device: "d", Instance: strings.Repeat("x", 1+i%90) + string(rune('a'+i%26))}
		b, err := AppendDeviceState(nil, &gateway.DeviceState{Owner: o})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Owner(b); err != nil || got != o {
			t.Fatal(got, err)
		}
	}
	if len(d.texts) > maxRemembered {
		t.Errorf("%d texts", len(d.texts))
	}
}
