// Package graph serves the hub's view as GraphQL: queries and mutations by POST
// and GET, subscriptions by WebSocket and as server-sent events, and a page to
// explore it all. The schema is schema.graphqls.
//
// gqlgen parses, checks and executes; the transports are here, since a stream of
// an instrument has to be bounded, to end in time, and to say why. The package
// knows the view alone. It keeps nothing but encoded copies of the newest samples,
// which it makes once for all clients when the first one asks.
//
// A command's name is no attribute's, and the other way round. The schema is the
// same for all attributes: what can be written and what cannot is told by the
// descriptor, and by an error read_only.
package graph

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/connlimit"
	"github.com/polygate/gateway/internal/fanout"
	"github.com/polygate/gateway/internal/webguard"
)

// Config is the section "frontends.graphql" of the configuration file.
type Config struct {
	Listen string `yaml:"listen" jsonschema:"description=Address of the GraphQL interface and its page"`
	// Origins may use the interface from pages of another origin, WebSockets
	// included; "*" is any.
	Origins []string `yaml:"origins,omitempty" jsonschema:"description=Origins of web pages that may use the interface from a browser; * is any"`
	// Hosts are further names in the Host header that are answered on a
	// loopback listener, which otherwise only answers to localhost and IP addresses.
	Hosts         []string `yaml:"hosts,omitempty" jsonschema:"description=Host names beside localhost that a loopback listener answers to"`
	MaxBody       int      `yaml:"max_body,omitempty" jsonschema:"description=Largest request in bytes"`
	Connections   int      `yaml:"connections,omitempty" jsonschema:"description=Most connections at a time"`
	Subscriptions int      `yaml:"subscriptions,omitempty" jsonschema:"description=Most subscriptions at a time"`
}

// DefaultConfig serves this host only.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8081", MaxBody: 4 << 20, Connections: 4096, Subscriptions: 10000}
}

const protocol = "graphql"

// Server is the GraphQL frontend.
type Server struct {
	cfg    Config
	limits limits
	view   gateway.View
	log    zerolog.Logger
	guard  *webguard.Guard
	exec   *executor.Executor
	cache  *cache

	http     *http.Server
	listener *connlimit.Listener
	requests gate
	streams  streams

	buffers sync.Pool // of *buffer
	fanout  *fanout.Pool

	// stopping ends when streams are to end, aborting when nothing is waited
	// for any more.
	stopping, aborting context.Context
	stop, abort        context.CancelFunc
}

// New makes the frontend. It opens nothing.
func New(cfg Config, view gateway.View, log zerolog.Logger) *Server {
	return newServer(cfg, view, log, defaultLimits())
}

func newServer(cfg Config, view gateway.View, log zerolog.Logger, l limits) *Server {
	s := &Server{cfg: cfg, limits: l, view: view, log: log, cache: &cache{}, guard: webguard.New(cfg.Origins, cfg.Hosts), fanout: fanout.NewPool()}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.aborting, s.abort = context.WithCancel(context.Background())
	s.streams.most = cfg.Subscriptions
	s.exec = s.newExecutor()
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: l.read,
		IdleTimeout:       l.idle,
		MaxHeaderBytes:    maxHead,
		BaseContext:       func(net.Listener) context.Context { return s.aborting },
		ErrorLog:          quietLog(log),
	}
	return s
}

// Listen binds the address.
func (s *Server) Listen(ctx context.Context) error {
	config := net.ListenConfig{
		Control: setUserTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: silence / 2, Interval: silence / 6, Count: 3,
		},
	}
	inner, err := config.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s (frontends.graphql.listen): %w", s.cfg.Listen, err)
	}
	s.listener = connlimit.New(inner, s.cfg.Connections+spareConns)
	s.guard.Bound(inner.Addr())
	return nil
}

// Addr returns the bound address, useful with port 0. It is valid after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends. Then it closes the streams, lets requests under
// way finish for a few seconds, cuts what is left, and returns when every
// connection is closed.
func (s *Server) Serve(ctx context.Context) error {
	defer s.fanout.Start()()
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	var died error
	select {
	case err := <-ended:
		died = fmt.Errorf("serving on %s: %w", s.cfg.Listen, err)
	case <-ctx.Done():
	}
	s.streams.end()
	s.stop()
	limit := time.AfterFunc(s.limits.drain, s.abort)
	defer limit.Stop()
	if err := s.http.Shutdown(s.aborting); err != nil {
		_ = s.http.Close() // cuts what is left
	}
	if died == nil {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			died = fmt.Errorf("serving on %s: %w", s.cfg.Listen, err)
		}
	}
	s.requests.close()
	s.abort()
	return died
}

// Status is what the status page shows of the frontend.
func (s *Server) Status() any {
	all, subscriptions := s.streams.status()
	return struct {
		Listen        string         `json:"listen"`
		Connections   int64          `json:"connections"`
		Subscriptions int            `json:"subscriptions"`
		Streams       []StreamStatus `json:"streams"`
	}{s.cfg.Listen, s.listener.Count(), subscriptions, all}
}

// session returns the view of whoever sent the request.
func (s *Server) session(r *http.Request) gateway.Session {
	id := r.Header.Get("X-Request-Id")
	return s.view.For(gateway.Caller{Protocol: protocol, Peer: r.RemoteAddr, Correlation: id[:min(len(id), maxCorrelation)]})
}
