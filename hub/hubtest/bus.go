// Package hubtest plays the other side of a hub in tests: a bus in memory and
// devices on it whose behaviour the test decides.
package hubtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/polygate/gateway"
)

// A Bus is an ordered queue of messages in memory. It satisfies hub.Bus. Its
// methods may be called from any goroutine.
type Bus struct {
	mu       sync.Mutex
	queue    []gateway.Message
	ready    chan struct{}
	down     bool
	devices  map[string]*Device
	asked    int
	deaf     bool          // nobody hears requests to announce
	dropEcho bool          // the next one is lost
	hold     chan struct{} // closed when the hub may go on; nil if it may
	closeErr error
	settled  []chan struct{} // closed when the hub has nothing left to do
}

var _ Line = (*Bus)(nil)

// NewBus makes a bus that is connected.
func NewBus() *Bus {
	return &Bus{ready: make(chan struct{}, 1), devices: map[string]*Device{}}
}

// Post queues messages for the hub.
func (b *Bus) Post(messages ...gateway.Message) {
	b.mu.Lock()
	b.queue = append(b.queue, messages...)
	b.mu.Unlock()
	b.signal()
}

func (b *Bus) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// Fail closes the bus for good: the hub's Serve ends with err.
func (b *Bus) Fail(err error) {
	b.mu.Lock()
	b.closeErr = err
	b.mu.Unlock()
	b.signal()
}

// Receive satisfies hub.Bus.
func (b *Bus) Receive(ctx context.Context, wake <-chan struct{}) (gateway.Message, error) {
	for {
		b.held(ctx)
		if m := b.TryReceive(); m != nil {
			return m, nil
		}
		if idle, err := b.beforeWait(wake); err != nil || !idle {
			return nil, err
		}
		select {
		case <-b.ready:
		case <-wake:
			b.held(ctx)
			return nil, nil //nolint:nilnil // that is the contract.
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Hold holds the hub as if its process were stopped, until resume is called.
func (b *Bus) Hold() (resume func()) {
	hold := make(chan struct{})
	b.mu.Lock()
	b.hold = hold
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		b.hold = nil
		b.mu.Unlock()
		close(hold)
	}
}

// held waits while the hub is held.
func (b *Bus) held(ctx context.Context) {
	b.mu.Lock()
	hold := b.hold
	b.mu.Unlock()
	if hold == nil {
		return
	}
	select {
	case <-hold:
	case <-ctx.Done():
	}
}

// beforeWait runs when no message is queued. Not idle means that there is work
// from elsewhere.
func (b *Bus) beforeWait(wake <-chan struct{}) (idle bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closeErr != nil {
		return false, b.closeErr
	}
	if len(b.settled) == 0 || len(b.queue) > 0 {
		return true, nil
	}
	select {
	case <-wake:
		return false, nil
	default:
	}
	for _, c := range b.settled {
		close(c)
	}
	b.settled = nil
	return true, nil
}

// Settle waits until the hub has handled everything that was said and asked
// before, and has told its readers.
func (b *Bus) Settle(ctx context.Context) error {
	settled := make(chan struct{})
	b.mu.Lock()
	b.settled = append(b.settled, settled)
	b.mu.Unlock()
	b.signal()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the hub to settle: %w", context.Cause(ctx))
	}
}

// TryReceive satisfies hub.Bus.
func (b *Bus) TryReceive() gateway.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return nil
	}
	m := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	if len(b.queue) == 0 {
		b.queue = nil
	}
	return m
}

// SendPut satisfies hub.Bus. A put to an owner that is not there gets the
// verdict that a real bus gives.
func (b *Bus) SendPut(p *gateway.Put) error {
	b.mu.Lock()
	if b.down {
		b.mu.Unlock()
		return gateway.Errorf(gateway.KindBusDown, "bus is away")
	}
	d := b.devices[p.To.Device]
	b.mu.Unlock()
	if d == nil || !d.HandlePut(p) {
		err := gateway.Errorf(gateway.KindNotConnected, "no driver listens")
		b.Post(&gateway.PutVerdict{Owner: p.To, ID: p.ID, Verdict: gateway.Verdict{Stage: gateway.StageRefused, Err: err}})
	}
	return nil
}

// Describe satisfies hub.Bus: all devices announce.
func (b *Bus) Describe() error {
	b.mu.Lock()
	b.asked++
	down, deaf := b.down, b.deaf
	devices := make([]*Device, 0, len(b.devices))
	for _, d := range b.devices {
		devices = append(devices, d)
	}
	b.mu.Unlock()
	if down {
		return gateway.Errorf(gateway.KindBusDown, "bus is away")
	}
	for _, d := range devices {
		if !deaf {
			d.Announce()
		}
	}
	return nil
}

// Ask satisfies hub.Bus.
func (b *Bus) Ask(o gateway.Owner) error {
	b.mu.Lock()
	down, d := b.down, b.devices[o.Device]
	b.mu.Unlock()
	if down {
		return gateway.Errorf(gateway.KindBusDown, "bus is away")
	}
	if d == nil || !d.listens(o) {
		b.Post(&gateway.Absent{Owner: o})
	}
	return nil
}

// Echo satisfies hub.Bus.
func (b *Bus) Echo() error {
	b.mu.Lock()
	down, drop := b.down, b.dropEcho
	b.dropEcho = false
	b.mu.Unlock()
	switch {
	case down:
		return gateway.Errorf(gateway.KindBusDown, "bus is away")
	case !drop:
		b.Post(&gateway.Echo{})
	}
	return nil
}

// DropEcho loses the next echo.
func (b *Bus) DropEcho() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropEcho = true
}

// Asked returns how often everyone was asked to announce.
func (b *Bus) Asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// Deafen makes devices ignore requests to announce, or hear them again.
func (b *Bus) Deafen(deaf bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deaf = deaf
}

// SetConnected takes the bus away from the hub or gives it back. What devices
// say in between is lost.
func (b *Bus) SetConnected(state gateway.BusState) {
	b.mu.Lock()
	b.down = !state.Connected
	b.mu.Unlock()
	b.Post(&state)
}

// Own satisfies Line.
func (b *Bus) Own(_ gateway.Owner, d *Device) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.devices[d.name] = d
}

// Disown satisfies Line. The device itself knows that nobody listens.
func (b *Bus) Disown(gateway.Owner) {}

// Say satisfies Line. While the bus is away nobody hears it.
func (b *Bus) Say(m gateway.Message) {
	b.mu.Lock()
	if b.down {
		b.mu.Unlock()
		return
	}
	b.queue = append(b.queue, m)
	b.mu.Unlock()
	b.signal()
}
