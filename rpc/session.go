package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// A session is one stream of requests and answers. One goroutine receives and
// handles requests, one for each put waits for its verdict, and the handler's
// own is the only one that sends.
type session struct {
	server *Server
	stream grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]
	view   gateway.Session
	queue  gateway.Stream

	answers chan *pb.SessionResponse
	slots   chan struct{}  // one for each put that waits for its verdict
	puts    sync.WaitGroup // waits for verdicts

	mu      sync.Mutex // guards the rest, between receiving and sending
	watches map[uint64]*selection
	parts   map[gateway.WatchID]part
}

// Session implements pb.GatewayServiceServer.
func (s service) Session(st grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) error {
	// Everything of the session ends when the handler returns.
	ctx, cancel := context.WithCancelCause(st.Context())
	defer cancel(nil)
	view := s.session(ctx)
	sub, err := s.streams.open("session", peerOf(ctx), view)
	if err != nil {
		return err
	}
	defer s.streams.close(sub)
	x := &session{
		server: s.Server, stream: st, view: view, queue: sub.queue,
		answers: make(chan *pb.SessionResponse, maxAnswers), slots: make(chan struct{}, maxPuts),
		watches: map[uint64]*selection{}, parts: map[gateway.WatchID]part{},
	}
	// Receive returns only once gRPC has ended the call, after this handler
	// has returned; Serve waits for it.
	received := make(chan struct{})
	s.readers.Go(func() {
		var err error
		defer func() {
			if err != nil {
				cancel(err)
			}
			x.puts.Wait()
			close(received)
		}()
		defer s.recovered("Session", &err)
		err = x.receive(ctx)
	})
	return x.serve(ctx, received)
}

// serve sends until the client goes away, the frontend stops, or the client has
// closed its side and nothing is left to answer.
func (x *session) serve(ctx context.Context, received <-chan struct{}) error {
	out := &sender{server: x.server, queue: x.queue, parts: x.parts, send: x.sendBatch}
	quiet := time.NewTimer(x.server.limits.keepAlive)
	defer quiet.Stop()
	// The empty answer tells the client at once that the session has begun.
	err := x.stream.Send(&pb.SessionResponse{})
	for err == nil {
		quiet.Reset(x.server.limits.keepAlive)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case a := <-x.answers:
			err = x.stream.Send(a)
		case <-x.queue.Ready():
			x.mu.Lock()
			err = out.drain(ctx)
			x.mu.Unlock()
		case <-quiet.C:
			err = x.stream.Send(&pb.SessionResponse{})
		case <-received:
			received = nil
			if len(x.watches) == 0 {
				return x.finish()
			}
		}
	}
	return err
}

