package rpc

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// A reader reads the batches of a watch.
type reader struct {
	*scene
	stream grpc.ServerStreamingClient[pb.WatchResponse]
	cancel context.CancelFunc
}

func (s *scene) watch(r *pb.WatchRequest) *reader {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	s.Cleanup(cancel)
	st, err := s.client.Watch(ctx, r)
	if err != nil {
		s.Fatal(err)
	}
	x := &reader{s, st, cancel}
	if first := x.next(); len(first.GetEvents()) != 0 {
		s.Errorf("a watch begins with %v, want the empty batch", first)
	}
	return x
}

func (r *reader) next() *pb.WatchResponse {
	r.Helper()
	b, err := r.stream.Recv()
	if err != nil {
		r.Fatal(err)
	}
	return b
}

// until reads events until one fits, and returns all of them with the last batch.
func (r *reader) until(what string, fits func(*pb.Event) bool) ([]*pb.Event, *pb.WatchResponse) {
	r.Helper()
	var events []*pb.Event
	for {
		b, err := r.stream.Recv()
		if err != nil {
			r.Fatalf("waiting for %s: %v; got %v", what, err, events)
		}
		events = append(events, b.GetEvents()...)
		if slices.ContainsFunc(b.GetEvents(), fits) {
			return events, b
		}
	}
}

func ofType(t pb.EventType) func(*pb.Event) bool {
	return func(e *pb.Event) bool { return e.GetType() == t }
}

func (r *reader) synced() ([]*pb.Event, *pb.WatchResponse) {
	r.Helper()
	return r.until("SYNCED", ofType(pb.EventType_EVENT_TYPE_SYNCED))
}

func count(events []*pb.Event, t pb.EventType, path string) int {
	n := 0
	for _, e := range events {
		if e.GetType() == t && (path == "" || e.GetPath() == path) {
			n++
		}
	}
	return n
}

func floatSample(path string, value float64) func(*pb.Event) bool {
	return func(e *pb.Event) bool {
		return e.GetPath() == path && e.GetSample().GetValue().GetFloat64Value() == value
	}
}

