package bus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

const (
	connectTimeout = 2 * time.Second // of the greeting, TLS included
	flushTimeout   = 2 * time.Second
	// writeTimeout ends a connection whose other side takes nothing any more,
	// so that publishers are not held up for longer.
	writeTimeout = 5 * time.Second
	// See probe for a sooner way.
	pingInterval = 5 * time.Second
	maxPings     = 2

	firstReconnectWait = 50 * time.Millisecond
	maxReconnectWait   = 500 * time.Millisecond
)

// Options say what to connect to.
type Options struct {
	Config
	// Broker is the one within this process; nil to connect to Config.URL.
	Broker interface{ InProcessConn() (net.Conn, error) }
	// Name is shown in the server's list of connections.
	Name   string
	Logger zerolog.Logger
}

// A Conn is this process's connection to the bus. Its methods may be called
// from any goroutine, and none but Connect, Connected, Subscribe, Own and Close
// waits for the server.
type Conn struct {
	nc        *nats.Conn
	subjects  subjects
	inProcess bool
	log       zerolog.Logger
	buffers   sync.Pool // of *[]byte, for payloads

	up     atomic.Bool
	limit  atomic.Int64 // largest payload, in bytes
	stats  counters
	first  chan struct{} // closed at the first connection
	closed chan struct{} // closed when nats.go has closed the connection

	// lifetime ends with Close: no attempt to connect outlives it.
	lifetime context.Context
	hangUp   context.CancelFunc

	mu      sync.Mutex
	state   gateway.BusState
	changed chan struct{}   // closed and replaced when state changes
	link    context.Context // ends with the present connection
	unlink  context.CancelFunc
	socket  net.Conn // of a NATS outside: the one that was made last
	probing bool
	silent  bool // the connection was left because the server does not answer
	back    backchannel
	inboxes map[*inbox]struct{}
	owners  map[*ownership]struct{}

	probed sync.WaitGroup
}

// Connect connects to the broker within this process, or to a NATS outside. If
// that is away, or refuses us, Connect succeeds and goes on trying until Close:
// a gateway must start without its bus. The errors are about options that can
// never work, and about ctx, which ends no later than Connect does.
func Connect(ctx context.Context, opts Options) (*Conn, error) {
	lifetime, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	c := &Conn{
		subjects:  newSubjects(opts.Prefix),
		inProcess: opts.Broker != nil,
		log:       opts.Logger,
		first:     make(chan struct{}),
		closed:    make(chan struct{}),
		lifetime:  lifetime,
		hangUp:    hangUp,
		state:     gateway.BusState{Since: time.Now().UTC(), Words: "not connected yet"},
		changed:   make(chan struct{}),
		inboxes:   make(map[*inbox]struct{}),
		owners:    make(map[*ownership]struct{}),
	}
	c.link, c.unlink = context.WithCancel(lifetime)
	options, err := c.options(opts)
	if err != nil {
		hangUp()
		return nil, fmt.Errorf("connecting to the bus: %w", err)
	}
	stop := context.AfterFunc(ctx, hangUp)
	c.nc, err = nats.Connect(opts.URL, options...)
	if err != nil {
		stop()
		hangUp()
		return nil, fmt.Errorf("connecting to the bus: %w", err)
	}
	if !stop() {
		c.nc.Close()
		<-c.closed
		return nil, fmt.Errorf("connecting to the bus: %w", context.Cause(ctx))
	}
	if c.nc.IsConnected() {
		<-c.first // only the callbacks change the state, so it cannot go backwards
	}
	return c, nil
}

