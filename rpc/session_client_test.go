package rpc

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// sessionClient is a user of one session. Whoever waits for an answer receives for
// all, so that nothing is received while nobody waits.
type sessionClient struct {
	conn   *grpc.ClientConn
	cancel context.CancelFunc
	stream grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]
	err    error         // of opening the stream
	turn   chan struct{} // to receive

	mu    sync.Mutex
	next  uint64
	inbox map[uint64]*inbox
}

type inbox struct {
	ready   chan struct{}
	answers []*pb.SessionResponse
}

var (
	_ frontendtest.Lister         = (*sessionClient)(nil)
	_ frontendtest.PatternWatcher = (*sessionClient)(nil)
	_ frontendtest.Resumer        = (*sessionClient)(nil)
)

func dialSession(conn *grpc.ClientConn) frontendtest.Client {
	ctx, cancel := context.WithCancel(context.Background())
	c := &sessionClient{conn: conn, cancel: cancel, turn: make(chan struct{}, 1), inbox: map[uint64]*inbox{}}
	c.stream, c.err = pb.NewGatewayServiceClient(conn).Session(ctx)
	return c
}

func (c *sessionClient) Code(kind gateway.ErrorKind) string { return kind.String() }

func (c *sessionClient) Close() error {
	c.cancel()
	return c.conn.Close()
}

// send sends a request under an id of its own.
func (c *sessionClient) send(r *pb.SessionRequest) (uint64, error) {
	if c.err != nil {
		return 0, c.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	r.Id = c.next
	c.inbox[r.Id] = &inbox{ready: make(chan struct{}, 1)}
	return r.Id, c.stream.Send(r)
}

func (c *sessionClient) take(id uint64) (*pb.SessionResponse, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	box := c.inbox[id]
	if len(box.answers) == 0 {
		return nil, false
	}
	a := box.answers[0]
	box.answers = box.answers[1:]
	return a, true
}

func (c *sessionClient) receive(ctx context.Context, id uint64) (*pb.SessionResponse, error) {
	c.mu.Lock()
	ready := c.inbox[id].ready
	c.mu.Unlock()
	for {
		if a, ok := c.take(id); ok {
			if e := a.GetError(); e != nil {
				return a, &frontendtest.ProtocolError{Code: gateway.ErrorKind(e.GetKind()).String(), Words: e.GetMessage()}
			}
			return a, nil
		}
		select {
		case <-ready:
		case c.turn <- struct{}{}:
			err := c.receiveFor(ctx, ready)
			<-c.turn
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// receiveFor receives one answer, unless the one that is waited for has come meanwhile.
func (c *sessionClient) receiveFor(ctx context.Context, ready chan struct{}) error {
	select {
	case <-ready:
		return nil
	default:
	}
	defer context.AfterFunc(ctx, c.cancel)()
	a, err := c.stream.Recv()
	if err != nil {
		return err
	}
	if a.GetId() == 0 {
		return nil // a sign of life
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	box := c.inbox[a.GetId()]
	if box == nil {
		return fmt.Errorf("an answer for nobody: %v", a)
	}
	box.answers = append(box.answers, a)
	select {
	case box.ready <- struct{}{}:
	default:
	}
	return nil
}

func (c *sessionClient) ask(ctx context.Context, r *pb.SessionRequest) (*pb.SessionResponse, error) {
	id, err := c.send(r)
	if err != nil {
		return nil, err
	}
	return c.receive(ctx, id)
}

func (c *sessionClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	a, err := c.ask(ctx, &pb.SessionRequest{Request: &pb.SessionRequest_Get{Get: &pb.GetRequest{Paths: []string{path}}}})
	if err != nil {
		return frontendtest.Reading{}, err
	}
	return reading(a.GetGet().GetAttributes()[0]), nil
}

func (c *sessionClient) Put(ctx context.Context, put frontendtest.Put) error {
	_, err := c.ask(ctx, &pb.SessionRequest{Request: &pb.SessionRequest_Put{Put: putRequest(put)}})
	return err
}

func (c *sessionClient) Execute(ctx context.Context, path string) error {
	_, err := c.ask(ctx, &pb.SessionRequest{Request: &pb.SessionRequest_Execute{Execute: &pb.ExecuteRequest{Path: path}}})
	return err
}

func (c *sessionClient) List(ctx context.Context, match string) ([]string, error) {
	a, err := c.ask(ctx, &pb.SessionRequest{Request: &pb.SessionRequest_Describe{Describe: &pb.DescribeRequest{Match: match}}})
	var names []string
	for _, d := range a.GetDescribe().GetDescriptors() {
		names = append(names, d.GetPath())
	}
	return names, err
}

func (c *sessionClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	return c.Resume(ctx, path, "")
}

func (c *sessionClient) WatchPattern(ctx context.Context, match string) (frontendtest.Watch, error) {
	return c.Resume(ctx, match, "")
}

func (c *sessionClient) Resume(ctx context.Context, path, cursor string) (frontendtest.Watch, error) {
	id, err := c.send(&pb.SessionRequest{Request: &pb.SessionRequest_Watch{Watch: &pb.WatchRequest{Match: []string{path}, Cursor: cursor}}})
	if err != nil {
		return nil, err
	}
	w := &sessionWatch{client: c, id: id}
	err = w.fill(ctx) // the first events are the confirmation
	return w, err
}

type sessionWatch struct {
	client *sessionClient
	id     uint64
	queued []frontendtest.Event
}

func (w *sessionWatch) fill(ctx context.Context) error {
	a, err := w.client.receive(ctx, w.id)
	w.queued = append(w.queued, shownEvents(a.GetWatch())...)
	return err
}

func (w *sessionWatch) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.queued) == 0 {
		if err := w.fill(ctx); err != nil {
			return frontendtest.Event{}, err
		}
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

func (w *sessionWatch) Close() error {
	w.client.mu.Lock()
	defer w.client.mu.Unlock()
	return w.client.stream.Send(&pb.SessionRequest{Id: w.id, Request: &pb.SessionRequest_Unwatch{Unwatch: &pb.UnwatchRequest{}}})
}
