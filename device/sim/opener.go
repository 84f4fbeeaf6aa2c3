package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/link/pty"
)

// TemperatureControllerName is what the file calls the temperature controller.
const TemperatureControllerName = "temperature-controller"

// An Opener is the address of a simulated instrument. Each Open makes a
// pseudo-terminal, lets the instrument answer on it and opens the other side.
// Where there are no pseudo-terminals it takes a pipe. The instrument keeps its
// state from one Open to the next, as a real one does when its cable is pulled.
type Opener struct {
	name   string
	server *Server
}

var _ link.Opener = (*Opener)(nil)

// NewOpener returns the simulated instrument of that name. Its noise is drawn
// from seed; faults, if not nil, make it misbehave.
func NewOpener(name string, seed uint64, faults *Faults) (*Opener, error) {
	if name != TemperatureControllerName {
		return nil, fmt.Errorf("there is no simulated instrument %q%s", name, describe.DidYouMean(name, []string{TemperatureControllerName}))
	}
	return NewServerOpener(name, &Server{
		Instrument: NewTemperatureController(seed), Terminator: "\r\n", Now: time.Now, Faults: faults,
	}), nil
}

// NewServerOpener returns the address of the instrument that a server lets answer.
func NewServerOpener(name string, server *Server) *Opener { return &Opener{name: name, server: server} }

// Several are instruments on one line. Each hears every request; the first that
// has an answer gives it.
type Several []Instrument

var _ Instrument = Several(nil)

// Handle asks one after the other.
func (s Several) Handle(now time.Time, line string) (reply string, ok bool) {
	for _, i := range s {
		if r, answers := i.Handle(now, line); answers && !ok {
			reply, ok = r, true
		}
	}
	return reply, ok
}

// String names the link.
func (o *Opener) String() string { return "simulated " + o.name }

// Open plugs the instrument in. Closing the port unplugs it, and waits until it
// has noticed.
func (o *Opener) Open(ctx context.Context) (link.Port, error) {
	ours, port, err := o.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o, err)
	}
	p := &simPort{Port: port, instrument: ours}
	// The instrument lives as long as the port, not as long as the opening.
	p.served.Go(func() { _ = o.server.Serve(context.WithoutCancel(ctx), ours) })
	if quick, ok := port.(readNower); ok {
		return quickPort{p, quick}, nil
	}
	return p, nil
}

// readNower is what lets a line look without waiting whether something has
// arrived. A port that is wrapped must not lose it: waiting costs each
// exchange a millisecond.
type readNower interface {
	ReadNow([]byte) (int, error)
}

type quickPort struct {
	*simPort
	readNower
}

// connect makes both sides of a line.
func (o *Opener) connect(ctx context.Context) (instrument io.ReadWriteCloser, port link.Port, err error) {
	pair, err := pty.Open()
	if err != nil {
		a, b := net.Pipe()
		return a, b, nil //nolint:nilerr // Where there are no pseudo-terminals a pipe will do.
	}
	port, err = link.Serial{Path: pair.Path, Baud: 115200}.Open(ctx)
	if err != nil {
		_ = pair.Close()
		return nil, nil, err
	}
	return pair, port, nil
}

// A simPort is the gateway's side of the line.
type simPort struct {
	link.Port
	instrument io.Closer
	served     sync.WaitGroup
}

// Break does nothing: an instrument that is simulated has no line to hold.
func (*simPort) Break(context.Context, time.Duration) error { return nil }

// Close ends the line on both sides.
func (p *simPort) Close() error {
	err := p.Port.Close()
	_ = p.instrument.Close()
	p.served.Wait()
	return err
}

// ServePTY lets the server's instrument answer on a new pseudo-terminal until
// ctx ends. It calls ready with the path of the port that is to be opened.
func (s *Server) ServePTY(ctx context.Context, ready func(path string)) error {
	pair, err := pty.Open()
	if err != nil {
		return err
	}
	ready(pair.Path)
	return s.Serve(ctx, pair)
}

// ServeTCP lets the server's instrument answer every client of a listener until
// ctx ends, and closes the listener.
func (s *Server) ServeTCP(ctx context.Context, listener net.Listener) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			_ = listener.Close()
			return fmt.Errorf("simulated instrument: %w", err)
		}
		clients.Go(func() { _ = s.Serve(ctx, conn) })
	}
}
