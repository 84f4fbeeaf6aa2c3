package rpc

import (
	"context"
	"testing"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

func TestSuiteOverCalls(t *testing.T) {
	frontendtest.Run(t, startWith(func(c *grpc.ClientConn) frontendtest.Client {
		return &callClient{conn: c, client: pb.NewGatewayServiceClient(c)}
	}))
}

func TestSuiteOverSessions(t *testing.T) {
	frontendtest.Run(t, startWith(dialSession))
}

func startWith(client func(*grpc.ClientConn) frontendtest.Client) frontendtest.Start {
	return func(t testing.TB, view gateway.View) *frontendtest.Frontend {
		s := New(testConfig(), view, zerolog.Nop())
		stop := serve(t, s)
		return &frontendtest.Frontend{
			Protocol: "grpc",
			Stop:     func(context.Context) error { return stop() },
			Dial: func(t testing.TB) frontendtest.Client {
				c, err := grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					t.Fatal(err)
				}
				return client(c)
			},
		}
	}
}

// callClient is a user of single calls.
type callClient struct {
	conn   *grpc.ClientConn
	client pb.GatewayServiceClient
}

var (
	_ frontendtest.Lister         = (*callClient)(nil)
	_ frontendtest.PatternWatcher = (*callClient)(nil)
	_ frontendtest.Resumer        = (*callClient)(nil)
)

func (c *callClient) Code(kind gateway.ErrorKind) string { return kind.String() }
func (c *callClient) Close() error                       { return c.conn.Close() }

// protocolError is err as the suite wants it.
func protocolError(err error) error {
	if info := infoOf(err); info.GetReason() != "" {
		return &frontendtest.ProtocolError{Code: info.GetReason(), Words: status.Convert(err).Message()}
	}
	return err
}

func (c *callClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	r, err := c.client.Get(ctx, &pb.GetRequest{Paths: []string{path}})
	if err != nil {
		return frontendtest.Reading{}, protocolError(err)
	}
	return reading(r.GetAttributes()[0]), nil
}

func putRequest(put frontendtest.Put) *pb.PutRequest {
	r := &pb.PutRequest{Path: put.Path, Input: &pb.PutRequest_Json{Json: put.Value}, Mode: pb.Mode(put.Mode)}
	if put.Budget > 0 {
		r.Budget = durationpb.New(put.Budget)
	}
	return r
}

func (c *callClient) Put(ctx context.Context, put frontendtest.Put) error {
	_, err := c.client.Put(ctx, putRequest(put))
	return protocolError(err)
}

func (c *callClient) Execute(ctx context.Context, path string) error {
	_, err := c.client.Execute(ctx, &pb.ExecuteRequest{Path: path})
	return protocolError(err)
}

func (c *callClient) List(ctx context.Context, match string) ([]string, error) {
	var names []string
	for token := ""; ; {
		r, err := c.client.Describe(ctx, &pb.DescribeRequest{Match: match, PageSize: 5, PageToken: token})
		if err != nil {
			return nil, protocolError(err)
		}
		for _, d := range r.GetDescriptors() {
			names = append(names, d.GetPath())
		}
		if token = r.GetNextPageToken(); token == "" {
			return names, nil
		}
	}
}

func (c *callClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	return c.Resume(ctx, path, "")
}

func (c *callClient) WatchPattern(ctx context.Context, match string) (frontendtest.Watch, error) {
	return c.Resume(ctx, match, "")
}

func (c *callClient) Resume(ctx context.Context, path, cursor string) (frontendtest.Watch, error) {
	own, cancel := context.WithCancel(context.Background())
	st, err := c.client.Watch(own, &pb.WatchRequest{Match: []string{path}, Cursor: cursor})
	if err != nil {
		cancel()
		return nil, protocolError(err)
	}
	w := &callWatch{cancel: cancel, stream: st}
	if err := w.fill(ctx); err != nil { // the empty batch says that it has begun
		cancel()
		return nil, protocolError(err)
	}
	return w, nil
}

// callWatch is one stream of a Watch.
type callWatch struct {
	cancel context.CancelFunc
	stream grpc.ServerStreamingClient[pb.WatchResponse]
	queued []frontendtest.Event
}

func (w *callWatch) fill(ctx context.Context) error {
	defer context.AfterFunc(ctx, w.cancel)()
	b, err := w.stream.Recv()
	w.queued = append(w.queued, shownEvents(b)...)
	return err
}

func (w *callWatch) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.queued) == 0 {
		if err := w.fill(ctx); err != nil {
			return frontendtest.Event{}, err
		}
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

func (w *callWatch) Close() error {
	w.cancel()
	return nil
}
