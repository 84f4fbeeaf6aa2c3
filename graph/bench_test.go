package graph

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/coder/websocket"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/generated"
	"github.com/polygate/gateway/graph/model"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

// bench is the frontend on a real socket, on a hub with a device of n numbers.
func newBench(b *testing.B, n int) (url string, source *hubtest.Device, settle func()) {
	b.Helper()
	bus := hubtest.NewBus()
	h := hub.New(bus, hub.Options{})
	descriptors := make([]*gateway.Descriptor, n)
	for i := range descriptors {
		descriptors[i] = hubtest.Float(benchPath(i), gateway.AccessRead)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = h.Serve(ctx) })
	source = hubtest.NewDevice(bus, "bench", descriptors...)
	cfg := DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	s := New(cfg, h, zerolog.Nop())
	if err := s.Listen(ctx); err != nil {
		b.Fatal(err)
	}
	parts.Go(func() { _ = s.Serve(ctx) })
	b.Cleanup(func() {
		cancel()
		parts.Wait()
	})
	return "http://" + s.Addr().String() + "/graphql", source, func() {
		if err := bus.Settle(ctx); err != nil {
			b.Error(err)
		}
	}
}

func benchPath(i int) gateway.Path { return gateway.Path(fmt.Sprintf("bench.v%05d", i)) }

const benchQuery = `{"query":"{ attribute(name: \"bench.v00000\") { name readback { value time seq alarm { severity status } } } }"}`

// BenchmarkQuery compares a query of one attribute with the same query to
// gqlgen's own server whose resolver returns a constant.
func BenchmarkQuery(b *testing.B) {
	url, source, settle := newBench(b, 1)
	source.Set(benchPath(0), gateway.Of(1.5))
	settle()
	floor := bareServer(b)
	for _, x := range []struct{ name, url string }{{"graph", url}, {"bare", floor}, {"graph-again", url}, {"bare-again", floor}} {
		b.Run(x.name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				response, err := client.Post(x.url, jsonType, bytes.NewReader([]byte(benchQuery)))
				if err != nil {
					b.Fatal(err)
				}
				data, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || !bytes.Contains(data, []byte(`"value":1.5`)) {
					b.Fatalf("%v: %s", err, data)
				}
			}
		})
	}
}

// bareServer is gqlgen as its documentation sets it up, with a constant behind it.
func bareServer(b *testing.B) string {
	constant := &gateway.Attribute{
		Descriptor: hubtest.Float("bench.v00000", gateway.AccessRead),
		Readback:   &gateway.Sample{Value: gateway.Of(1.5), Seq: 1},
		Standing:   &gateway.Standing{},
	}
	s := handler.New(generated.NewExecutableSchema(generated.Config{Resolvers: constantRoot{answer: &model.Attribute{Of: constant}}}))
	s.AddTransport(transport.POST{})
	s.SetQueryCache(lru.New[*ast.QueryDocument](1000))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: s} //nolint:gosec // For this process alone.
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(inner) })
	b.Cleanup(func() {
		_ = server.Close()
		done.Wait()
	})
	return "http://" + inner.Addr().String()
}

type constantRoot struct {
	resolvers
	answer *model.Attribute
}

func (r constantRoot) Query() generated.QueryResolver { return constantQuery{answer: r.answer} }

type constantQuery struct {
	queryResolver
	answer *model.Attribute
}

func (r constantQuery) Attribute(context.Context, string) (*model.Attribute, error) {
	return r.answer, nil
}

// reader counts events by their mark in the text, as a client that does nothing else.
type reader struct {
	ws   *websocket.Conn
	seen atomic.Int64
	more chan struct{}
}

func newReader(b *testing.B, url, fields string) *reader {
	b.Helper()
	ws, response, err := websocket.Dial(b.Context(), url, &websocket.DialOptions{Subprotocols: []string{transportWS}})
	if err != nil {
		b.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	ws.SetReadLimit(-1)
	for _, text := range []string{`{"type":"connection_init"}`, `{"id":"1","type":"subscribe","payload":{"query":"subscription { updates(match: \"bench.*\") { ` + fields + ` } }"}}`} {
		if err := ws.Write(b.Context(), websocket.MessageText, []byte(text)); err != nil {
			b.Fatal(err)
		}
	}
	r := &reader{ws: ws, more: make(chan struct{}, 1)}
	for {
		_, data, err := ws.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(data, []byte(`"SYNCED"`)) {
			break
		}
	}
	return r
}

func (r *reader) read() {
	for {
		_, data, err := r.ws.Read(context.Background())
		if err != nil {
			return
		}
		r.seen.Add(int64(bytes.Count(data, []byte(`"type":"SAMPLE"`))))
		select {
		case r.more <- struct{}{}:
		default:
		}
	}
}

func (r *reader) await(n int64) {
	for r.seen.Load() < n {
		<-r.more
	}
}

const benchEvents = `events { type name role sample { value time seq alarm { severity status } } }`

// BenchmarkUpdates sends rounds of 1,000 changes to subscribers. An operation is
// one change that every one of them has read; none may be missing.
func BenchmarkUpdates(b *testing.B) {
	for _, fields := range []struct{ name, text string }{{"batch", "batch"}, {"events", benchEvents}} {
		for _, n := range []int{1, 10, 100, 1000} {
			b.Run(fmt.Sprintf("%s/subscribers=%d", fields.name, n), func(b *testing.B) { benchmarkUpdates(b, fields.text, n) })
		}
	}
}

func benchmarkUpdates(b *testing.B, fields string, n int) {
	const width = 1000
	url, source, _ := newBench(b, width)
	readers := make([]*reader, n)
	var reading sync.WaitGroup
	for i := range readers {
		readers[i] = newReader(b, url, fields)
		reading.Go(readers[i].read)
	}
	changes := make([]hubtest.Change, width)
	b.ReportAllocs()
	b.ResetTimer()
	for sent := int64(0); sent < int64(b.N); sent += width {
		for i := range changes {
			changes[i] = hubtest.Change{Path: benchPath(i), Role: gateway.Readback, Value: gateway.Of(float64(sent + int64(i)))}
		}
		source.Update(changes...)
		for _, r := range readers {
			r.await(sent + width)
		}
	}
	b.StopTimer()
	for _, r := range readers {
		_ = r.ws.CloseNow()
	}
	reading.Wait()
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "updates/s")
}
