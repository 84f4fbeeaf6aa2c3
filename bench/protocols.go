//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/valyala/fasthttp"
	"github.com/vektah/gqlparser/v2/ast"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/generated"
	"github.com/polygate/gateway/graph/model"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// The names of the frontends, as the file has them.
const (
	rest          = "rest"
	graphQL       = "graphql"
	gRPC          = "grpc"
	channelAccess = "ca"
)

// restOnly is the start of a file with the REST frontend alone.
const restOnly = "frontends: {rest: {listen: \"127.0.0.1:0\"}}\nops: {listen: \"\"}\n"

// also adds a frontend to the REST interface, which tells when there are values.
func also(frontend string) string {
	if frontend == rest {
		return restOnly
	}
	return fmt.Sprintf("frontends: {rest: {listen: \"127.0.0.1:0\"}, %s: {listen: \"127.0.0.1:0\"}}\nops: {listen: \"\"}\n", frontend)
}

// A follower calls each with every sample that comes, and returns when each says so.
type follower func(ctx context.Context, where, match string, each func(name string, value float64) (more bool)) error

var followers = map[string]follower{rest: followREST, graphQL: followGraphQL, gRPC: followGRPC}

func followREST(ctx context.Context, where, match string, each func(string, float64) bool) error {
	body, err := openStream(ctx, where+"/api/v1/stream?match="+url.QueryEscape(match))
	if err != nil {
		return err
	}
	defer body.Close()
	scanner := bufio.NewScanner(body)
	for scanner.Scan() {
		if name, value, ok := counterOf(scanner.Bytes()); ok && !each(name, value) {
			return nil
		}
	}
	return fmt.Errorf("the stream ended: %w", scanner.Err())
}

// followGraphQL takes the batches that are encoded once for all.
func followGraphQL(ctx context.Context, where, match string, each func(string, float64) bool) error {
	query := fmt.Sprintf(`subscription { updates(match: %q) { batch } }`, match)
	body, err := openStream(ctx, where+"?query="+url.QueryEscape(query))
	if err != nil {
		return err
	}
	defer body.Close()
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		for rest := scanner.Bytes(); ; {
			at := bytes.Index(rest, []byte(`"name":"`))
			if at < 0 {
				break
			}
			next := bytes.Index(rest[at+1:], []byte(`"name":"`))
			event := rest[at:]
			if next >= 0 {
				event = rest[at : at+1+next]
			}
			if name, value, ok := namedValue(event); ok && !each(name, value) {
				return nil
			}
			if next < 0 {
				break
			}
			rest = rest[at+1+next:]
		}
	}
	return fmt.Errorf("the subscription ended: %w", scanner.Err())
}

func followGRPC(ctx context.Context, where, match string, each func(string, float64) bool) error {
	conn, err := grpc.NewClient(where, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := pb.NewGatewayServiceClient(conn).Watch(ctx, &pb.WatchRequest{Match: []string{match}})
	if err != nil {
		return err
	}
	for {
		batch, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, e := range batch.GetEvents() {
			if e.GetType() == pb.EventType_EVENT_TYPE_SAMPLE && !each(e.GetPath(), e.GetSample().GetValue().GetFloat64Value()) {
				return nil
			}
		}
	}
}

var fullRateGraphQL = measure{
	name: "full-rate-graphql", title: "the same to one GraphQL subscription of ready-made batches over SSE",
	target: "none missing, at most one core", run: func(b *bench) (outcome, error) { return runFullRate(b, graphQL) },
}

var fullRateGRPC = measure{
	name: "full-rate-grpc", title: "the same to one gRPC Watch",
	target: "none missing, at most one core", run: func(b *bench) (outcome, error) { return runFullRate(b, gRPC) },
}

var graphQuery = measure{
	name: "graphql", title: "GraphQL query of one attribute, requests a second over 16 connections, over a bare gqlgen server with a constant",
	target: "", run: runGraphQuery,
}

const oneAttribute = `{"query":"{ attribute(name: \"soft.v00000\") { name readback { value time seq alarm { severity status } } } }"}`

func runGraphQuery(b *bench) (outcome, error) {
	gateway, err := startGateway(b.gateway, also(graphQL)+softDevice(1000))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	if err := gateway.waitFor("soft.v00000"); err != nil {
		return outcome{}, err
	}
	floor, address, err := startFloor(graphQL)
	if err != nil {
		return outcome{}, err
	}
	defer floor.stop()
	const connections = 16
	ours := gateway.where[graphQL]
	r, err := compare(b.pairs,
		func() (float64, error) {
			return requestRate(call{fasthttp.MethodPost, ours, oneAttribute}, connections, b.window)
		},
		func() (float64, error) {
			return requestRate(call{fasthttp.MethodPost, "http://" + address + "/", oneAttribute}, connections, b.window)
		},
	)
	if err != nil {
		return outcome{}, err
	}
	return against(r, nil, fmt.Sprintf("%.0f of %.0f requests/s, one server core", r.Subject, r.Reference)), nil
}

// floorGraphQL is gqlgen as its documentation sets it up, with a constant behind it.
func floorGraphQL(listener net.Listener) error {
	constant := &model.Attribute{Of: &gateway.Attribute{
		Descriptor: &gateway.Descriptor{Path: "soft.v00000", Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Float64}}},
		Readback:   &gateway.Sample{Value: gateway.Of(0.0), Time: gateway.TimeOf(time.Now()), Seq: 1},
		Standing:   &gateway.Standing{},
	}}
	server := handler.New(generated.NewExecutableSchema(generated.Config{Resolvers: constantRoot{answer: constant}}))
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	return (&http.Server{Handler: server, ReadHeaderTimeout: time.Second}).Serve(listener)
}

