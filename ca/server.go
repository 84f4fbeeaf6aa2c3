package ca

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

// A Server is the Channel Access frontend. It is used in the order New, Listen,
// Serve.
type Server struct {
	cfg       Config
	settings  *settings
	view      gateway.View
	log       zerolog.Logger
	directory *directory
	listeners []*listener
	beacons   *beacons

	ctx  context.Context // of all circuits
	stop context.CancelFunc

	mu       sync.Mutex
	circuits map[*circuit]struct{}
	ending   bool

	running  sync.WaitGroup // circuits
	verdicts tally          // puts whose clients wait
	looking  atomic.Bool    // see reader

	searches, found, bytesOut, turnedAway atomic.Uint64
}

// New makes a frontend. It opens nothing.
func New(cfg Config, view gateway.View, log zerolog.Logger) *Server {
	s := &Server{cfg: cfg, view: view, log: log, circuits: map[*circuit]struct{}{}}
	if s.cfg.Circuits <= 0 {
		s.cfg.Circuits = DefaultConfig().Circuits
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.directory = newDirectory(view, log, s.namesChanged)
	return s
}

// Listen binds all addresses. The error names the one that is taken, or the
// variable of the environment that makes no sense.
func (s *Server) Listen(ctx context.Context) error {
	settings, err := resolve(ctx, s.cfg, os.Getenv)
	if err != nil {
		return err
	}
	s.settings = settings
	for _, e := range settings.endpoints {
		l, err := listen(ctx, e, settings.groups)
		if err != nil {
			s.closeListeners()
			return fmt.Errorf("%w (frontends.ca.listen)", err)
		}
		s.listeners = append(s.listeners, l)
		if l.moved {
			s.log.Info().Uint16("port", l.port()).Msg("the usual TCP port is taken; clients find this one by search")
		}
	}
	if s.beacons, err = newBeacons(s); err != nil {
		s.closeListeners()
		return err
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		l.close()
	}
}

// Addr returns the first address that circuits are accepted on. It is valid after Listen.
func (s *Server) Addr() net.Addr { return s.listeners[0].tcp.Addr() }

// SearchAddr returns the address that searches by datagram are taken on. It is
// valid after Listen.
func (s *Server) SearchAddr() net.Addr { return s.listeners[0].udp[0].LocalAddr() }

// Serve answers until ctx ends. Then it says what verdicts there are, closes all
// circuits, and returns when nothing runs any more.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts sync.WaitGroup
	died := make(chan error, 1)
	part := func(run func() error) {
		parts.Go(func() {
			if err := run(); err != nil {
				select {
				case died <- err:
				default:
				}
			}
		})
	}
	part(func() error { return s.directory.serve(ctx) })
	select {
	case <-s.directory.synced: // so that what exists is found from the first search on
		for _, l := range s.listeners {
			part(func() error { return s.accept(l) })
			for i := range l.udp {
				part(func() error { return s.answerSearches(l, i) })
			}
		}
		part(func() error { s.beacons.serve(ctx); return nil })
	case <-ctx.Done():
	case err := <-died:
		died <- err
	}
	var err error
	select {
	case err = <-died:
	case <-ctx.Done():
	}
	cancel()
	s.closeListeners()
	s.endCircuits()
	parts.Wait()
	s.beacons.close()
	return err
}

// lastWords is how long clients may take to hear the verdicts that there are.
const lastWords = time.Second

func (s *Server) endCircuits() {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	limit := time.NewTimer(lastWords)
	defer limit.Stop()
	select {
	case <-s.verdicts.empty():
	case <-limit.C:
	}
	s.stop()
	s.running.Wait()
}

// accept takes circuits.
func (s *Server) accept(l *listener) error {
	for pause := time.Duration(0); ; {
		conn, err := l.tcp.Accept()
		if err == nil {
			pause = 0
			s.open(conn)
			continue
		}
		if l.closed.Load() {
			return nil
		}
		// Out of file descriptors, for example; it passes.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		s.log.Warn().Err(err).Msg("cannot accept a connection")
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
			return nil
		}
	}
}

func (s *Server) open(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending || len(s.circuits) >= s.cfg.Circuits {
		_ = conn.Close()
		if s.turnedAway.Add(1) == 1 && !s.ending {
			s.log.Warn().Int("circuits", len(s.circuits)).Msg("too many connections (frontends.ca.circuits); further ones are closed")
		}
		return
	}
	c := newCircuit(s, conn)
	s.circuits[c] = struct{}{}
	s.running.Go(func() {
		c.serve()
		s.mu.Lock()
		delete(s.circuits, c)
		s.mu.Unlock()
	})
}

// namesChanged makes circuits look at their channels anew, and clients search
// again for what they have not found.
func (s *Server) namesChanged(added bool) {
	s.mu.Lock()
	open := make([]*circuit, 0, len(s.circuits))
	for c := range s.circuits {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		c.recheck()
	}
	if added {
		s.beacons.again()
	}
}

// portFor returns the port of circuits for a client that has reached us at local.
func (s *Server) portFor(local net.Addr) uint16 {
	if tcp, ok := local.(*net.TCPAddr); ok {
		return uint16(tcp.Port)
	}
	return s.listeners[0].port()
}

// Where tells people where to find it.
func (s *Server) Where() string {
	var places []string
	for _, l := range s.listeners {
		if l.endpoint.local {
			places = append(places, fmt.Sprintf("caget on this host (search on UDP port %d, TCP %s)", l.searchPort(), l.tcp.Addr()))
			continue
		}
		places = append(places, fmt.Sprintf("%s (search on UDP port %d)", l.tcp.Addr(), l.searchPort()))
	}
	return strings.Join(places, ", ")
}
