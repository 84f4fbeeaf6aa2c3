package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

// Options set what a supervisor may be told. The zero Options are fine.
type Options struct {
	// Log takes one line for each thing that an operator should know of;
	// the zero Logger discards.
	Log zerolog.Logger
	// Now stamps what the supervisor itself notices; nil means time.Now.
	// Deadlines and periods always go by the monotonic clock.
	Now func() time.Time
	// Heartbeat is how often the state is repeated, for hubs on an outside
	// bus; 0 means never.
	Heartbeat time.Duration
	// Drain is how long a put that is running may take when Serve is told to
	// stop; 0 means DefaultDrain.
	Drain time.Duration
	// MaxQueued is the largest number of puts that wait; 0 means
	// DefaultMaxQueued and one more for each attribute.
	MaxQueued int
	// Lease is what must be held to own the device; nil means that nothing must.
	Lease Lease
	// Reclaim is how long a rival must have been silent before a supervisor
	// that stood down takes the device again; 0 means that it stays down.
	Reclaim time.Duration
}

// The values of options that are 0.
const (
	DefaultDrain     = 5 * time.Second
	DefaultMaxQueued = 1024
)

const (
	// maxQueuedBytes bounds the values of waiting puts. One put always fits.
	maxQueuedBytes = 32 << 20
	// silentPolls is how many exchanges in a row must go unanswered before
	// the device counts as away although its link is open.
	silentPolls = 3
	// The first and the longest pause before another attempt to connect.
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = time.Second
	// announceGap is the shortest time between two announcements, however
	// many hubs ask.
	announceGap = 20 * time.Millisecond
	// logGap is how often a fault that lasts or repeats is logged.
	logGap = time.Minute
)

// A phase is where a supervisor is in its life.
type phase uint8

const (
	phaseIdle      phase = iota // Serve is not running
	phaseServing                // owner of the device
	phaseStoodDown              // another owner of a higher term has spoken
	phaseStopping               // the last put is finishing
)

// A Supervisor owns one device. Serve runs it; every other method may be called
// from any goroutine.
//
// One goroutine, the worker, calls the driver. A second one, the keeper, waits
// for deadlines, so that what is due while the driver is busy is not late. The
// bus's goroutine accepts puts. What they share is guarded by mu, which is held
// while something is published: messages leave in the order in which the
// samples changed. It is never held during a call of the driver or an answer.
type Supervisor struct {
	name     string
	driver   Driver
	bus      Bus
	opts     Options
	model    Model
	revision uint64
	byPath   []uint32 // the indices of the attributes, sorted by their paths

	wake chan struct{} // tells the worker that there is work; holds one token
	poke chan struct{} // tells the keeper that a deadline came nearer; holds one token

	mu       sync.Mutex
	phase    phase
	standby  bool // waiting for the lease
	owner    gateway.Owner
	began    time.Time // this ownership; its monotonic clock is the owner's
	lastTerm uint64    // the highest term seen, of any owner
	rival    gateway.Owner
	attrs    []attribute
	queue    putQueue
	running  bool // a put is at the driver
	busDown  bool
	busSince time.Time // of the state of the bus that was last heard
	missed   bool      // something could not be sent since the last announcement
	lost     error     // the sink's report that the link is gone

	linkUp    bool // Connect has succeeded
	connected bool
	since     time.Time
	words     string
	stale     []uint32
	polls     []pollState
	quiet     silence

	deadlines  deadlines
	cancelRun  context.CancelFunc // ends exchanges and waits of the worker
	cancelPuts context.CancelFunc // ends the put that is running
	counts     counts
	outage     outage
	faults     throttle
	unsent     throttle
}

