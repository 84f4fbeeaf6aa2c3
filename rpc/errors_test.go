package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

func TestEveryKindHasItsCode(t *testing.T) {
	want := map[codes.Code]string{
		codes.NotFound:           "not_found",
		codes.FailedPrecondition: "read_only write_only conflict superseded refused_by_device",
		codes.InvalidArgument:    "malformed too_large wrong_type out_of_range not_a_label",
		codes.Unauthenticated:    "unauthenticated",
		codes.PermissionDenied:   "denied",
		codes.ResourceExhausted:  "busy",
		codes.Unavailable:        "not_connected bus_down shutting_down expired",
		codes.DeadlineExceeded:   "unknown_outcome",
		codes.Internal:           "internal",
	}
	seen := 0
	for code, kinds := range want {
		for name := range strings.FieldsSeq(kinds) {
			seen++
			e := gateway.Errorf(gateway.ParseErrorKind(name), "words for people")
			e.Stage, e.DeviceWords = gateway.StageSent, "ERR 17"
			got := statusOf(about("rig.target", e))
			info := infoOf(got)
			if status.Code(got) != code || info.GetReason() != name || info.GetDomain() != "polygate" {
				t.Errorf("%s: %v, %v", name, got, info)
			}
			for key, value := range map[string]string{"name": "rig.target", "stage": "sent", "device_words": "ERR 17"} {
				if info.GetMetadata()[key] != value {
					t.Errorf("%s: %s is %q", name, key, info.GetMetadata()[key])
				}
			}
		}
	}
	if all := len(gateway.ErrorKinds()); seen != all {
		t.Errorf("%d kinds of %d are in the table", seen, all)
	}
	if err := statusOf(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	if got := statusOf(fmt.Errorf("reading: %w", context.Canceled)); status.Code(got) != codes.Canceled {
		t.Errorf("a cancelled call became %v", got)
	}
	if got := statusOf(errors.New("disk full")); status.Code(got) != codes.Internal {
		t.Errorf("an error without a kind became %v", got)
	}
}

// What a device says can be long and need not be text, and has to fit into headers.
func TestWordsInErrorsAreBounded(t *testing.T) {
	e := gateway.Errorf(gateway.KindRefusedByDevice, "%s", strings.Repeat("long ", 10000))
	e.DeviceWords = strings.Repeat("\xff", 10000)
	got := statusOf(about(strings.Repeat("x", 10000), e))
	size := len(status.Convert(got).Message())
	for key, value := range infoOf(got).GetMetadata() {
		size += len(key) + len(value)
	}
	if size > 8<<10 {
		t.Errorf("the error takes %d bytes", size)
	}
}

func TestAPutThatFailsSaysHow(t *testing.T) {
	s := newScene(t)
	s.Rig.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Reject(p, "interlock open") })
	_, err := s.client.Put(s.ctx, &pb.PutRequest{Path: "rig.target", Input: &pb.PutRequest_Text{Text: "5"}})
	s.wantKind("refused by the device", err, gateway.KindRefusedByDevice)
	info := infoOf(err).GetMetadata()
	if info["name"] != "rig.target" || info["device_words"] != "interlock open" || info["stage"] == "" {
		t.Errorf("the details are %v", info)
	}
	_, err = s.client.Put(s.ctx, &pb.PutRequest{Path: "rig.target", Input: &pb.PutRequest_Text{Text: "500"}})
	s.wantKind("out of range", err, gateway.KindOutOfRange)
	if field := violationOf(err); field != "text" {
		t.Errorf("the field to blame is %q", field)
	}
	if stage := infoOf(err).GetMetadata()["stage"]; stage != "refused" {
		t.Errorf("a refused put is at the stage %q", stage)
	}
}

func put(path string, v *pb.Value) *pb.PutRequest {
	return &pb.PutRequest{Path: path, Input: &pb.PutRequest_Value{Value: v}}
}

