package devicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
)

// A Bus is a bus for one supervisor that records what is published and plays
// the hubs. Its methods may be called from any goroutine.
type Bus struct {
	mu       sync.Mutex
	messages []gateway.Message
	changed  chan struct{} // closed and replaced at each message
	down     bool
	refuse   func(gateway.Message) error
	owner    gateway.Owner
	handler  device.Handler
	puts     uint64
	calls    sync.WaitGroup // of the handler
}

var _ device.Bus = (*Bus)(nil)

// NewBus returns a bus that is up.
func NewBus() *Bus { return &Bus{changed: make(chan struct{})} }

// Announce implements device.Bus.
func (b *Bus) Announce(m *gateway.Announcement) error { return b.record(m) }

// Update implements device.Bus.
func (b *Bus) Update(m *gateway.Update) error {
	kept := *m
	kept.Samples = slices.Clone(m.Samples)
	return b.record(&kept)
}

// State implements device.Bus.
func (b *Bus) State(m *gateway.DeviceState) error { return b.record(m) }

func (b *Bus) record(m gateway.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return gateway.Errorf(gateway.KindBusDown, "the bus is down")
	}
	if b.refuse != nil {
		if err := b.refuse(m); err != nil {
			return err
		}
	}
	b.messages = append(b.messages, m)
	b.notify()
	return nil
}

func (b *Bus) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Own implements device.Bus.
func (b *Bus) Own(owner gateway.Owner, h device.Handler) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, gateway.Errorf(gateway.KindBusDown, "the bus is down")
	}
	b.owner, b.handler = owner, h
	b.notify()
	return func() {
		b.mu.Lock()
		b.handler = nil
		b.mu.Unlock()
		b.calls.Wait()
	}, nil
}

// Refuse makes the bus return what f returns for a message, if that is an error.
func (b *Bus) Refuse(f func(gateway.Message) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = f
}

// SetDown takes the bus away or brings it back, and tells the owner.
func (b *Bus) SetDown(down bool) {
	b.mu.Lock()
	b.down = down
	b.mu.Unlock()
	b.SayState(gateway.BusState{Connected: !down, Since: time.Now()})
}

// SayState tells the owner of a state of the bus.
func (b *Bus) SayState(state gateway.BusState) {
	b.call(func(h device.Handler) { h.HandleBus(state) })
}

// Describe asks the owner to announce.
func (b *Bus) Describe() { b.call(func(h device.Handler) { h.HandleDescribe() }) }

// Rival lets another owner speak.
func (b *Bus) Rival(owner gateway.Owner) {
	b.call(func(h device.Handler) { h.HandleRival(owner, false) })
}

// RivalLeaves lets another owner say that it will not speak again.
func (b *Bus) RivalLeaves(owner gateway.Owner) {
	b.call(func(h device.Handler) { h.HandleRival(owner, true) })
}

func (b *Bus) call(f func(device.Handler)) bool {
	b.mu.Lock()
	h := b.handler
	if h != nil {
		b.calls.Add(1)
	}
	b.mu.Unlock()
	if h == nil {
		return false
	}
	defer b.calls.Done()
	f(h)
	return true
}

// Owner returns who owns the device; its Device is empty before the first Own.
func (b *Bus) Owner() gateway.Owner {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owner
}

// Put sends a put to the current owner. The channel gets every answer; one of
// kind KindNotConnected if there is no owner.
func (b *Bus) Put(request gateway.PutRequest) <-chan *gateway.PutVerdict {
	return b.address(&gateway.Put{PutRequest: request})
}

// Refresh is Put for a refresh.
func (b *Bus) Refresh(request gateway.PutRequest) <-chan *gateway.PutVerdict {
	return b.address(&gateway.Put{PutRequest: request, Refresh: true})
}

func (b *Bus) address(put *gateway.Put) <-chan *gateway.PutVerdict {
	b.mu.Lock()
	b.puts++
	put.ID, put.To = gateway.PutID{Hub: 1, N: b.puts}, b.owner
	b.mu.Unlock()
	return b.Send(put)
}

// Send is Put for a put that is complete.
func (b *Bus) Send(put *gateway.Put) <-chan *gateway.PutVerdict {
	// Room for one answer too many, so that a test can see it.
	answers := make(chan *gateway.PutVerdict, 2)
	sent := b.call(func(h device.Handler) {
		h.HandlePut(put, func(v *gateway.PutVerdict) {
			// Beside the updates, so that their order can be checked.
			b.mu.Lock()
			b.messages = append(b.messages, v)
			b.notify()
			b.mu.Unlock()
			answers <- v
		})
	})
	if !sent {
		answers <- &gateway.PutVerdict{ID: put.ID, Verdict: gateway.Verdict{
			Stage: gateway.StageRefused, Err: gateway.Errorf(gateway.KindNotConnected, "nobody owns the device"),
		}}
	}
	return answers
}

// Messages returns all that was published and all verdicts, in order.
func (b *Bus) Messages() []gateway.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

// Wait waits until done, which is called with all messages so far and again
// after each new one, returns true. The error is that of ctx, with what was heard.
func (b *Bus) Wait(ctx context.Context, done func([]gateway.Message) bool) error {
	for {
		b.mu.Lock()
		messages, changed := b.messages[:len(b.messages):len(b.messages)], b.changed
		b.mu.Unlock()
		if done(messages) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w; heard so far:\n%s", ctx.Err(), Transcript(messages))
		}
	}
}

// Table returns the newest samples of each attribute and the newest state, as a
// hub that heard all messages has them.
func Table(messages []gateway.Message) (map[gateway.Path]gateway.Announced, gateway.DeviceState) {
	var list []gateway.Announced
	var state gateway.DeviceState
	for _, message := range messages {
		switch m := message.(type) {
		case *gateway.Announcement:
			list, state = slices.Clone(m.Attributes), m.State
		case *gateway.DeviceState:
			state = *m
		case *gateway.Update:
			for _, u := range m.Samples {
				if int(u.Index) >= len(list) {
					continue
				}
				if u.Role == gateway.Setpoint {
					list[u.Index].Setpoint = u.Sample
				} else {
					list[u.Index].Readback = u.Sample
				}
			}
		}
	}
	table := make(map[gateway.Path]gateway.Announced, len(list))
	for _, a := range list {
		table[a.Descriptor.Path] = a
	}
	return table, state
}

// Transcript writes messages for people, one a line.
func Transcript(messages []gateway.Message) string {
	var out strings.Builder
	for _, message := range messages {
		switch m := message.(type) {
		case *gateway.Announcement:
			fmt.Fprintf(&out, "announcement of %d by %s, connected %t\n", len(m.Attributes), m.Owner, m.State.Connected)
		case *gateway.DeviceState:
			fmt.Fprintf(&out, "state: connected %t, %q, stale %v, leaving %t\n", m.Connected, m.Words, m.Stale, m.Leaving)
		case *gateway.Update:
			out.WriteString("update:")
			for _, u := range m.Samples {
				fmt.Fprintf(&out, " [%d %s] seq %d mask %d %s/%s %q", u.Index, u.Role, u.Sample.Seq, u.Sample.Mask,
					u.Sample.Alarm.Severity, u.Sample.Alarm.Status, u.Sample.Alarm.Text)
			}
			out.WriteByte('\n')
		case *gateway.PutVerdict:
			fmt.Fprintf(&out, "verdict of %d: %s", m.ID.N, m.Verdict.Stage)
			if m.Verdict.Err != nil {
				fmt.Fprintf(&out, ", %s: %s", m.Verdict.Err.Kind, m.Verdict.Err)
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}