// finish sends the answers that are left once nobody adds any.
func (x *session) finish() error {
	for {
		select {
		case a := <-x.answers:
			if err := x.stream.Send(a); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// sendBatch sends a batch as the SessionResponse of its watch.
func (x *session) sendBatch(of *selection, batch frame) error {
	const idField, watchField = 1, 2
	size := 0
	for _, part := range batch {
		size += len(part)
	}
	head := make([]byte, 0, 24)
	head = protowire.AppendTag(head, idField, protowire.VarintType)
	head = protowire.AppendVarint(head, of.id)
	head = protowire.AppendTag(head, watchField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(size))
	return x.stream.SendMsg(append(frame{head}, batch...))
}

// receive handles requests until the client has no more. A request that fails
// is answered; it does not end the session.
func (x *session) receive(ctx context.Context) error {
	for {
		r, err := x.stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		a, err := x.handle(ctx, r)
		if err != nil {
			a = failed(err)
		}
		if a != nil {
			x.answer(ctx, r.GetId(), a)
		}
	}
}

// handle returns the answer, or nil if it comes later.
func (x *session) handle(ctx context.Context, r *pb.SessionRequest) (*pb.SessionResponse, error) {
	switch asked := r.GetRequest().(type) {
	case *pb.SessionRequest_Watch:
		return nil, x.watch(r.GetId(), asked.Watch)
	case *pb.SessionRequest_Unwatch:
		return &pb.SessionResponse{Response: &pb.SessionResponse_Unwatch{Unwatch: &pb.UnwatchResponse{}}}, x.unwatch(r.GetId())
	case *pb.SessionRequest_Put:
		return nil, x.start(ctx, r.GetId(), func() (*pending, error) { return startPut(ctx, x.view, asked.Put) }, func(v *pb.Verdict) *pb.SessionResponse {
			return &pb.SessionResponse{Response: &pb.SessionResponse_Put{Put: &pb.PutResponse{Verdict: v}}}
		})
	case *pb.SessionRequest_Execute:
		return nil, x.start(ctx, r.GetId(), func() (*pending, error) { return startExecute(ctx, x.view, asked.Execute) }, func(v *pb.Verdict) *pb.SessionResponse {
			return &pb.SessionResponse{Response: &pb.SessionResponse_Execute{Execute: &pb.ExecuteResponse{Verdict: v}}}
		})
	case *pb.SessionRequest_Refresh:
		return nil, x.start(ctx, r.GetId(), func() (*pending, error) { return startRefresh(ctx, x.view, asked.Refresh) }, func(v *pb.Verdict) *pb.SessionResponse {
			return &pb.SessionResponse{Response: &pb.SessionResponse_Refresh{Refresh: &pb.RefreshResponse{Verdict: v}}}
		})
	case *pb.SessionRequest_Get:
		page, err := get(x.view, asked.Get)
		return &pb.SessionResponse{Response: &pb.SessionResponse_Get{Get: page}}, err
	case *pb.SessionRequest_Describe:
		page, err := describe(x.view, asked.Describe)
		return &pb.SessionResponse{Response: &pb.SessionResponse_Describe{Describe: page}}, err
	}
	return nil, malformed("request", "a request is watch, unwatch, put, execute, refresh, get or describe")
}

func (x *session) watch(id uint64, r *pb.WatchRequest) error {
	s, err := selectionOf(x.view, r)
	if err != nil {
		return err
	}
	s.id = id
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, taken := x.watches[id]; taken {
		return malformed("id", "there is a watch with the id %d already", id)
	}
	if err := s.begin(x.queue, x.parts); err != nil {
		return err
	}
	x.watches[id] = s
	return nil
}

func (x *session) unwatch(id uint64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, known := x.watches[id]
	if !known {
		return blame("id", gateway.Errorf(gateway.KindNotFound, "there is no watch with the id %d", id))
	}
	s.end(x.queue, x.parts)
	delete(x.watches, id)
	return nil
}

// start sends a put on its way and lets a goroutine of its own wait for the
// verdict: a slow or lost device must not hold up what the client asks next.
func (x *session) start(ctx context.Context, id uint64, put func() (*pending, error), answer func(*pb.Verdict) *pb.SessionResponse) error {
	select {
	case x.slots <- struct{}{}:
	default:
		return &gateway.Error{
			Kind: gateway.KindBusy, Stage: gateway.StageRefused,
			Msg: "too many puts of this session wait for a verdict already",
		}
	}
	p, err := put()
	if err != nil {
		<-x.slots
		return err
	}
	x.puts.Go(func() {
		defer func() { <-x.slots }()
		verdict, err := p.wait(ctx)
		if err != nil {
			x.answer(ctx, id, failed(err))
			return
		}
		x.answer(ctx, id, answer(verdict))
	})
	return nil
}

// answer queues an answer. It waits while too many wait already: a client that
// does not read its answers cannot ask more.
func (x *session) answer(ctx context.Context, id uint64, a *pb.SessionResponse) {
	a.Id = id
	select {
	case x.answers <- a:
	case <-ctx.Done():
	}
}

func failed(err error) *pb.SessionResponse {
	e := gateway.AsError(err)
	return &pb.SessionResponse{Response: &pb.SessionResponse_Error{Error: &pb.Error{
		Kind: pb.ErrorKind(e.Kind), Stage: pb.Stage(e.Stage), Message: bounded(e.Msg), DeviceWords: bounded(e.DeviceWords),
	}}}
}