// WEB-11: proxies cut quiet connections after 30 to 60 s.
func TestWEB11QuietStreamsShowLife(t *testing.T) {
	if l := defaultLimits(); l.keepAlive > 15*time.Second {
		t.Errorf("signs of life come every %v", l.keepAlive)
	}
	s := newScene(t, func(_ *Config, l *limits) { l.keepAlive = 10 * time.Millisecond })
	w := s.watch(&pb.WatchRequest{Match: []string{"rig.level"}})
	w.synced()
	for range 3 {
		if b := w.next(); len(b.GetEvents()) != 0 || b.GetCursor() != "" {
			t.Errorf("a quiet stream sends %v", b)
		}
	}
	x, err := s.client.Session(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 { // the first comes at once
		a, err := x.Recv()
		if err != nil || a.GetId() != 0 || a.GetResponse() != nil {
			t.Fatalf("a quiet session sends %v: %v", a, err)
		}
	}
}

// WEB-16: clients were not told that the source is gone, and an old value looked live.
func TestWEB16TheLossOfADeviceIsShown(t *testing.T) {
	s := newScene(t)
	s.Rig.Set("rig.level", gateway.Of(5.0))
	w := s.watch(&pb.WatchRequest{Match: []string{"rig.level"}})
	w.synced()
	s.Rig.SetState(false, "unplugged")
	lost := func(a *pb.Attribute) {
		t.Helper()
		r := a.GetReadback()
		if a.GetAvailability() != pb.Availability_AVAILABILITY_DISCONNECTED || a.GetWords() != "unplugged" ||
			r.GetAlarm().GetSeverity() != pb.Severity_SEVERITY_INVALID || r.GetAlarm().GetStatus() != pb.Status_STATUS_COMM ||
			r.GetValue().GetFloat64Value() != 5 {
			t.Errorf("a lost device is shown as %v", a)
		}
	}
	events, _ := w.until("the loss", ofType(pb.EventType_EVENT_TYPE_AVAILABILITY))
	lost(events[len(events)-1].GetAttribute())
	late, _ := s.watch(&pb.WatchRequest{Match: []string{"rig.level"}}).synced()
	lost(late[0].GetAttribute())
	r, err := s.client.Get(s.ctx, &pb.GetRequest{Paths: []string{"rig.level"}})
	if err != nil {
		t.Fatal(err)
	}
	lost(r.GetAttributes()[0])
	d, err := s.client.Describe(s.ctx, &pb.DescribeRequest{Match: "rig.level"})
	if err != nil {
		t.Fatal(err)
	}
	if got := d.GetDevices(); len(got) != 1 || got[0].GetAvailability() != pb.Availability_AVAILABILITY_DISCONNECTED || got[0].GetWords() != "unplugged" {
		t.Errorf("the devices are %v", got)
	}

	s.Rig.SetState(true, "")
	events, _ = w.until("the return", ofType(pb.EventType_EVENT_TYPE_AVAILABILITY))
	if a := events[len(events)-1].GetAttribute(); a.GetAvailability() != pb.Availability_AVAILABILITY_CONNECTED || a.GetReadback().GetAlarm() != nil {
		t.Errorf("a device that is back is shown as %v", a)
	}
}

// WEB-02: one NaN must not spoil an answer, and is NaN on the wire.
func TestWEB02NumbersThatAreNone(t *testing.T) {
	s := newScene(t)
	for json, x := range map[string]float64{`"NaN"`: math.NaN(), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1)} {
		same := func(y float64) bool { return y == x || math.IsNaN(x) && math.IsNaN(y) }
		w := s.watch(&pb.WatchRequest{Match: []string{"rig.level", "rig.wave"}})
		w.synced()
		s.Rig.Set("rig.level", gateway.Of(x))
		s.Rig.Set("rig.wave", gateway.ArrayOf([]float64{1, x, 3}))
		events, _ := w.until("the wave", func(e *pb.Event) bool { return e.GetPath() == "rig.wave" })
		i := slices.IndexFunc(events, func(e *pb.Event) bool { return e.GetPath() == "rig.level" })
		if got := events[i].GetSample().GetValue().GetFloat64Value(); !same(got) {
			t.Errorf("watched %v, want %v", got, x)
		}
		if got := events[len(events)-1].GetSample().GetValue().GetFloat64Array().GetElements(); len(got) != 3 || !same(got[1]) {
			t.Errorf("watched %v, want %v inside", got, x)
		}
		r, err := s.client.Get(s.ctx, &pb.GetRequest{Match: "rig.>"})
		if err != nil {
			t.Fatal(err)
		}
		i = slices.IndexFunc(r.GetAttributes(), func(a *pb.Attribute) bool { return a.GetPath() == "rig.level" })
		if got := r.GetAttributes()[i].GetReadback().GetValue().GetFloat64Value(); !same(got) {
			t.Errorf("got %v, want %v", got, x)
		}
		for _, r := range []*pb.PutRequest{
			put("rig.trigger", &pb.Value{Value: &pb.Value_Float64Value{Float64Value: x}}),
			{Path: "rig.trigger", Input: &pb.PutRequest_Json{Json: json}},
		} {
			a, err := s.client.Put(s.ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.GetVerdict().GetSetpoint().GetValue().GetFloat64Value(); !same(got) {
				t.Errorf("put %v became %v", r, got)
			}
		}
	}
}

// WEB-04: integers beyond 2^53 stay exact.
func TestWEB04LargeIntegersStayExact(t *testing.T) {
	s := newScene(t)
	const n = 9007199254740993
	for _, r := range []*pb.PutRequest{
		put("rig.big", &pb.Value{Value: &pb.Value_Uint64Value{Uint64Value: n}}),
		put("rig.big", &pb.Value{Value: &pb.Value_Int64Value{Int64Value: n}}),
		{Path: "rig.big", Input: &pb.PutRequest_Json{Json: fmt.Sprint(n)}},
		{Path: "rig.big", Input: &pb.PutRequest_Text{Text: fmt.Sprint(n)}},
	} {
		a, err := s.client.Put(s.ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.GetVerdict().GetReadback().GetValue().GetUint64Value(); got != n {
			t.Errorf("%v became %d", r, got)
		}
	}
}

func TestPatternsThatOverlapDeliverOnce(t *testing.T) {
	s := newScene(t)
	w := s.watch(&pb.WatchRequest{Match: []string{"rig.level", "rig.*", "*.level", "marker.n", "rig.level", "rig.>"}})
	events, b := w.synced()
	for _, path := range []string{"rig.level", "rig.target", "marker.n"} {
		if n := count(events, pb.EventType_EVENT_TYPE_ADDED, path); n != 1 {
			t.Errorf("%s was added %d times", path, n)
		}
	}
	if n := count(events, pb.EventType_EVENT_TYPE_SYNCED, ""); n != 1 || b.GetCursor() == "" {
		t.Errorf("synced %d times, with the cursor %q", n, b.GetCursor())
	}
	s.Rig.Set("rig.level", gateway.Of(1.0))
	s.Rig.Set("rig.level", gateway.Of(2.0))
	events, b = w.until("the second value", floatSample("rig.level", 2))
	if n := count(events, pb.EventType_EVENT_TYPE_SAMPLE, "rig.level"); n != 2 {
		t.Errorf("two samples came as %d", n)
	}

	// All of it continues from one cursor.
	w.cancel()
	s.Rig.Set("rig.level", gateway.Of(3.0))
	s.Settle()
	w = s.watch(&pb.WatchRequest{Match: []string{"rig.*", "*.level", "marker.n"}, Cursor: b.GetCursor()})
	events, _ = w.synced()
	if count(events, pb.EventType_EVENT_TYPE_ADDED, "") != 0 || count(events, pb.EventType_EVENT_TYPE_SAMPLE, "rig.level") != 1 {
		t.Errorf("resumed with %v", events)
	}
}

// A cursor of another life of the gateway is told as one gap, with everything afresh.
func TestACursorOfAnotherLife(t *testing.T) {
	before := newScene(t)
	_, b := before.watch(&pb.WatchRequest{}).synced()
	if b.GetCursor() == "" {
		t.Fatal("there is no cursor")
	}
	s := newScene(t)
	for _, match := range [][]string{{">"}, {"rig.*", "marker.*", "*.level"}} {
		events, _ := s.watch(&pb.WatchRequest{Match: match, Cursor: b.GetCursor()}).synced()
		if events[0].GetType() != pb.EventType_EVENT_TYPE_GAP || count(events, pb.EventType_EVENT_TYPE_GAP, "") != 1 {
			t.Errorf("%v: the first event is %v", match, events[0])
		}
		for _, path := range []string{"rig.level", "marker.n"} {
			if n := count(events, pb.EventType_EVENT_TYPE_ADDED, path); n != 1 {
				t.Errorf("%v: %s was added %d times", match, path, n)
			}
		}
	}
}

func TestASelectionIsKept(t *testing.T) {
	s := newScene(t)
	s.Rig.Set("rig.target", gateway.Of(1.0))
	setpoints := s.watch(&pb.WatchRequest{Match: []string{"rig.target"}, Role: pb.Role_ROLE_SETPOINT})
	alarms := s.watch(&pb.WatchRequest{Match: []string{"rig.target"}, Role: pb.Role_ROLE_READBACK, Mask: uint32(gateway.MaskAlarm)})
	polls := s.watch(&pb.WatchRequest{Match: []string{"rig.target"}, Every: true, Role: pb.Role_ROLE_READBACK, Descriptors: true})
	setpoints.synced()
	alarms.synced()
	added, _ := polls.synced()
	if d := added[0].GetAttribute().GetDescriptor_(); d.GetPath() != "rig.target" || d.GetType().GetControl().GetHigh() != 100 {
		t.Errorf("the descriptor is %v", d)
	}
	s.Rig.Update(hubtest.Change{Path: "rig.target", Role: gateway.Readback, Value: gateway.Of(2.0)})
	s.Rig.Update(hubtest.Change{Path: "rig.target", Role: gateway.Readback, Value: gateway.Of(2.0), Same: true})
	s.Rig.Update(hubtest.Change{Path: "rig.target", Role: gateway.Setpoint, Value: gateway.Of(3.0)})
	s.Rig.Update(hubtest.Change{Path: "rig.target", Role: gateway.Readback, Value: gateway.Of(4.0), Alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh}})
	for name, x := range map[string]struct {
		r    *reader
		want []float64
	}{
		"setpoints": {setpoints, []float64{3}}, "alarms": {alarms, []float64{4}}, "polls": {polls, []float64{2, 2, 4}},
	} {
		events, _ := x.r.until(name, floatSample("rig.target", x.want[len(x.want)-1]))
		var got []float64
		for _, e := range events {
			got = append(got, e.GetSample().GetValue().GetFloat64Value())
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: got %v, want %v", name, got, x.want)
		}
	}
}

func TestARateKeepsTheNewest(t *testing.T) {
	s := newScene(t)
	w := s.watch(&pb.WatchRequest{Match: []string{"rig.level"}, MaxRate: 50})
	w.synced()
	const n = 500
	for i := range n {
		s.Rig.Set("rig.level", gateway.Of(float64(i)))
	}
	events, _ := w.until("the newest", floatSample("rig.level", n-1))
	if len(events) >= n {
		t.Errorf("all of %d samples came", len(events))
	}
}

// A batch ends where a client can still take it, and with the cursor of its own end.
func TestLargeSnapshotsComeInBatches(t *testing.T) {
	s := newScene(t)
	var many []*gateway.Descriptor
	for i := range 3 * batchEvents {
		many = append(many, hubtest.Float(gateway.Path(fmt.Sprintf("big.v%05d", i)), gateway.AccessRead))
	}
	hubtest.NewDevice(s.Line, "big", many...)
	s.Settle()
	w := s.watch(&pb.WatchRequest{Match: []string{"big.>"}})
	added, batches := 0, 0
	for {
		b := w.next()
		added += count(b.GetEvents(), pb.EventType_EVENT_TYPE_ADDED, "")
		batches++
		synced := count(b.GetEvents(), pb.EventType_EVENT_TYPE_SYNCED, "") > 0
		if synced != (b.GetCursor() != "") {
			t.Errorf("synced is %v and the cursor %q", synced, b.GetCursor())
		}
		if synced {
			break
		}
	}
	if added != len(many) || batches < 3 {
		t.Errorf("%d of %d attributes came in %d batches", added, len(many), batches)
	}
}