// New makes the supervisor of device name. It asks the driver for its model and
// reports every mistake in it at once. It opens nothing and starts nothing. The
// descriptors of the model are published as they are, once their revision is set.
func New(name string, d Driver, bus Bus, opts Options) (*Supervisor, error) {
	model := d.Model()
	if err := checkModel(name, &model); err != nil {
		return nil, fmt.Errorf("device %q: %w", gateway.Quotable(name), err)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Drain == 0 {
		opts.Drain = DefaultDrain
	}
	if opts.MaxQueued == 0 {
		opts.MaxQueued = DefaultMaxQueued + len(model.Attributes)
	}
	opts.Log = opts.Log.With().Str("component", "device").Str("device", name).Logger()

	shareTraits(model.Attributes)
	now := opts.Now()
	s := &Supervisor{
		name: name, driver: d, bus: bus, opts: opts, model: model,
		revision: uint64(max(now.UnixMicro(), 1)),
		byPath:   make([]uint32, len(model.Attributes)),
		wake:     make(chan struct{}, 1),
		poke:     make(chan struct{}, 1),
		attrs:    make([]attribute, len(model.Attributes)),
		polls:    make([]pollState, len(model.Polls)),
		since:    now, words: "not started",
	}
	for i := range model.Attributes {
		d := &model.Attributes[i]
		d.Revision = s.revision
		s.byPath[i] = uint32(i)
		s.attrs[i] = newAttribute(d, now)
	}
	slices.SortFunc(s.byPath, func(a, b uint32) int { return cmp.Compare(s.attrs[a].Path, s.attrs[b].Path) })
	return s, nil
}

// find returns the index of the attribute or command at a path.
func (s *Supervisor) find(path gateway.Path) (index int, ok bool) {
	at, ok := slices.BinarySearchFunc(s.byPath, path, func(i uint32, path gateway.Path) int {
		return cmp.Compare(s.attrs[i].Path, path)
	})
	if !ok {
		return 0, false
	}
	return int(s.byPath[at]), true
}

// Name returns the name of the device.
func (s *Supervisor) Name() string { return s.name }

// Serve owns and runs the device until ctx ends, then finishes the put that is
// running, ends those that wait, closes the driver and says that it leaves. A
// device or a bus that is away does not end it. An error means that the bus
// refuses the ownership for good, or that Serve is running already.
//
// If another owner with a higher term speaks, the driver is closed and Serve
// waits until ctx ends, or for the time that Options.Reclaim says. With a lease
// it waits for that first, and again when it is lost.
func (s *Supervisor) Serve(ctx context.Context) error {
	for {
		held, term, err := s.awaitLease(ctx)
		if err != nil {
			return nil //nolint:nilerr // ctx has ended.
		}
		again, err := s.serveOnce(ctx, held, term)
		if err != nil {
			return fmt.Errorf("device %q: %w", s.name, err)
		}
		if !again {
			return nil
		}
	}
}

// serveOnce is one ownership, from its announcement to its end. It returns true
// if the device may be claimed again. Held is the lease.
func (s *Supervisor) serveOnce(ctx, held context.Context, term uint64) (again bool, err error) {
	runCtx, cancelRun := context.WithCancel(ctx)
	defer cancelRun()
	// A put outlives ctx for as long as the drain allows.
	putCtx, cancelPuts := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelPuts()

	owner, err := s.begin(term, cancelRun, cancelPuts)
	if err != nil {
		return false, err
	}
	defer s.finish()
	defer context.AfterFunc(held, func() { s.loseLease(owner, context.Cause(held)) })()
	release, err := s.own(runCtx, owner)
	if release == nil {
		return held.Err() != nil, err
	}
	defer release()
	s.announceFirst()

	stopKeeper := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() { s.keep(ctx, stopKeeper) })
	s.work(runCtx, putCtx)

	again = held.Err() != nil || s.waitStoodDown(ctx)
	close(stopKeeper)
	keeper.Wait()
	s.stopPuts() // the keeper may have been told to stop before it could
	words := "driver stopped"
	if held.Err() != nil {
		words += ": " + context.Cause(held).Error()
	}
	s.leave(words)
	return again, nil
}

// begin draws a new instance and a term, of at least what is given, and numbers
// the samples accordingly.
func (s *Supervisor) begin(term uint64, cancelRun, cancelPuts context.CancelFunc) (gateway.Owner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseIdle {
		return gateway.Owner{}, errors.New("is being served already")
	}
	now := s.opts.Now()
	start := uint64(max(now.UnixMicro(), 1))
	s.lastTerm = max(start, s.lastTerm+1, term)
	s.owner = gateway.Owner{Device: s.name, Instance: newInstance(), Term: s.lastTerm}
	s.began = time.Now()
	s.phase = phaseServing
	s.busDown, s.busSince, s.missed = false, time.Time{}, false
	s.connected, s.since, s.words = false, now.Round(0), "connecting"
	s.cancelRun, s.cancelPuts = cancelRun, cancelPuts
	s.deadlines = deadlines{}
	s.stopFreshnessLocked() // what was overdue under an earlier ownership
	for i := range s.attrs {
		s.attrs[i].startFrom(start)
	}
	return s.owner, nil
}

func (s *Supervisor) finish() {
	s.mu.Lock()
	s.phase = phaseIdle
	s.mu.Unlock()
}

// signal puts a token into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
