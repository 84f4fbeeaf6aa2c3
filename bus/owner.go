package bus

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/proto"
)

// ownerInbox is how many messages may wait for the handler of one device, which
// returns quickly.
const ownerInbox = 1 << 12

// A Handler is what the owner of a device does when the bus calls. Its methods
// must return quickly.
type Handler interface {
	// HandlePut takes a put. The handler answers exactly once, from any
	// goroutine; a second answer does nothing.
	HandlePut(put *gateway.Put, answer func(*gateway.PutVerdict))
	// HandleDescribe is called when a hub asks everyone to announce, and
	// when messages to this owner were lost.
	HandleDescribe()
	// HandleRival is called when another owner of the same device speaks,
	// whatever its term: an older one must be told of us. Leaving says that it
	// will not speak again.
	HandleRival(rival gateway.Owner, leaving bool)
	// HandleBus is called first with the present state, and then when this
	// process loses or regains the bus.
	HandleBus(gateway.BusState)
}

// ownership is one call of Own.
type ownership struct {
	conn    *Conn
	owner   gateway.Owner
	handler Handler
	in      *inbox
	decoder proto.Decoder
	logged  *onceLog

	puts, describe, announcements, states *nats.Subscription

	finished chan struct{} // closed when the last call of the handler has returned
	once     sync.Once
}

// Own makes h get what is addressed to the owner: one call at a time, in the
// order of arrival, until release is called or the Conn is closed. When Own
// returns the server knows of it, unless the bus is away. Release waits for a
// call in progress, so it must not be called from within one; puts that the
// handler has not seen by then are refused. An answer may come after release.
func (c *Conn) Own(owner gateway.Owner, h Handler) (release func(), err error) {
	for _, name := range []string{owner.Device, owner.Instance} {
		if err := gateway.CheckSegment(name); err != nil {
			return nil, gateway.Errorf(gateway.KindMalformed, "owner %s: %w", owner, err)
		}
	}
	o := &ownership{
		conn: c, owner: owner, handler: h,
		in: newInbox(ownerInbox), logged: newOnceLog(c), finished: make(chan struct{}),
	}
	c.register(o.in)
	for _, want := range []struct {
		sub     **nats.Subscription
		subject string
	}{
		{&o.puts, c.subjects.put(owner)},
		{&o.describe, c.subjects.describe()},
		{&o.announcements, c.subjects.announce(owner.Device)},
		{&o.states, c.subjects.state(owner.Device)},
	} {
		if *want.sub, err = o.in.subscribe(c.nc, want.subject); err != nil {
			o.unsubscribe()
			return nil, gateway.Errorf(gateway.KindBusDown, "subscribing to %s: %w", want.subject, err)
		}
	}
	c.mu.Lock()
	c.owners[o] = struct{}{}
	c.mu.Unlock()
	go o.run()
	if err := c.flush(); err != nil {
		o.release()
		return nil, gateway.Errorf(gateway.KindBusDown, "subscribing %s: %w", owner, err)
	}
	return o.release, nil
}

// unsubscribe ends what comes in, and run with it.
func (o *ownership) unsubscribe() {
	for _, sub := range o.in.subs {
		_ = sub.Unsubscribe() // fails only if the connection is closed, which ends it, too
	}
	o.conn.unregister(o.in)
}

func (o *ownership) release() {
	o.once.Do(func() {
		if o.conn.up.Load() {
			// Draining keeps the subscription here until the server has
			// ended it, so no put on its way to us is lost.
			_ = o.puts.Drain()
		}
		o.in.close()
		<-o.finished
		_ = o.conn.flush()
		o.refuseWaiting()
		o.unsubscribe()
		o.conn.mu.Lock()
		delete(o.conn.owners, o)
		o.conn.mu.Unlock()
	})
}

func (o *ownership) run() {
	defer close(o.finished)
	for {
		select {
		case <-o.in.done:
			return
		case msg := <-o.in.msgs:
			o.handle(msg)
		}
	}
}

func (o *ownership) handle(msg *nats.Msg) {
	if loss := o.in.takeLoss(); loss > 0 {
		o.conn.stats.dropped.Add(loss)
		o.handler.HandleDescribe()
	}
	if msg == nil {
		if state, ok := o.in.takeState(); ok {
			o.handler.HandleBus(state)
		}
		return
	}
	o.conn.stats.in(msg)
	switch msg.Sub {
	case o.puts:
		o.put(msg)
	case o.describe:
		o.handler.HandleDescribe()
	case o.announcements:
		rival, err := o.decoder.Owner(msg.Data)
		o.rival(msg, rival, false, err)
	case o.states:
		state, err := o.decoder.DeviceState(msg.Data)
		if err != nil {
			o.logged.malformed(msg.Subject, err)
			return
		}
		o.rival(msg, state.Owner, state.Leaving, nil)
	}
}

// rival looks at who speaks for our device; most often that is ourselves.
func (o *ownership) rival(msg *nats.Msg, rival gateway.Owner, leaving bool, err error) {
	if err == nil {
		err = checkSender(msg.Subject, &rival)
	}
	switch {
	case err != nil:
		o.logged.malformed(msg.Subject, err)
	case rival.Instance != o.owner.Instance:
		o.handler.HandleRival(rival, leaving)
	}
}

func (o *ownership) put(msg *nats.Msg) {
	if len(msg.Data) == 0 {
		return // A hub asks whether we are here: that it could send this tells.
	}
	put, err := o.decoder.Put(msg.Data)
	if err == nil && (put.To.Device != o.owner.Device || put.To.Instance != o.owner.Instance) {
		err = fmt.Errorf("it is for %s", put.To)
	}
	if err != nil {
		o.logged.malformed(msg.Subject, err)
		o.refuse(msg, gateway.KindMalformed, "the driver cannot read the put: "+err.Error())
		return
	}
	var answered atomic.Bool
	o.handler.HandlePut(put, func(v *gateway.PutVerdict) {
		if !answered.Swap(true) {
			o.answer(msg.Reply, v)
		}
	})
}

// refuseWaiting answers puts that came too late for the handler.
func (o *ownership) refuseWaiting() {
	for {
		select {
		case msg := <-o.in.msgs:
			if msg != nil && msg.Sub == o.puts {
				o.refuse(msg, gateway.KindNotConnected, "the driver has stopped")
			}
		default:
			return
		}
	}
}

func (o *ownership) refuse(msg *nats.Msg, kind gateway.ErrorKind, words string) {
	refusal := &gateway.Error{Kind: kind, Stage: gateway.StageRefused, Msg: words}
	o.answer(msg.Reply, &gateway.PutVerdict{
		Owner:   o.owner,
		Verdict: gateway.Verdict{Stage: gateway.StageRefused, Err: refusal},
	})
}

// answer sends a verdict to who asked. If that fails the hub's own budget ends
// the put.
func (o *ownership) answer(reply string, v *gateway.PutVerdict) {
	if reply == "" {
		return
	}
	if err := o.conn.sendVerdict(reply, v); err != nil {
		o.conn.trouble("a verdict could not be sent", err)
	}
}