// constantRoot answers the one query; what else there is has no resolver.
type constantRoot struct {
	generated.ResolverRoot
	answer *model.Attribute
}

func (r constantRoot) Query() generated.QueryResolver { return constantQuery{answer: r.answer} }

type constantQuery struct {
	generated.QueryResolver
	answer *model.Attribute
}

func (r constantQuery) Attribute(context.Context, string) (*model.Attribute, error) {
	return r.answer, nil
}

var watchCost = measure{
	name: "watch", title: "gRPC Watch at 100,000 updates/s: updates per processor second of the whole gateway (driver, bus and hub included), over a bare grpc-go stream of the same batches",
	target: "at least 0.8", run: runWatchCost,
}

// watchBatch is the number of events in one message of the floor; the gateway's
// own messages have about as many at this rate.
const watchBatch = 500

func runWatchCost(b *bench) (outcome, error) {
	const counters = 10_000
	ours, err := startGateway(b.gateway, also(gRPC)+countersDevice(counters, 10))
	if err != nil {
		return outcome{}, err
	}
	defer ours.stop()
	if err := ours.waitFor("TEST.CALC09999"); err != nil {
		return outcome{}, err
	}
	floor, address, err := startFloor(gRPC)
	if err != nil {
		return outcome{}, err
	}
	defer floor.stop()
	// One stream at a time: two together would share the servers' core.
	rate := func(where string, pid int) sampler {
		return func() (float64, error) { return samplesPerProcessorSecond(where, pid, time.Second) }
	}
	r, err := compare(b.pairs, rate(ours.where[gRPC], ours.pid), rate(address, floor.pid))
	if err != nil {
		return outcome{}, err
	}
	return against(r, atLeast(0.8), fmt.Sprintf("%.0f of %.0f updates per processor second", r.Subject, r.Reference)), nil
}

// samplesPerProcessorSecond follows a server for a while and divides what came
// by the processor time that it took.
func samplesPerProcessorSecond(where string, pid int, window time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	samples := 0
	var start time.Time
	var before, after time.Duration
	var cpuErr error
	err := followGRPC(ctx, where, "TEST.*", func(string, float64) bool {
		if start.IsZero() {
			start = time.Now()
			before, cpuErr = cpuTime(pid)
		}
		samples++
		if samples%watchBatch != 0 || time.Since(start) < window {
			return cpuErr == nil
		}
		after, cpuErr = cpuTime(pid)
		return false
	})
	if err == nil {
		err = cpuErr
	}
	if err != nil {
		return 0, err
	}
	return float64(samples) / (after - before).Seconds(), nil
}

// floorGRPC sends the batches that a gateway with 10,000 counters would, at the
// same rate, and does nothing else.
func floorGRPC(listener net.Listener) error {
	batch := &pb.WatchResponse{Cursor: "3w5e11264sgsf-zz"}
	now := time.Now().UnixNano()
	for i := range watchBatch {
		batch.Events = append(batch.Events, &pb.Event{
			Type: pb.EventType_EVENT_TYPE_SAMPLE, Path: fmt.Sprintf("TEST.CALC%05d", i), Role: pb.Role_ROLE_READBACK,
			Sample: &pb.Sample{
				Value: &pb.Value{Value: &pb.Value_Float64Value{Float64Value: float64(i)}}, TimeNs: now, LastGoodNs: now, Seq: uint64(now / 1000), Mask: 3,
				Alarm: &pb.Alarm{Severity: pb.Severity_SEVERITY_MINOR, Status: pb.Status_STATUS_HIGH, Text: "a counter is always in alarm"},
			},
		})
	}
	server := grpc.NewServer()
	pb.RegisterGatewayServiceServer(server, floorWatch{batch: batch})
	return server.Serve(listener)
}

type floorWatch struct {
	pb.UnimplementedGatewayServiceServer
	batch *pb.WatchResponse
}

func (f floorWatch) Watch(_ *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.WatchResponse]) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		for range 10_000 / watchBatch {
			if err := stream.Send(f.batch); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-ticker.C:
		}
	}
}
