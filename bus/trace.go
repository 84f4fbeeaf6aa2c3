package bus

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
)

// maxTraces is how many may be told the bytes of one link at the same time, and
// how many more may wait for their turn.
const maxTraces = 8

// A Follower tells somebody the bytes of a link, as lines of text. It hands them
// to say, which copies them, until ctx ends or say fails.
type Follower func(ctx context.Context, request string, say func(text []byte) error)

// ServeTraces answers who asks for the bytes of a link: a request on
// trace.<link>, whose replies are what follow says, and an empty one at the end. A
// follower runs on a goroutine of its own; its context ends when it has said
// something and nobody listened. ServeTraces blocks until ctx has ended, or the Conn
// was closed, and all followers have returned. The error is of KindMalformed, for
// a name that cannot be part of a subject.
func (c *Conn) ServeTraces(ctx context.Context, link string, follow Follower) error {
	if err := gateway.CheckSegment(link); err != nil {
		return gateway.Errorf(gateway.KindMalformed, "traces of link %s: %w", link, err)
	}
	requests := make(chan *nats.Msg, maxTraces)
	sub, err := c.nc.ChanSubscribe(c.subjects.trace(link), requests)
	if err != nil {
		return gateway.Errorf(gateway.KindBusDown, "traces of link %s: %w", link, err)
	}
	var followers sync.WaitGroup
	defer followers.Wait()
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is closed, which ends it, too
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	turns := make(chan struct{}, maxTraces)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.lifetime.Done():
			return nil
		case msg := <-requests:
			c.stats.in(msg)
			if msg.Reply == "" {
				continue // nobody would hear it
			}
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			followers.Go(func() {
				c.follow(ctx, msg, follow)
				<-turns
			})
		}
	}
}

// follow answers one request. The server says so when nobody hears a reply.
func (c *Conn) follow(ctx context.Context, request *nats.Msg, follow Follower) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unheard := c.nc.NewInbox()
	sub, err := c.nc.Subscribe(unheard, func(*nats.Msg) { cancel() })
	if err != nil {
		return // the connection is closed
	}
	defer func() { _ = sub.Unsubscribe() }()
	follow(ctx, string(request.Data), func(text []byte) error { return c.publish(request.Reply, unheard, text) })
	_ = c.publish(request.Reply, "", nil) // fails if the bus is away, where nobody listens
}
