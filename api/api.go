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
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/polygate/gateway"
	"github.com/rs/zerolog"
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

// Limits in time. They are shorter than what proxies in between use to give up,
// and long enough for a slow network.
const (
	readTimeout  = 30 * time.Second // for one request, so that a slow sender does not hold a connection
	writeTimeout = 10 * time.Second // for one answer or one batch of a stream
	idleTimeout  = 2 * time.Minute  // of a kept-alive connection without a stream
	keepAlive    = 15 * time.Second // between signs of life on a quiet stream
	drainTimeout = 3 * time.Second  // for requests under way when the frontend stops
)

const protocol = "rest"

// Server is the REST frontend.
type Server struct {
	cfg   Config
	view  gateway.View
	log   zerolog.Logger
	cache *cache
	guard guard
	app   *fiber.App

	listener net.Listener
	stopping context.Context // ends when the streams are to end
	stop     context.CancelFunc
	streams  streams
}

// New makes the frontend. It opens nothing.
func New(cfg Config, view gateway.View, log zerolog.Logger) *Server {
	s := &Server{cfg: cfg, view: view, log: log, cache: newCache(), guard: newGuard(cfg)}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.streams.limit = cfg.Streams
	s.app = fiber.New(fiber.Config{
		DisableStartupMessage: true,
		StrictRouting:         true,
		CaseSensitive:         true,
		BodyLimit:             cfg.MaxBody,
		Concurrency:           cfg.Connections,
		ReadBufferSize:        16 << 10, // bounds the request line and the headers
		ReadTimeout:           readTimeout,
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		ErrorHandler:          s.answerError,
		ServerHeader:          "",
	})
	s.app.Server().NoDefaultDate = true // its clock would wake the process every second
	s.app.Server().NoDefaultServerHeader = true
	s.routes()
	return s
}

func (s *Server) routes() {
	s.app.Use(s.guard.check)
	v1 := s.app.Group("/api/v1")
	v1.Get("/attributes", s.listAttributes)
	v1.Get("/attributes/:name", s.getAttribute)
	v1.Put("/attributes/:name", s.putAttribute)
	v1.Get("/commands", s.listCommands)
	v1.Get("/commands/:name", s.getCommand)
	v1.Post("/commands/:name", s.postCommand)
	v1.Get("/devices", s.listDevices)
	v1.Get("/devices/:name", s.getDevice)
	v1.Get("/stream", s.stream)
	v1.Get("/ws", s.websocket)
	v1.Get("/openapi.json", openAPI)
	s.pages()
}

// Listen binds the address.
func (s *Server) Listen(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listening on %s (frontends.rest.listen): %w", s.cfg.Listen, err)
	}
	s.listener = listener
	s.guard.bound(listener.Addr())
	return nil
}

// Addr returns the bound address, useful with port 0. It is valid after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends, then closes the streams, lets requests under
// way finish, and returns.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.app.Listener(s.listener) }()
	var died error
	select {
	case err := <-failed:
		died = fmt.Errorf("serving on %s: %w", s.cfg.Listen, errors.Join(err, errors.New("the listener ended")))
		failed <- nil
	case <-ctx.Done():
	}
	s.stop() // first the streams: a shutdown waits for every open connection
	s.streams.wait()
	if err := s.app.ShutdownWithTimeout(drainTimeout); err != nil && !errors.Is(err, context.DeadlineExceeded) && died == nil {
		died = fmt.Errorf("stopping: %w", err)
	}
	<-failed
	return died
}

// Status is what the status page shows of the frontend.
func (s *Server) Status() any {
	return struct {
		Listen      string         `json:"listen"`
		Connections int32          `json:"connections"`
		Streams     []StreamStatus `json:"streams"`
	}{s.cfg.Listen, s.app.Server().GetOpenConnectionsCount(), s.streams.status()}
}

// session returns the view of whoever sent the request.
func (s *Server) session(c *fiber.Ctx) gateway.Session {
	// Strings of a fiber context are only good until the handler returns,
	// and the caller travels on with a put: everything is copied.
	return s.view.For(gateway.Caller{
		Protocol:    protocol,
		Peer:        c.Context().RemoteAddr().String(),
		Correlation: copyOf(c.Get("X-Request-Id")),
	})
}