func (c *Conn) options(opts Options) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(opts.Name),
		nats.Timeout(connectTimeout),
		nats.FlusherTimeout(writeTimeout),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1),
		nats.CustomReconnectDelay(reconnectWait),
		// A wrong password can be put right on the server, too.
		nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(func(nc *nats.Conn) { c.connected(nc, false) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.connected(nc, true) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { c.disconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.trouble("the bus cannot be reached", err) }),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { c.asyncError(sub, err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
	if opts.Broker != nil {
		options = append(options, nats.InProcessServer(opts.Broker))
	} else {
		if opts.URL == "" {
			return nil, errors.New("there is neither a broker within this process nor a url")
		}
		options = append(options, nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPings),
			nats.SetCustomDialer((*dialer)(c)))
		options = append(options, opts.TLS.options()...)
	}
	identity, err := opts.identity()
	if err != nil {
		return nil, err
	}
	return append(options, identity...), nil
}

// reconnectWait returns how long to wait after all servers were tried for the
// nth time, with some jitter so that a whole site does not come back at once.
func reconnectWait(attempts int) time.Duration {
	wait := maxReconnectWait
	if attempts < 5 {
		wait = min(firstReconnectWait<<max(attempts-1, 0), maxReconnectWait)
	}
	return wait - rand.N(wait/5+1)
}

// connected, disconnected and asyncError are called by nats.go from one
// goroutine, one at a time, in the order in which things happened.

func (c *Conn) connected(nc *nats.Conn, again bool) {
	c.mu.Lock()
	c.link, c.unlink = context.WithCancel(c.lifetime)
	c.mu.Unlock()
	c.limit.Store(nc.MaxPayload())
	c.up.Store(true)
	words := "connected to the broker within this process"
	if !c.inProcess {
		words = "connected to " + nc.ConnectedUrlRedacted()
	}
	if again {
		c.stats.reconnects.Add(1)
		c.log.Info().Msg("the bus is back: " + words)
	}
	c.change(gateway.BusState{Connected: true, Since: time.Now().UTC(), Words: words})
	if !again {
		close(c.first)
	}
}

func (c *Conn) disconnected(err error) {
	c.mu.Lock()
	c.unlink()
	if c.silent {
		err, c.silent = errSilent, false
	}
	c.mu.Unlock()
	if !c.up.Swap(false) {
		return
	}
	words := "the connection was closed"
	if err != nil {
		words = err.Error()
		c.trouble("the bus is lost", err)
	}
	c.change(gateway.BusState{Since: time.Now().UTC(), Words: words})
}

func (c *Conn) change(state gateway.BusState) {
	c.mu.Lock()
	c.state = state
	close(c.changed)
	c.changed = make(chan struct{})
	inboxes := make([]*inbox, 0, len(c.inboxes))
	for in := range c.inboxes {
		inboxes = append(inboxes, in)
	}
	c.mu.Unlock()
	for _, in := range inboxes {
		in.deliver(state)
	}
}

func (c *Conn) asyncError(sub *nats.Subscription, err error) {
	if errors.Is(err, net.ErrClosed) {
		return // by this process, which says why
	}
	event := c.log.Warn().Err(err)
	if sub != nil {
		event = event.Str("subject", sub.Subject)
	}
	c.stats.fail(err)
	if !errors.Is(err, nats.ErrSlowConsumer) {
		event.Msg("the bus reports an error")
		return
	}
	event.Msg("messages from the bus were dropped: this process is too slow")
	c.mu.Lock()
	defer c.mu.Unlock()
	for in := range c.inboxes {
		in.suspectLoss()
	}
}

// trouble logs an error that may repeat at each attempt, once until it changes.
func (c *Conn) trouble(msg string, err error) {
	if c.stats.fail(err) {
		c.log.Warn().Err(err).Msg(msg)
	}
}

// BusState returns whether the bus is there, and since when.
func (c *Conn) BusState() gateway.BusState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Connected waits until the bus is there and returns a context that ends when
// this connection does. The error is that of ctx, or ErrClosed.
func (c *Conn) Connected(ctx context.Context) (link context.Context, err error) {
	for {
		c.mu.Lock()
		link, up, changed := c.link, c.state.Connected, c.changed
		c.mu.Unlock()
		if up && link.Err() == nil {
			return link, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.lifetime.Done():
			return nil, ErrClosed
		}
	}
}

// JetStream is what the server keeps for us, if it keeps anything.
func (c *Conn) JetStream() (jetstream.JetStream, error) { return jetstream.New(c.nc) }

// register makes in get all later states, and the present one first.
func (c *Conn) register(in *inbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in.deliver(c.state) // does not block: in is new
	c.inboxes[in] = struct{}{}
}

func (c *Conn) unregister(in *inbox) {
	in.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inboxes, in)
}

// flush waits until the server has taken everything so far. It does nothing
// while the bus is away: subscriptions are made again at the next connection.
func (c *Conn) flush() error {
	if !c.up.Load() {
		return nil
	}
	return c.flushConnected()
}

func (c *Conn) flushConnected() error {
	c.mu.Lock()
	link := c.link
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(link, flushTimeout)
	defer cancel()
	err := c.nc.FlushWithContext(ctx)
	if link.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) {
		return nil // lost in the meantime
	}
	return err
}

// Close hands over what was published, ends what Own began, and closes the
// connection. It takes a few seconds at most. Receive returns an error afterwards.
func (c *Conn) Close() error {
	c.mu.Lock()
	owners := make([]*ownership, 0, len(c.owners))
	for o := range c.owners {
		owners = append(owners, o)
	}
	c.mu.Unlock()
	for _, o := range owners {
		o.release()
	}
	var err error
	if c.up.Swap(false) { // so that nobody adds to what is flushed
		err = c.flushConnected()
	}
	c.hangUp()
	c.mu.Lock()
	for in := range c.inboxes {
		in.close() // so that the last change of state is not held up
	}
	c.mu.Unlock()
	c.nc.Close()
	<-c.closed
	c.probed.Wait()
	if err != nil {
		return fmt.Errorf("closing the bus: %w", err)
	}
	return nil
}
