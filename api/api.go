// Package api serves the hub's view as REST: attributes, commands and devices
// under /api/v1, a stream of events by SSE, one WebSocket for watching and
// putting, an OpenAPI description, and two pages for people.
//
// It knows the view alone. It keeps nothing but encoded copies of the newest
// samples, which it makes once for all clients when the first one asks.
package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/fanout"
	"github.com/polygate/gateway/internal/webguard"
)

// Config is the section "frontends.rest" of the configuration file.
type Config struct {
	Listen string `yaml:"listen" jsonschema:"description=Address of the REST interface and its pages"`
	// Origins may use the interface from pages of another origin, with puts
	// and WebSockets; "*" is any.
	Origins []string `yaml:"origins,omitempty" jsonschema:"description=Origins of web pages that may use the interface from a browser; * is any"`
	// Hosts are further names in the Host header that are answered on a
	// loopback listener, which otherwise only answers to localhost and IP addresses.
	Hosts       []string `yaml:"hosts,omitempty" jsonschema:"description=Host names beside localhost that a loopback listener answers to"`
	MaxBody     int      `yaml:"max_body,omitempty" jsonschema:"description=Largest request body in bytes"`
	Connections int      `yaml:"connections,omitempty" jsonschema:"description=Most connections at a time"`
	Streams     int      `yaml:"streams,omitempty" jsonschema:"description=Most event streams and WebSockets at a time"`
}

// DefaultConfig serves this host only.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:8080", MaxBody: 4 << 20, Connections: 4096, Streams: 2048}
}

// withDefaults gives limits that are not set their defaults: no limit is unlimited.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	for _, limit := range []struct{ value, otherwise *int }{
		{&c.MaxBody, &d.MaxBody}, {&c.Connections, &d.Connections}, {&c.Streams, &d.Streams},
	} {
		if *limit.value <= 0 {
			*limit.value = *limit.otherwise
		}
	}
	return c
}

const protocol = "rest"

// Server is the REST frontend.
type Server struct {
	cfg    Config
	limits limits
	view   gateway.View
	log    zerolog.Logger
	cache  *cache
	guard  *webguard.Guard

	buffers sync.Pool // of *buffer
	fanout  *fanout.Pool

	http     *fasthttp.Server
	app      *fiber.App
	routed   fasthttp.RequestHandler
	listener *listener
	streams  streams

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
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, limits: l, view: view, log: log, cache: newCache(), guard: webguard.New(cfg.Origins, cfg.Hosts), fanout: fanout.NewPool()}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.aborting, s.abort = context.WithCancel(context.Background())
	s.streams.limit = cfg.Streams
	s.listener = newListener(cfg.Connections+spareConns, l.linger)
	s.app = fiber.New(fiber.Config{
		DisableStartupMessage:        true,
		StrictRouting:                true,
		CaseSensitive:                true,
		BodyLimit:                    cfg.MaxBody,
		Concurrency:                  cfg.Connections + spareConns, // the listener sees to it that this is never reached
		ReadBufferSize:               maxHead,
		ReadTimeout:                  l.read,
		WriteTimeout:                 l.write,
		IdleTimeout:                  l.idle,
		DisablePreParseMultipartForm: true,
		DisableDefaultDate:           true, // its clock would wake the process every second
		ErrorHandler:                 s.answerError,
	})
	s.routes()
	s.routed = s.app.Handler()
	s.http = s.app.Server()
	s.http.Handler = s.handle
	s.http.ErrorHandler = s.answerBroken
	s.http.ConnState = s.listener.onState
	return s
}

func (s *Server) routes() {
	s.app.Use(s.check)
	v1 := s.app.Group("/api/v1")
	v1.Get("/attributes", s.listAttributes)
	v1.Get("/attributes/:name", s.getAttribute)
	v1.Put("/attributes/:name", saysUnsent(s.putAttribute))
	v1.Post("/attributes/:name/refresh", saysUnsent(s.refreshAttribute))
	v1.Get("/commands", s.listCommands)
	v1.Get("/commands/:name", s.getCommand)
	v1.Post("/commands/:name", saysUnsent(s.postCommand))
	v1.Get("/devices", s.listDevices)
	v1.Get("/devices/:name", s.getDevice)
	v1.Get("/stream", s.stream)
	v1.Get("/ws", s.websocket)
	v1.Get("/openapi.json", pageOf("openapi.json", fiber.MIMEApplicationJSON))
	s.pages()
}

// Listen binds the address.
func (s *Server) Listen(ctx context.Context) error {
	config := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: silence / 2, Interval: silence / 6, Count: 3,
	}}
	inner, err := config.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s (frontends.rest.listen): %w", s.cfg.Listen, err)
	}
	s.listener.Listener = inner
	s.guard.Bound(inner.Addr())
	return nil
}

// Addr returns the bound address, useful with port 0. It is valid after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends. Then it closes the streams, lets requests under
// way finish for a few seconds, answers puts that still wait with an unknown
// outcome, cuts what is left, and returns when every connection is closed.
// There is no per-peer limit: behind a proxy all clients are one peer.
func (s *Server) Serve(ctx context.Context) error {
	defer s.fanout.Start()()
	unhook := context.AfterFunc(ctx, func() { _ = s.listener.Close() })
	defer unhook()
	var died error
	if err := s.listener.serve(s.http.ServeConn); !errors.Is(err, net.ErrClosed) {
		died = errors.Join(fmt.Errorf("serving on %s: %w", s.cfg.Listen, err), s.listener.Close())
	}
	s.streams.end()
	s.stop()
	limit := time.AfterFunc(s.limits.drain, s.abort)
	defer limit.Stop()
	s.listener.end(s.limits.drain + s.limits.linger)
	s.abort()
	return died
}

// Status is what the status page shows of the frontend, at any time.
func (s *Server) Status() any {
	return struct {
		Listen      string         `json:"listen"`
		Connections int64          `json:"connections"`
		Streams     []StreamStatus `json:"streams"`
	}{s.cfg.Listen, s.listener.count.Load(), s.streams.status()}
}

// session returns the view of whoever sent the request. Requests without an id of
// their own share that of their connection.
func (s *Server) session(c *fiber.Ctx) gateway.Session {
	conn := connOf(c.Context())
	caller := gateway.Caller{Protocol: protocol, Peer: conn.peer}
	if id := c.Request().Header.Peek("X-Request-Id"); len(id) > 0 {
		// Copied, since it travels on with a put.
		caller.Correlation = string(id[:min(len(id), maxCorrelation)])
		return s.view.For(caller)
	}
	if conn.session == nil {
		conn.session = s.view.For(caller)
	}
	return conn.session
}

// connOf returns the connection of a request, which our listener has accepted.
func connOf(ctx *fasthttp.RequestCtx) *conn { return ctx.Conn().(*conn) }
