package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// receiver is the part that all streams of clients share.
type receiver interface{ RecvMsg(any) error }

// WEB-07: a stop waited for streams that never end by themselves.
func TestWEB07StreamsEndWithTheFrontend(t *testing.T) {
	s := newScene(t)
	open := map[string]receiver{}
	for i := range 3 {
		open[fmt.Sprint("watch ", i)] = s.watch(&pb.WatchRequest{}).stream
		x, err := s.client.Session(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := x.Recv(); err != nil {
			t.Fatal(err)
		}
		open[fmt.Sprint("session ", i)] = x
	}
	h, err := healthpb.NewHealthClient(s.conn).Watch(s.ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := h.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("health is %v: %v", m, err)
	}

	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	if m, err := h.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while stopping health is %v: %v", m, err)
	}
	for name, st := range open {
		var err error
		for err == nil {
			err = st.RecvMsg(&pb.WatchResponse{}) // a SessionResponse reads as one, too
		}
		if status.Code(err) != codes.Unavailable || infoOf(err).GetReason() != "shutting_down" {
			t.Errorf("%s ended with %v, %v", name, err, infoOf(err))
		}
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopping: %v", err)
	}
	if left := s.Hub.Clients(); len(left) != 0 {
		t.Errorf("%d streams are left: %v", len(left), left)
	}
}