// Nothing that a client can say does harm, and every mistake is named.
func TestAbsurdRequests(t *testing.T) {
	s := newScene(t)
	long := strings.Repeat("a.", 5000) + "b"
	watch := func(r *pb.WatchRequest) func() error {
		return func() error {
			ctx, cancel := context.WithCancel(s.ctx)
			defer cancel()
			st, err := s.client.Watch(ctx, r)
			if err != nil {
				return err
			}
			_, err = st.Recv()
			return err
		}
	}
	get := func(r *pb.GetRequest) func() error {
		return func() error { _, err := s.client.Get(s.ctx, r); return err }
	}
	describe := func(r *pb.DescribeRequest) func() error {
		return func() error { _, err := s.client.Describe(s.ctx, r); return err }
	}
	putOf := func(r *pb.PutRequest) func() error {
		return func() error { _, err := s.client.Put(s.ctx, r); return err }
	}
	execute := func(r *pb.ExecuteRequest) func() error {
		return func() error { _, err := s.client.Execute(s.ctx, r); return err }
	}
	refresh := func(r *pb.RefreshRequest) func() error {
		return func() error { _, err := s.client.Refresh(s.ctx, r); return err }
	}
	text := func(path, value string) *pb.PutRequest {
		return &pb.PutRequest{Path: path, Input: &pb.PutRequest_Text{Text: value}}
	}
	var wild []string
	for i := range maxPatterns + 1 {
		wild = append(wild, fmt.Sprintf("d%d.*", i))
	}
	for _, x := range []struct {
		name string
		call func() error
		kind gateway.ErrorKind
		bad  string // field
	}{
		{"no name", get(&pb.GetRequest{Paths: []string{""}}), gateway.KindNotFound, ""},
		{"a name with a slash", get(&pb.GetRequest{Paths: []string{"rig/level"}}), gateway.KindNotFound, ""},
		{"a long name", get(&pb.GetRequest{Paths: []string{long}}), gateway.KindNotFound, ""},
		{"one of two names", get(&pb.GetRequest{Paths: []string{"rig.level", "rig.nosuch"}}), gateway.KindNotFound, ""},
		{"names and a pattern", get(&pb.GetRequest{Paths: []string{"rig.level"}, Match: ">"}), gateway.KindMalformed, "match"},
		{"a pattern with > inside", get(&pb.GetRequest{Match: ">.level"}), gateway.KindMalformed, "match"},
		{"a long pattern", get(&pb.GetRequest{Match: long}), gateway.KindMalformed, "match"},
		{"a foreign page", get(&pb.GetRequest{PageToken: "..."}), gateway.KindMalformed, "page_token"},
		{"a page of names behind the last", get(&pb.GetRequest{Paths: []string{"rig.level"}, PageToken: "1"}), gateway.KindMalformed, "page_token"},
		{"a page of names before the first", get(&pb.GetRequest{Paths: []string{"rig.level"}, PageToken: "-1"}), gateway.KindMalformed, "page_token"},
		{"a pattern that is none", describe(&pb.DescribeRequest{Match: "a..b"}), gateway.KindMalformed, "match"},
		{"a foreign page of descriptors", describe(&pb.DescribeRequest{PageToken: "7"}), gateway.KindMalformed, "page_token"},

		{"a put without a value", putOf(&pb.PutRequest{Path: "rig.target"}), gateway.KindMalformed, "value"},
		{"an empty value", putOf(put("rig.target", &pb.Value{})), gateway.KindWrongType, "value"},
		{"a number that does not fit its own field", putOf(put("rig.count", &pb.Value{Value: &pb.Value_Int8Value{Int8Value: 300}})), gateway.KindMalformed, "value"},
		{"text for a number", putOf(put("rig.count", &pb.Value{Value: &pb.Value_StringValue{StringValue: "many"}})), gateway.KindWrongType, "value"},
		{"a fraction for an integer", putOf(put("rig.count", &pb.Value{Value: &pb.Value_Float64Value{Float64Value: 1.5}})), gateway.KindWrongType, "value"},
		{"NaN for an attribute with limits", putOf(put("rig.target", &pb.Value{Value: &pb.Value_Float64Value{Float64Value: math.NaN()}})), gateway.KindOutOfRange, "value"},
		{"an array for a number", putOf(put("rig.count", &pb.Value{Value: &pb.Value_Int32Array{Int32Array: &pb.Int32Array{Elements: []int32{1, 2}}}})), gateway.KindWrongType, "value"},
		{"a number beyond its kind", putOf(put("rig.count", &pb.Value{Value: &pb.Value_Uint64Value{Uint64Value: math.MaxUint64}})), gateway.KindOutOfRange, "value"},
		{"no such state", putOf(put("rig.mode", &pb.Value{Value: &pb.Value_EnumIndex{EnumIndex: 70}})), gateway.KindNotALabel, "value"},
		{"JSON that is none", putOf(&pb.PutRequest{Path: "rig.target", Input: &pb.PutRequest_Json{Json: "{"}}), gateway.KindMalformed, "json"},
		{"text beyond its length", putOf(text("rig.label", strings.Repeat("x", 100000))), gateway.KindTooLarge, "text"},
		{"a put to what cannot be put", putOf(text("rig.level", "1")), gateway.KindReadOnly, ""},
		{"a put to a command", putOf(text("rig.reset", "1")), gateway.KindReadOnly, ""},
		{"a put to nothing", putOf(text("rig.nosuch", "1")), gateway.KindNotFound, ""},
		{"no such mode", putOf(&pb.PutRequest{Path: "rig.target", Mode: 99}), gateway.KindMalformed, "mode"},
		{"a negative budget", putOf(&pb.PutRequest{Path: "rig.target", Budget: durationpb.New(-1)}), gateway.KindMalformed, "budget"},
		{"a budget of a day", putOf(&pb.PutRequest{Path: "rig.target", Budget: durationpb.New(24 * time.Hour)}), gateway.KindMalformed, "budget"},
		{"a budget that is no time", putOf(&pb.PutRequest{Path: "rig.target", Budget: &durationpb.Duration{Seconds: 1, Nanos: -1}}), gateway.KindMalformed, "budget"},

		{"to execute an attribute", execute(&pb.ExecuteRequest{Path: "rig.target"}), gateway.KindNotFound, ""},
		{"to refresh a command", refresh(&pb.RefreshRequest{Path: "rig.reset"}), gateway.KindWriteOnly, ""},
		{"to refresh nothing", refresh(&pb.RefreshRequest{Path: "rig.nosuch"}), gateway.KindNotFound, ""},
		{"to refresh in no mode", refresh(&pb.RefreshRequest{Path: "rig.level", Mode: 9}), gateway.KindMalformed, "mode"},
		{"to execute nothing", execute(&pb.ExecuteRequest{Path: "rig.nosuch"}), gateway.KindNotFound, ""},
		{"an argument that is not wanted", execute(&pb.ExecuteRequest{Path: "rig.reset", Input: &pb.ExecuteRequest_Text{Text: "1"}}), gateway.KindWrongType, "text"},

		{"a watch of a bad pattern", watch(&pb.WatchRequest{Match: []string{"rig.>.x"}}), gateway.KindMalformed, "match"},
		{"a watch of too many patterns", watch(&pb.WatchRequest{Match: wild}), gateway.KindTooLarge, "match"},
		{"a watch of too many names", watch(&pb.WatchRequest{Match: make([]string, maxNames+1)}), gateway.KindTooLarge, "match"},
		{"a cursor that is none", watch(&pb.WatchRequest{Cursor: "yesterday"}), gateway.KindMalformed, "cursor"},
		{"no such role", watch(&pb.WatchRequest{Role: 7}), gateway.KindMalformed, "role"},
		{"no such change", watch(&pb.WatchRequest{Mask: 16}), gateway.KindMalformed, "mask"},
		{"a rate below 0", watch(&pb.WatchRequest{MaxRate: -1}), gateway.KindMalformed, "max_rate"},
		{"a rate that is no number", watch(&pb.WatchRequest{MaxRate: math.NaN()}), gateway.KindMalformed, "max_rate"},
		{"a rate without end", watch(&pb.WatchRequest{MaxRate: math.Inf(1)}), gateway.KindMalformed, "max_rate"},
		{"a read of what is only written", watch(&pb.WatchRequest{Match: []string{"rig.trigger"}, Role: pb.Role_ROLE_READBACK}), gateway.KindWriteOnly, ""},
	} {
		err := x.call()
		s.wantKind(x.name, err, x.kind)
		if field := violationOf(err); x.bad != "" && field != x.bad {
			t.Errorf("%s: the field to blame is %q, want %q", x.name, field, x.bad)
		}
	}
	if n := len(s.Rig.Puts()); n != 0 {
		t.Errorf("%d absurd puts reached the device", n)
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	s := newScene(t, func(c *Config, _ *limits) { c.MaxMessage = 1 << 10 })
	_, err := s.client.Get(s.ctx, &pb.GetRequest{Paths: []string{strings.Repeat("x", 2<<10)}})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request beyond the limit: %v", err)
	}
	err = s.conn.Invoke(s.ctx, "/polygate.v1.GatewayService/Destroy", &emptypb.Empty{}, &emptypb.Empty{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that does not exist: %v", err)
	}
	err = s.conn.Invoke(s.ctx, pb.GatewayService_Get_FullMethodName, frame{{0xff, 0xff}}, &emptypb.Empty{}, grpc.ForceCodecV2(newCodec()))
	if status.Code(err) != codes.Internal {
		t.Errorf("bytes that are no message: %v", err)
	}
	if _, err := s.client.Get(s.ctx, &pb.GetRequest{Paths: []string{"rig.level"}}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A faultyView fails as no view may.
type faultyView struct{ gateway.Session }

func (faultyView) For(gateway.Caller) gateway.Session { return faultyView{} }

func TestAFaultEndsTheCallAlone(t *testing.T) {
	server := New(testConfig(), faultyView{}, zerolog.Nop())
	serve(t, server)
	client := pb.NewGatewayServiceClient(dial(t, server.Addr().String()))
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for range 2 {
		_, err := client.Get(ctx, &pb.GetRequest{Paths: []string{"a.b"}})
		if status.Code(err) != codes.Internal || infoOf(err).GetReason() != "internal" {
			t.Errorf("Get: %v", err)
		}
		st, err := client.Watch(ctx, &pb.WatchRequest{})
		if err == nil {
			_, err = st.Recv()
		}
		if status.Code(err) != codes.Internal {
			t.Errorf("Watch: %v", err)
		}
	}
}
