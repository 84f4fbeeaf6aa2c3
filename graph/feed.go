package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/model"
)

// feed turns the events of one connection's queue into responses of its
// subscriptions. It belongs to one goroutine, which alone calls its methods: so
// a thousand subscriptions need no goroutine of their own, and their responses
// keep the order of the events.
type feed struct {
	server  *Server
	stream  *stream
	session gateway.Session
	queue   gateway.Stream // nil before the first subscription
	subs    map[gateway.WatchID]*subscription
}

func (s *Server) newFeed(st *stream, session gateway.Session) *feed {
	return &feed{server: s, stream: st, session: session, subs: map[gateway.WatchID]*subscription{}}
}

// subscription is one operation that goes on. gqlgen asks for a response where
// the event is already in the channel, so that nobody waits.
type subscription struct {
	feed       *feed
	id         string         // the client's, on a WebSocket
	resume     gateway.Cursor // of a client that comes again by itself
	deliveries chan *model.Updates
	watch      gateway.WatchID
	begun      bool

	ctx  context.Context
	stop context.CancelFunc
	next graphql.ResponseHandler
	// around is what stands before and behind the events where they are all that
	// is asked for, or nil.
	around *[2]string
}

type subscriptionKey struct{}

// start begins a subscription. If it cannot, the response says why.
func (f *feed) start(ctx context.Context, op *graphql.OperationContext, id string, resume gateway.Cursor) (sub *subscription, failed *graphql.Response) {
	fields := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})
	if len(fields) != 1 {
		return nil, failure(oneField())
	}
	sub = &subscription{feed: f, id: id, resume: resume, deliveries: make(chan *model.Updates, 1), around: aroundBatch(op, fields[0])}
	sub.ctx, sub.stop = context.WithCancel(context.WithValue(ctx, subscriptionKey{}, sub))
	defer func() {
		if fault := recover(); fault != nil {
			failed = failure(f.server.recovered(ctx, fault))
		}
		if failed != nil {
			f.end(sub)
			sub = nil
		}
	}()
	sub.next, sub.ctx = f.server.exec.DispatchOperation(sub.ctx, op)
	if sub.begun {
		return sub, nil
	}
	if failed = sub.next(sub.ctx); failed == nil {
		failed = failure(gateway.Errorf(gateway.KindMalformed, "there is nothing to subscribe to"))
	}
	return sub, failed
}

// oneField is what GraphQL says of a subscription to nothing, or to two things.
func oneField() error {
	err := gqlerror.Errorf("a subscription has exactly one field at its top")
	errcode.Set(err, errcode.ValidationFailed)
	return err
}

// aroundBatch returns what stands around the events in each response if they are
// asked for as one piece, and nothing else is. That is so wherever there is much
// to deliver, and most of such a response is then the same for all clients.
func aroundBatch(op *graphql.OperationContext, updates graphql.CollectedField) *[2]string {
	fields := graphql.CollectFields(op, updates.Selections, []string{"Updates"})
	if len(fields) != 1 || fields[0].Name != "batch" || len(fields[0].Deferrables) > 0 {
		return nil
	}
	return &[2]string{`{"data":{"` + updates.Alias + `":{"` + fields[0].Alias + `":`, "}}}"}
}

// begin is called by the resolver, within start.
func (sub *subscription) begin(options gateway.WatchOptions) error {
	f := sub.feed
	queue, err := f.server.streams.subscribe(f.stream, f.session)
	if err != nil {
		return err
	}
	f.queue = queue
	if sub.watch, err = queue.Watch(options); err != nil {
		f.server.streams.unsubscribe(f.stream)
		return err
	}
	sub.begun = true
	f.subs[sub.watch] = sub
	return nil
}

// end ends a subscription. It may be called twice.
func (f *feed) end(sub *subscription) {
	sub.stop()
	if f.subs[sub.watch] != sub {
		return
	}
	delete(f.subs, sub.watch)
	f.queue.Unwatch(sub.watch)
	f.server.streams.unsubscribe(f.stream)
}

// close ends all subscriptions.
func (f *feed) close() {
	for _, sub := range f.subs {
		f.end(sub)
	}
}

// ready receives a value when there may be something to deliver.
func (f *feed) ready() <-chan struct{} {
	if f.queue == nil {
		return nil
	}
	return f.queue.Ready()
}

// deliver hands what is queued to send, in parts that make a response each. It
// ends early where send fails.
func (f *feed) deliver(send func(*subscription, []gateway.Event) error) error {
	b := f.server.takeBuffer()
	defer f.server.giveBuffer(b)
	b.events = f.queue.Take(b.events)
	for rest := b.events; len(rest) > 0; {
		n := delivery(rest)
		if sub := f.subs[rest[0].Watch]; sub != nil {
			if err := send(sub, rest[:n]); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	return nil
}

// delivery returns how many of the events, all of one watch, make one delivery.
func delivery(events []gateway.Event) int {
	n, size := 0, 0
	for n < len(events) && n < batchEvents && size < batchBytes && events[n].Watch == events[0].Watch {
		if a := events[n].Attribute; a != nil {
			size += sizeOf(a.Readback) + sizeOf(a.Setpoint)
		}
		n++
	}
	return n
}

// appendResponse writes the response to events. It never panics, and fails only
// where the subscription has ended.
func (sub *subscription) appendResponse(dst []byte, events []gateway.Event) (out []byte, err error) {
	server := sub.feed.server
	defer func() {
		if fault := recover(); fault != nil {
			out, err = appendResponse(dst, failure(server.recovered(sub.ctx, fault))), nil
		}
	}()
	if sub.around != nil {
		return append(server.AppendEvents(append(dst, sub.around[0]...), events), sub.around[1]...), nil
	}
	sub.deliveries <- &model.Updates{Of: events, Encoder: server}
	response := sub.next(sub.ctx)
	if response == nil { // and the delivery is in the channel still
		return dst, context.Cause(sub.ctx)
	}
	return appendResponse(dst, response), nil
}

// buffer is what a stream needs while it writes; an idle stream has none.
type buffer struct {
	events []gateway.Event
	out    []byte
}

// mostEvents is the capacity up to which a buffer is kept for the next stream.
const mostEvents = 2048

func (s *Server) takeBuffer() *buffer {
	if b, ok := s.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{}
}

func (s *Server) giveBuffer(b *buffer) {
	if cap(b.events) > mostEvents || cap(b.out) > 8*batchBytes {
		return
	}
	clear(b.events) // samples must not live on in the buffer
	b.events, b.out = b.events[:0], b.out[:0]
	s.buffers.Put(b)
}
