package rpc

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/polygate/gateway"
)

// interceptCall does what holds for every call with one answer.
func (s *Server) interceptCall(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	defer func() { err = statusOf(err) }()
	defer s.recovered(info.FullMethod, &err)
	return handler(ctx, request)
}

// interceptStream does what holds for every stream.
func (s *Server) interceptStream(srv any, inner grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() { err = statusOf(err) }()
	defer s.recovered(info.FullMethod, &err)
	ctx, cancel := context.WithCancelCause(inner.Context())
	defer cancel(nil)
	st := &stream{ServerStream: inner, ctx: ctx}
	if strings.HasPrefix(info.FullMethod, "/"+healthpb.Health_ServiceDesc.ServiceName+"/") {
		st.sent = func() {
			if s.stopping.Err() != nil {
				cancel(errStopping) // it has been told that we stop
			}
		}
	} else {
		defer context.AfterFunc(s.stopping, func() { cancel(errStopping) })()
	}
	err = handler(srv, st)
	if errors.Is(context.Cause(ctx), errStopping) {
		return errStopping
	}
	return err
}

// stream is a stream whose context also ends when the frontend stops.
type stream struct {
	grpc.ServerStream
	ctx  context.Context
	sent func() // called after each message, or nil
}

// Context implements grpc.ServerStream.
func (s *stream) Context() context.Context { return s.ctx }

// SendMsg implements grpc.ServerStream.
func (s *stream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if s.sent != nil {
		s.sent()
	}
	return err
}

// recovered turns a panic into an error: a fault in one call must not end the
// serving of instruments to all others.
func (s *Server) recovered(method string, err *error) {
	if fault := recover(); fault != nil {
		s.log.Error().Interface("fault", fault).Str("method", method).Bytes("stack", debug.Stack()).Msg("call failed")
		*err = gateway.Errorf(gateway.KindInternal, "a fault of the gateway; its log has more")
	}
}

// session returns the view of whoever calls.
func (s *Server) session(ctx context.Context) gateway.Session {
	caller := gateway.Caller{Protocol: protocol, Peer: peerOf(ctx)}
	if ids := metadata.ValueFromIncomingContext(ctx, "x-request-id"); len(ids) > 0 {
		caller.Correlation = strings.ToValidUTF8(ids[0][:min(len(ids[0]), maxCorrelation)], "")
	}
	return s.view.For(caller)
}

func peerOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}