// A put under way gets its verdict while the frontend stops.
func TestAPutUnderWayEndsWhileStopping(t *testing.T) {
	s := newScene(t)
	arrived := make(chan *gateway.Put, 1)
	s.Rig.OnPut(func(_ *hubtest.Device, p *gateway.Put) { arrived <- p })
	done := make(chan error, 1)
	go func() {
		_, err := s.client.Put(s.ctx, &pb.PutRequest{Path: "rig.target", Input: &pb.PutRequest_Text{Text: "5"}})
		done <- err
	}()
	p := <-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	for s.conn.GetState() == connectivity.Ready { // until it was told that the server goes away
		s.conn.WaitForStateChange(s.ctx, connectivity.Ready)
	}
	hubtest.Comply(s.Rig, p)
	if err := <-done; err != nil {
		t.Errorf("the put ended with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A client that does not read costs a bounded amount of memory, holds nobody up,
// and does not keep the frontend from stopping.
func TestAClientThatDoesNotRead(t *testing.T) {
	s := newScene(t, func(_ *Config, l *limits) { l.drain = 100 * time.Millisecond })
	late := s.watch(&pb.WatchRequest{Match: []string{"rig.wave"}})
	session, err := s.client.Session(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Send(&pb.SessionRequest{Id: 1, Request: &pb.SessionRequest_Watch{Watch: &pb.WatchRequest{Match: []string{"rig.wave"}}}}); err != nil {
		t.Fatal(err)
	}
	elements := make([]float64, frontendtest.WaveLength)
	full := func() bool {
		n := 0
		for _, c := range s.Hub.Clients() {
			if c.Overflows > 0 {
				n++
			}
			if c.Bytes > gateway.DefaultMaxBytes {
				t.Errorf("a queue holds %d bytes", c.Bytes)
			}
		}
		return n == 2
	}
	for i := 0; !full() && i < 4000; i++ {
		s.Rig.Set("rig.wave", gateway.ArrayOf(elements))
		if i%50 == 0 {
			s.Settle()
			if _, err := s.client.Get(s.ctx, &pb.GetRequest{Paths: []string{"rig.level"}}); err != nil {
				t.Fatalf("another call on the same connection: %v", err)
			}
		}
	}
	if !full() {
		t.Errorf("the queues did not fill: %+v", s.Hub.Clients())
	}

	// One that reads after all gets the newest, and is told how many it missed.
	newest := make([]float64, frontendtest.WaveLength)
	newest[0] = 1
	s.Rig.Set("rig.wave", gateway.ArrayOf(newest))
	var lost uint64
	for found := false; !found; {
		b := late.next()
		var inEvents uint64
		for _, e := range b.GetEvents() {
			inEvents += uint64(e.GetLost())
			elements := e.GetSample().GetValue().GetFloat64Array().GetElements()
			found = found || len(elements) > 0 && elements[0] == 1
		}
		if b.GetLost() != inEvents {
			t.Errorf("a batch has lost %d, and its events %d", b.GetLost(), inEvents)
		}
		lost += inEvents
	}
	if lost == 0 {
		t.Error("nothing is said to be lost")
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// WEB-06: a client that lost its network is noticed and forgotten, whether or not
// there is anything to tell it.
func TestWEB06AFrozenNetwork(t *testing.T) {
	if l := defaultLimits(); l.silence+l.pong > 40*time.Second {
		t.Errorf("a dead client is kept for %v", l.silence+l.pong)
	}
	for name, match := range map[string]string{"idle": "rig.level", "busy": "rig.wave"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, func(_ *Config, l *limits) { l.silence, l.pong = time.Second, 200*time.Millisecond }) // gRPC takes no shorter silence
			network := frontendtest.NewFreezer(t, s.server.Addr().String())
			s.client = pb.NewGatewayServiceClient(dial(t, network.Address))
			s.watch(&pb.WatchRequest{Match: []string{match}}).synced()
			network.Freeze()
			for deadline := time.Now().Add(limit); len(s.server.streams.status()) > 0; {
				if time.Now().After(deadline) {
					t.Fatal("the stream goes on")
				}
				if match == "rig.wave" {
					s.Rig.Set("rig.wave", gateway.ArrayOf(make([]float64, frontendtest.WaveLength)))
				}
				s.Settle()
			}
		})
	}
}

func TestStreamsAndConnectionsAreLimited(t *testing.T) {
	s := newScene(t, func(c *Config, _ *limits) { c.Streams, c.Connections = 2, 2 })
	w := s.watch(&pb.WatchRequest{})
	s.watch(&pb.WatchRequest{})
	st, err := s.client.Watch(s.ctx, &pb.WatchRequest{})
	if err == nil {
		_, err = st.Recv()
	}
	s.wantKind("a stream too many", err, gateway.KindBusy)
	w.cancel()
	for len(s.Hub.Clients()) > 1 { // until the server has noticed
		s.Settle()
	}
	s.watch(&pb.WatchRequest{})

	second := dial(t, s.server.Addr().String())
	if _, err := pb.NewGatewayServiceClient(second).Get(s.ctx, &pb.GetRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err = pb.NewGatewayServiceClient(dial(t, s.server.Addr().String())).Get(s.ctx, &pb.GetRequest{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a connection too many: %v", err)
	}
	if _, err := s.client.Get(s.ctx, &pb.GetRequest{}); err != nil {
		t.Errorf("an older connection: %v", err)
	}
}

func TestStatusShowsWhoIsThere(t *testing.T) {
	s := newScene(t)
	s.watch(&pb.WatchRequest{}).synced()
	text := marshal(s.server.Status())
	for _, want := range []string{`"connections":1`, `"kind":"watch"`, `"peer":"127.0.0.1:`} {
		if !bytes.Contains([]byte(text), []byte(want)) {
			t.Errorf("the status lacks %s: %s", want, text)
		}
	}
}

func TestHealthAndReflection(t *testing.T) {
	s := newScene(t)
	for _, service := range []string{"", "polygate.v1.GatewayService"} {
		m, err := healthpb.NewHealthClient(s.conn).Check(s.ctx, &healthpb.HealthCheckRequest{Service: service})
		if err != nil || m.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q is %v: %v", service, m, err)
		}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	st, err := reflectionpb.NewServerReflectionClient(s.conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	m, err := st.Recv()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, service := range m.GetListServicesResponse().GetService() {
		names[service.GetName()] = true
	}
	if !names["polygate.v1.GatewayService"] || !names["grpc.health.v1.Health"] {
		t.Errorf("the services are %v", names)
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	s := newScene(t)
	cfg := testConfig()
	cfg.Listen = s.server.Addr().String()
	err := New(cfg, s.View, s.server.log).Listen(t.Context())
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("frontends.grpc.listen")) {
		t.Errorf("got %v", err)
	}
}

// A frontend whose start failed elsewhere is stopped before it has served.
func TestServeWithAContextThatHasEnded(t *testing.T) {
	s := New(testConfig(), frontendtest.NewScripted(t).View, newScene(t).server.log)
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Serve(ctx); err != nil {
		t.Error(err)
	}
}

// WEB-14: a client that asks too often whether the server is there gets the
// standard answer, and one that asks every 20 s without a call is welcome.
func TestWEB14KeepAlives(t *testing.T) {
	if l := defaultLimits(); l.ping > 20*time.Second {
		t.Errorf("clients may ask every %v", l.ping)
	}
	s := newScene(t)
	watching := s.watch(&pb.WatchRequest{Match: []string{"rig.level"}})
	watching.synced()
	if code, words := pings(t, s.server.Addr().String(), 10); code != enhanceYourCalm || words != "too_many_pings" {
		t.Errorf("too many pings are answered with %d %q", code, words)
	}
	s.Rig.Set("rig.level", gateway.Of(1.0))
	watching.until("what others do not notice", floatSample("rig.level", 1))

	patient := newScene(t, func(_ *Config, l *limits) { l.ping = time.Nanosecond })
	if code, words := pings(t, patient.server.Addr().String(), 10); code != 0 {
		t.Errorf("pings in time, without a call, are answered with %d %q", code, words)
	}
}

// Numbers of HTTP/2 (RFC 9113).
const (
	frameSettings   = 0x4
	framePing       = 0x6
	frameGoAway     = 0x7
	flagAck         = 0x1
	enhanceYourCalm = 0xb
)

// pings speaks HTTP/2 by hand, since gRPC's own client does not ping often: it
// sends n pings and returns what a GOAWAY says, or 0 if all were answered.
func pings(t *testing.T, address string, n int) (code uint32, words string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	out := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 0, 0, 0, frameSettings, 0, 0, 0, 0, 0)
	for i := range n {
		out = append(out, 0, 0, 8, framePing, 0, 0, 0, 0, 0)
		out = binary.BigEndian.AppendUint64(out, uint64(i))
	}
	if _, err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	for answered := 0; answered < n; {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			t.Fatalf("after %d answers: %v", answered, err)
		}
		body := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(c, body); err != nil {
			t.Fatal(err)
		}
		switch {
		case head[3] == frameGoAway:
			return binary.BigEndian.Uint32(body[4:]), string(body[8:])
		case head[3] == framePing && head[4]&flagAck != 0:
			answered++
		}
	}
	return 0, ""
}
