package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is how long a test waits for what must happen.
const limit = frontendtest.Limit

// serve runs a frontend until stop is called, which may be called again, or the
// test ends.
func serve(t testing.TB, s *Server) (stop func() error) {
	t.Helper()
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	return frontendtest.Serve(t, s.Serve)
}

func testConfig() Config {
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	return cfg
}

func dial(t testing.TB, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A scene is a scripted world with a frontend and one client.
type scene struct {
	*testing.T
	*frontendtest.World
	server *Server
	stop   func() error
	ctx    context.Context
	conn   *grpc.ClientConn
	client pb.GatewayServiceClient
}

func newScene(t *testing.T, change ...func(*Config, *limits)) *scene {
	t.Helper()
	w := frontendtest.NewScripted(t)
	cfg, l := testConfig(), defaultLimits()
	for _, c := range change {
		c(&cfg, &l)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	s := &scene{T: t, World: w, ctx: ctx, server: newServer(cfg, w.View, zerolog.Nop(), l)}
	s.stop = serve(t, s.server)
	s.conn = dial(t, s.server.Addr().String())
	s.client = pb.NewGatewayServiceClient(s.conn)
	return s
}

// infoOf returns the details that every error of ours has.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return &errdetails.ErrorInfo{}
}

// violationOf returns the field that an error blames.
func violationOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			return bad.GetFieldViolations()[0].GetField()
		}
	}
	return ""
}

// wantKind checks code and reason of an error.
func (s *scene) wantKind(what string, err error, kind gateway.ErrorKind) {
	s.Helper()
	info := infoOf(err)
	if status.Code(err) != codeOf(kind) || info.GetReason() != kind.String() || info.GetDomain() != "polygate" {
		s.Errorf("%s: got %v with %v, want %v", what, err, info, kind)
	}
}

// jsonOf is a sample's value as REST would show it.
func jsonOf(s *pb.Sample) string {
	if s.GetLabel() != "" {
		return marshal(s.GetLabel())
	}
	switch v := s.GetValue().GetValue().(type) {
	case nil:
		return "null"
	case *pb.Value_BoolValue:
		return marshal(v.BoolValue)
	case *pb.Value_Int32Value:
		return marshal(v.Int32Value)
	case *pb.Value_Int64Value:
		return marshal(v.Int64Value)
	case *pb.Value_Uint64Value:
		return marshal(v.Uint64Value)
	case *pb.Value_Float64Value:
		if math.IsNaN(v.Float64Value) || math.IsInf(v.Float64Value, 0) {
			return marshal(fmt.Sprint(v.Float64Value))
		}
		return marshal(v.Float64Value)
	case *pb.Value_StringValue:
		return marshal(v.StringValue)
	case *pb.Value_EnumIndex:
		return marshal(v.EnumIndex)
	case *pb.Value_Float64Array:
		return marshal(v.Float64Array.GetElements())
	}
	return fmt.Sprintf("a value that the test does not know: %v", s.GetValue())
}

func marshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func shownSample(s *pb.Sample) *frontendtest.Sample {
	if s == nil {
		return nil
	}
	out := &frontendtest.Sample{
		Value: jsonOf(s), Seq: s.GetSeq(),
		Severity: gateway.Severity(s.GetAlarm().GetSeverity()).String(),
		Status:   gateway.Status(s.GetAlarm().GetStatus()).String(),
	}
	if s.GetTimeNs() != 0 {
		out.Time = time.Unix(0, s.GetTimeNs())
	}
	return out
}

func reading(a *pb.Attribute) frontendtest.Reading {
	return frontendtest.Reading{Readback: shownSample(a.GetReadback()), Setpoint: shownSample(a.GetSetpoint())}
}

// shownEvents turns a batch into what the suite wants to see; the cursor belongs to its end.
func shownEvents(b *pb.WatchResponse) []frontendtest.Event {
	var events []frontendtest.Event
	add := func(path string, role gateway.Role, s *pb.Sample) {
		if s != nil {
			events = append(events, frontendtest.Event{Path: path, Role: role, Sample: *shownSample(s)})
		}
	}
	for _, e := range b.GetEvents() {
		switch e.GetType() {
		case pb.EventType_EVENT_TYPE_GAP:
			events = append(events, frontendtest.Event{Gap: true})
		case pb.EventType_EVENT_TYPE_REMOVED:
			events = append(events, frontendtest.Event{Path: e.GetPath(), Removed: true})
		case pb.EventType_EVENT_TYPE_SAMPLE:
			add(e.GetPath(), gateway.Role(e.GetRole()), e.GetSample())
		case pb.EventType_EVENT_TYPE_ADDED, pb.EventType_EVENT_TYPE_AVAILABILITY:
			add(e.GetPath(), gateway.Readback, e.GetAttribute().GetReadback())
			add(e.GetPath(), gateway.Setpoint, e.GetAttribute().GetSetpoint())
		}
	}
	if len(events) > 0 {
		events[len(events)-1].Cursor = b.GetCursor()
	}
	return events
}
