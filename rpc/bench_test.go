//go:build unix

package rpc

import (
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// BenchmarkWatch measures what a sample costs in processor time, client and
// kernel included, beside bare grpc-go streams of the same batches in turn: one
// that sends generated messages, and one that sends bytes that are ready.
func BenchmarkWatch(b *testing.B) {
	for _, x := range []struct {
		name     string
		events   []gateway.Event
		messages int // that a lane sends in its turn
	}{
		{"batch=1", benchEvents(1), 20000},
		{"batch=10", benchEvents(10), 2000},
		{"batch=100", benchEvents(100), 200},
		{"batch=500", benchEvents(500), 40},
		{"wave", []gateway.Event{*waveEvent(1)}, 2000},
	} {
		b.Run(x.name, func(b *testing.B) {
			events := x.events
			generated := message(b, events)
			ready, err := proto.Marshal(generated)
			if err != nil {
				b.Fatal(err)
			}
			view := &flood{events: events, opened: make(chan *floodStream, 1)}
			server := New(testConfig(), view, zerolog.Nop())
			serve(b, server)
			receive := watchRaw(b, server.Addr().String())
			stream := <-view.opened
			lanes := []lane{
				{name: "ours", send: stream.run, receive: receive},
				bareLane(b, "generated", generated), bareLane(b, "ready", frame{ready}),
			}
			for range b.N {
				for i := range lanes {
					lanes[i].turn(b, x.messages, len(events)*x.messages)
				}
			}
			ours := lanes[0].median()
			b.ReportMetric(ours, "ns/sample")
			for _, l := range lanes[1:] {
				b.ReportMetric(l.median(), l.name+"-ns/sample")
				b.ReportMetric(l.median()/ours, "of-"+l.name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A lane is one server with one client.
type lane struct {
	name    string
	send    func(messages int)
	receive func() error
	costs   []float64
}

func (l *lane) turn(b *testing.B, messages, samples int) {
	b.Helper()
	before := processorTime(b)
	l.send(messages)
	for range messages {
		if err := l.receive(); err != nil {
			b.Fatal(err)
		}
	}
	l.costs = append(l.costs, float64(processorTime(b)-before)/float64(samples))
}

func (l *lane) median() float64 {
	slices.Sort(l.costs)
	return l.costs[len(l.costs)/2]
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A flood is a view whose streams have the same events to take again and again.
type flood struct {
	gateway.Session
	events []gateway.Event
	opened chan *floodStream
}

func (f *flood) For(gateway.Caller) gateway.Session { return f }

func (f *flood) Open(gateway.StreamOptions) gateway.Stream {
	s := &floodStream{flood: f, ready: make(chan struct{}, 1)}
	f.opened <- s
	return s
}

type floodStream struct {
	gateway.Stream
	*flood
	ready chan struct{}
	left  atomic.Int64
}

// run has the events taken n times.
func (s *floodStream) run(n int) {
	s.left.Store(int64(n))
	s.ready <- struct{}{}
}

func (s *floodStream) Watch(gateway.WatchOptions) (gateway.WatchID, error) { return 1, nil }
func (s *floodStream) Unwatch(gateway.WatchID)                             {}
func (s *floodStream) Close()                                              {}
func (s *floodStream) Ready() <-chan struct{}                              { return s.ready }

func (s *floodStream) Take(buf []gateway.Event) []gateway.Event {
	if s.left.Add(-1) > 0 {
		s.ready <- struct{}{}
	}
	return append(buf, s.events...)
}

// message is what the events are as generated code has it.
func message(tb testing.TB, events []gateway.Event) *pb.WatchResponse {
	tb.Helper()
	s := &selection{options: make([]gateway.WatchOptions, 1)}
	for i := range events {
		if _, err := (part{s, 0}).add(&events[i], &shared{}); err != nil {
			tb.Fatal(err)
		}
	}
	m := &pb.WatchResponse{}
	if err := proto.Unmarshal(slices.Concat(s.take()...), m); err != nil {
		tb.Fatal(err)
	}
	return m
}

// bareLane is a server without a gateway, which sends the same message again and again.
func bareLane(b *testing.B, name string, message any) lane {
	b.Helper()
	x := &bare{message: message, start: make(chan int)}
	s := New(testConfig(), nil, zerolog.Nop())
	s.grpc = grpc.NewServer(grpc.ForceServerCodecV2(newCodec()))
	pb.RegisterGatewayServiceServer(s.grpc, x)
	serve(b, s)
	return lane{name: name, send: func(n int) { x.start <- n }, receive: watchRaw(b, s.Addr().String())}
}

type bare struct {
	pb.UnimplementedGatewayServiceServer
	message any
	start   chan int
}

func (x *bare) Watch(_ *pb.WatchRequest, st grpc.ServerStreamingServer[pb.WatchResponse]) error {
	if err := st.SendMsg(frame{}); err != nil {
		return err
	}
	for {
		select {
		case n := <-x.start:
			for range n {
				if err := st.SendMsg(x.message); err != nil {
					return err
				}
			}
		case <-st.Context().Done():
			return nil
		}
	}
}

// raw is a client's codec that leaves answers as they are, so that a benchmark
// does not measure how generated code reads them.
type raw struct{ codec }

// Unmarshal implements encoding.CodecV2.
func (raw) Unmarshal(mem.BufferSlice, any) error { return nil }

// watchRaw watches and returns what waits for the next message.
func watchRaw(tb testing.TB, address string) (receive func() error) {
	tb.Helper()
	client := pb.NewGatewayServiceClient(dial(tb, address, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{newCodec()}))))
	st, err := client.Watch(tb.Context(), &pb.WatchRequest{})
	if err != nil {
		tb.Fatal(err)
	}
	var unread pb.WatchResponse
	receive = func() error { return st.RecvMsg(&unread) }
	if err := receive(); err != nil { // the first is empty
		tb.Fatal(err)
	}
	return receive
}
