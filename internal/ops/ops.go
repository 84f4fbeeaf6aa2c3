// Package ops serves what operators and orchestrators ask: whether the process
// is alive, whether it is ready, its metrics, the status of each part, and
// profiles. It has a listener of its own, apart from every frontend, so that
// it answers while a frontend is busy and can be kept from the public.
//
// "The process is fine" and "a device is away" are kept apart: a lost device or
// an outside bus that is away never fails /healthz, or an orchestrator would
// restart a healthy gateway again and again. It shows on /readyz and in metrics.
package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// Config is the section "ops" of the configuration file.
type Config struct {
	Listen string `yaml:"listen" jsonschema:"description=Address of health checks\\, metrics\\, status and profiles; empty switches them off"`
}

// DefaultConfig listens for this host only.
func DefaultConfig() Config { return Config{Listen: "127.0.0.1:9464"} }

// A Condition is something that must hold for the gateway to be of full use.
type Condition struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Degraded conditions (a lost device) are shown and do not make the
	// gateway unready: the rest of it works.
	Degraded bool   `json:"degraded,omitempty"`
	Words    string `json:"words,omitempty"`
}

// Sources are what the pages show. All functions may be called at any time, by
// several requests at once.
type Sources struct {
	// Alive reports an error if the event loop does not answer before ctx ends.
	Alive func(ctx context.Context) error
	// Ready lists the conditions.
	Ready func() []Condition
	// Status returns what /status shows of each part; it is written as JSON.
	Status func() map[string]any
	// Metrics are gathered for /metrics.
	Metrics prometheus.Gatherer
	// Streams answer for as long as they like, by pattern. The request's
	// context ends with the client, and when the server stops.
	Streams map[string]http.HandlerFunc
}

// aliveLimit is how long /healthz waits for the event loop. It is shorter than
// the probe timeouts that people set and far longer than a busy loop needs.
const aliveLimit = 2 * time.Second

// drainLimit is how long requests under way may take when the part stops.
const drainLimit = time.Second

// Server is the part that serves the pages.
type Server struct {
	address  string
	log      zerolog.Logger
	listener net.Listener
	server   *http.Server
}

// New makes the part. It opens nothing.
func New(cfg Config, sources Sources, log zerolog.Logger) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", sources.healthz)
	mux.HandleFunc("GET /readyz", sources.readyz)
	mux.HandleFunc("GET /status", sources.status)
	mux.Handle("GET /metrics", promhttp.HandlerFor(sources.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /{$}", index)
	stopping, stop := context.WithCancel(context.Background())
	for pattern, answer := range sources.Streams {
		mux.Handle(pattern, until(stopping, answer))
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	server.RegisterOnShutdown(stop)
	return &Server{address: cfg.Listen, log: log, server: server}
}

// until ends the context of a request when stopping ends, too.
func until(stopping context.Context, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(stopping, cancel)()
		answer(w, r.WithContext(ctx))
	})
}

// Listen binds the address.
func (s *Server) Listen(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listening on %s (ops.listen): %w", s.address, err)
	}
	s.listener = listener
	return nil
}

// Addr returns the bound address, useful with port 0. It is valid after Listen.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.server.Serve(s.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", s.address, err)
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
	defer cancel()
	if err := s.server.Shutdown(limit); err != nil {
		// A profile or trace that is being taken need not finish.
		_ = s.server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", s.address, err)
	}
	return nil
}

func (s Sources) healthz(w http.ResponseWriter, r *http.Request) {
	limit, cancel := context.WithTimeout(r.Context(), aliveLimit)
	defer cancel()
	if err := s.Alive(limit); err != nil {
		http.Error(w, "the event loop does not answer: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (s Sources) readyz(w http.ResponseWriter, _ *http.Request) {
	answer := struct {
		Ready      bool        `json:"ready"`
		Degraded   bool        `json:"degraded"`
		Conditions []Condition `json:"conditions"`
	}{Ready: true, Conditions: s.Ready()}
	for _, c := range answer.Conditions {
		if c.OK {
			continue
		}
		if c.Degraded {
			answer.Degraded = true
		} else {
			answer.Ready = false
		}
	}
	code := http.StatusOK
	if !answer.Ready {
		code = http.StatusServiceUnavailable
	}
	writeJSON(w, code, answer)
}

func (s Sources) status(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.Status())
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(data, '\n'))
}

func index(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("polygate operations: /healthz /readyz /status /metrics /trace/LINK /debug/pprof/\n"))
}
