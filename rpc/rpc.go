// Package rpc serves the hub's view over gRPC: the GatewayService of
// proto/polygate/v1, with server reflection and the health service beside it.
//
// It knows the view alone and keeps nothing. Each stream has one goroutine that
// sends, fed by one bounded queue of the hub, so a client that does not read
// costs a bounded amount of memory and holds nobody up. What is streamed is
// written by package proto straight from the samples, without generated
// messages in between.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/connlimit"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// Config is the section "frontends.grpc" of the configuration file.
type Config struct {
	Listen      string `yaml:"listen" jsonschema:"description=Address of the gRPC interface"`
	MaxMessage  int    `yaml:"max_message,omitempty" jsonschema:"description=Largest request in bytes"`
	Connections int    `yaml:"connections,omitempty" jsonschema:"description=Most connections at a time"`
	Streams     int    `yaml:"streams,omitempty" jsonschema:"description=Most watches and sessions at a time"`
}

// DefaultConfig serves this host only.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:50051", MaxMessage: 4 << 20, Connections: 4096, Streams: 2048}
}

const protocol = "grpc"

// Server is the gRPC frontend.
type Server struct {
	cfg    Config
	limits limits
	view   gateway.View
	log    zerolog.Logger

	grpc     *grpc.Server
	health   *health.Server
	listener *connlimit.Listener
	streams  streams
	events   sync.Pool // of *[]gateway.Event
	shared   shared

	// readers read the requests of sessions. They end with the call, but not
	// before its handler has returned.
	readers sync.WaitGroup

	// stopping ends when streams are to end.
	stopping context.Context
	stop     context.CancelFunc
}

// service is what gRPC calls; the methods are no part of Server.
type service struct {
	pb.UnimplementedGatewayServiceServer
	*Server
}

var _ pb.GatewayServiceServer = service{}

// New makes the frontend. It opens nothing.
func New(cfg Config, view gateway.View, log zerolog.Logger) *Server {
	return newServer(cfg, view, log, defaultLimits())
}

func newServer(cfg Config, view gateway.View, log zerolog.Logger, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, view: view, log: log, health: health.NewServer()}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.streams.limit = cfg.Streams
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(cfg.MaxMessage),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.MaxHeaderListSize(maxHead),
		grpc.ConnectionTimeout(l.handshake),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: l.silence, Timeout: l.pong}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: l.ping, PermitWithoutStream: true}),
		grpc.ReadBufferSize(readBuffer),
		grpc.WaitForHandlers(true),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.UnaryInterceptor(s.interceptCall),
		grpc.StreamInterceptor(s.interceptStream),
	)
	pb.RegisterGatewayServiceServer(s.grpc, service{Server: s})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus(pb.GatewayService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	reflection.Register(s.grpc)
	return s
}

// Listen binds the address.
func (s *Server) Listen(ctx context.Context) error {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: s.limits.silence / 2, Interval: s.limits.silence / 6, Count: 3,
	}}
	inner, err := config.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s (frontends.grpc.listen): %w", s.cfg.Listen, err)
	}
	s.listener = connlimit.New(inner, s.cfg.Connections)
	return nil
}

// Addr returns the bound address, useful with port 0. It is valid after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends. Then health says NOT_SERVING, streams end with
// UNAVAILABLE, calls under way may finish for a few seconds, and what is left
// is cut. It returns when nothing of it runs any more.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.grpc.Serve(s.listener) }()
	var died error
	select {
	case err := <-ended:
		died = fmt.Errorf("serving on %s: %w", s.cfg.Listen, err)
	case <-ctx.Done():
	}
	s.health.Shutdown()
	s.streams.end()
	s.stop()
	limit := time.AfterFunc(s.limits.drain, s.grpc.Stop)
	defer limit.Stop()
	s.grpc.GracefulStop()
	if died == nil {
		// Before its first connection a server that is stopped calls that an error.
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			died = fmt.Errorf("serving on %s: %w", s.cfg.Listen, err)
		}
	}
	s.readers.Wait()
	return died
}

// Status is what the status page shows of the frontend.
func (s *Server) Status() any {
	return struct {
		Listen      string         `json:"listen"`
		Connections int64          `json:"connections"`
		Streams     []StreamStatus `json:"streams"`
	}{s.cfg.Listen, s.listener.Count(), s.streams.status()}
}
