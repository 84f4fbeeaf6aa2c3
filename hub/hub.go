package hub

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/polygate/gateway"
)

// Bus is what the hub needs of the bus. Receive and TryReceive are called by
// the goroutine of Serve alone, the other methods by any.
type Bus interface {
	// Receive returns the next message in order. It returns nil, nil when
	// wake got a value, and an error when ctx ended or the bus is closed for
	// good.
	Receive(ctx context.Context, wake <-chan struct{}) (gateway.Message, error)
	// TryReceive returns the next message if one is there already, else nil.
	TryReceive() gateway.Message
	// SendPut sends a put to the owner it names. It does not wait for the
	// other side and does not change or keep the put. The error has
	// KindBusDown if the bus is away: then nothing was sent.
	SendPut(*gateway.Put) error
	// Describe asks all owners to announce.
	Describe() error
	// Ask asks whether an owner is there. If it certainly is not, an
	// *gateway.Absent comes; otherwise nothing need come.
	Ask(gateway.Owner) error
	// Echo makes an *gateway.Echo come, behind everything that others have
	// sent before.
	Echo() error
}

// Options change a hub's limits. The zero Options are fit for a bus inside this process.
type Options struct {
	// HeartbeatTimeout is how long a driver may be silent before it counts as
	// lost. After a third of that the hub asks whether it is there. 0 means
	// that silence says nothing, as on a bus inside the process.
	HeartbeatTimeout time.Duration
	// MaxPuts and MaxSessionPuts bound the puts under way in all and of one
	// session; 0 means DefaultMaxPuts and DefaultMaxSessionPuts.
	MaxPuts, MaxSessionPuts int
	// ReplayEvents and ReplayBytes bound what is kept for streams that
	// resume; 0 means gateway.DefaultMaxEvents and gateway.DefaultMaxBytes.
	ReplayEvents, ReplayBytes int
}

// The bounds of puts under way where the options set none.
const (
	DefaultMaxPuts        = 16384
	DefaultMaxSessionPuts = 1024
)

const (
	// maxTurn bounds the messages between two signals to readers.
	maxTurn = 64
	// describeInterval is the shortest time between two requests to announce
	// that a doubtful message caused, so that hubs cannot flood the drivers.
	describeInterval = time.Second
)

// A Hub is the event loop. Make one with New and run it with Serve; its view
// can be used before that, and shows an empty table then.
type Hub struct {
	bus   Bus
	opts  Options
	epoch uint64 // of cursors and put ids
	began time.Time

	table   table
	puts    putTable
	clients clientSet
	mail    mailbox
	wake    chan struct{}
	ended   chan struct{} // closed when Serve has returned
	counts  counts

	// Everything below belongs to the goroutine of Serve.

	now       time.Time // of this turn
	turn      uint64
	n         uint64 // number of the newest event
	devices   map[string]*device
	standing  *gateway.Standing // the one that was given out last
	groups    groups
	touched   []*stream // have got something in this turn
	replay    replayRing
	deadlines deadlines
	busUp     bool
	// behind says that what comes is of unknown age: this process was held up,
	// and the echo of what it sent since then has not come.
	behind bool

	describe     deadline
	describeNext time.Time // not before this
}

var _ gateway.View = (*Hub)(nil)

// New makes a hub on a bus. It starts nothing.
func New(bus Bus, opts Options) *Hub {
	opts.MaxPuts = orDefault(opts.MaxPuts, DefaultMaxPuts)
	opts.MaxSessionPuts = orDefault(opts.MaxSessionPuts, DefaultMaxSessionPuts)
	h := &Hub{
		bus:     bus,
		opts:    opts,
		epoch:   rand.Uint64() | 1, // never 0
		began:   time.Now(),
		wake:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		devices: map[string]*device{},
		busUp:   true,
	}
	h.table.init()
	h.puts.init(opts.MaxPuts)
	h.clients.init()
	h.groups.init()
	h.replay.init(orDefault(opts.ReplayEvents, gateway.DefaultMaxEvents), orDefault(opts.ReplayBytes, gateway.DefaultMaxBytes))
	h.deadlines.wake = h.poke
	h.describe.fire = h.askDescribe
	return h
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// Serve runs the loop until ctx ends, and then returns nil, or until the bus is
// closed for good, and then returns its error. Puts that are still under way
// end with KindUnknownOutcome. Views stay usable: reads show the last table,
// puts are refused, streams can be drained and closed. Serve can be called once.
func (h *Hub) Serve(ctx context.Context) error {
	defer h.stop()
	h.now = time.Now()
	h.askDescribe()
	for {
		h.deadlines.arm()
		m, err := h.bus.Receive(ctx, h.wake)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		h.runTurn(m)
	}
}

// runTurn handles m, which may be nil, and what is there already, and then
// tells the readers.
func (h *Hub) runTurn(m gateway.Message) {
	h.now = time.Now()
	h.turn++
	h.counts.turn(m != nil, h.now)
	if h.wasHeld() {
		h.catchUp()
	}
	h.mail.run()
	for i := 1; m != nil; i++ {
		h.handle(m)
		h.counts.messages.Add(1)
		if i == maxTurn {
			// What is left comes with the next Receive; readers have waited long enough.
			break
		}
		m = h.bus.TryReceive()
	}
	h.deadlines.run(h.now)
	h.counts.events.Store(h.n)
	for i, s := range h.touched {
		s.touched = false
		s.signal()
		h.touched[i] = nil
	}
	h.touched = h.touched[:0]
}

func (h *Hub) handle(m gateway.Message) {
	switch m := m.(type) {
	case *gateway.Update:
		h.onUpdate(m)
	case *gateway.PutVerdict:
		h.onVerdict(m)
	case *gateway.Announcement:
		h.onAnnouncement(m)
	case *gateway.DeviceState:
		h.onDeviceState(m)
	case *gateway.BusState:
		h.onBusState(m)
	case *gateway.Dropped:
		h.counts.dropped.Add(m.Count)
		if h.behind {
			h.askEcho() // it may have been among them
		}
		h.askDescribe()
	case *gateway.Absent:
		h.onAbsent(m)
	case *gateway.Echo:
		h.caughtUp()
	}
}

// askDescribe asks all owners to announce, now or as soon as the last time is
// long enough ago.
func (h *Hub) askDescribe() {
	if h.now.Before(h.describeNext) {
		if !h.describe.queued() {
			h.deadlines.set(&h.describe, h.describeNext)
		}
		return
	}
	h.describeNow()
}

// describeNow asks at once. A failure is repeated like a doubt.
func (h *Hub) describeNow() {
	h.describeNext = h.now.Add(describeInterval)
	h.deadlines.cancel(&h.describe)
	h.counts.describes.Add(1)
	if err := h.bus.Describe(); err != nil && gateway.KindOf(err) != gateway.KindBusDown {
		// When the bus is down its return will make us ask.
		h.deadlines.set(&h.describe, h.describeNext)
	}
}

// stop ends what would otherwise wait for a loop that is gone.
func (h *Hub) stop() {
	h.deadlines.stop()
	h.puts.close()
	h.mail.close()
	close(h.ended)
}

func (h *Hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// post has f run by the goroutine of Serve, in the order of posting. It reports
// false when the loop has ended.
func (h *Hub) post(f func()) bool {
	if !h.mail.put(f) {
		return false
	}
	h.poke()
	return true
}

// emit gives an event its number, keeps it for streams that resume and delivers
// it to all watches of the attribute. size is what it adds to a queue.
func (h *Hub) emit(e *entry, it item, size int) {
	h.n++
	it.n = h.n
	h.replay.add(it, size)
	for _, g := range e.groups {
		for _, w := range g.watches {
			if w.wants(&it) {
				h.deliver(w, it, size)
			}
		}
	}
}

// emitChange is emit for everything but samples.
func (h *Hub) emitChange(e *entry, typ gateway.EventType, mask gateway.Mask) {
	h.emit(e, item{attr: e.attr.Load(), typ: typ, mask: mask}, changeSize)
}

func (h *Hub) deliver(w *watch, it item, size int) {
	it.watch = w
	if w.interval > 0 && w.holds(h, it) {
		return
	}
	h.push(w.stream, it, size)
}

func (h *Hub) push(s *stream, it item, size int) {
	s.push(it, size)
	if !s.touched {
		s.touched = true
		h.touched = append(h.touched, s)
	}
}

// counts are the hub's counters; any goroutine may read them.
type counts struct {
	messages, dropped, ignored, describes, restamped atomic.Uint64

	lastReceive atomic.Int64 // Unix nanoseconds, 0 for never
	events      atomic.Uint64
}

func (c *counts) turn(received bool, now time.Time) {
	if received {
		c.lastReceive.Store(now.UnixNano())
	}
}
