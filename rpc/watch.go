package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// Watch implements pb.GatewayServiceServer.
func (s service) Watch(r *pb.WatchRequest, st grpc.ServerStreamingServer[pb.WatchResponse]) error {
	ctx := st.Context()
	session := s.session(ctx)
	watch, err := selectionOf(session, r)
	if err != nil {
		return err
	}
	sub, err := s.streams.open("watch", peerOf(ctx), session)
	if err != nil {
		return err
	}
	defer s.streams.close(sub)
	parts := map[gateway.WatchID]part{}
	if err := watch.begin(sub.queue, parts); err != nil {
		return err
	}
	out := &sender{server: s.Server, queue: sub.queue, parts: parts, send: func(_ *selection, batch frame) error {
		return st.SendMsg(batch)
	}}
	// The empty batch tells the client at once that the watch has begun.
	if err := out.send(watch, nil); err != nil {
		return err
	}
	quiet := time.NewTimer(s.limits.keepAlive)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sub.queue.Ready():
			err = out.drain(ctx)
		case <-quiet.C:
			err = out.send(watch, nil)
		}
		if err != nil {
			return err
		}
		quiet.Reset(s.limits.keepAlive)
	}
}

// A sender sends what the hub queues, in batches. One goroutine uses it.
type sender struct {
	server *Server
	queue  gateway.Stream
	parts  map[gateway.WatchID]part
	// send sends one batch of a selection.
	send func(of *selection, batch frame) error
}

// drain sends what is queued now.
func (o *sender) drain(ctx context.Context) error {
	buffer := o.server.takeEvents()
	defer o.server.giveEvents(buffer)
	*buffer = o.queue.Take(*buffer)
	var begun []*selection // that have a batch under way
	var of gateway.WatchID // the watch that p is
	var p part
	for i := range *buffer {
		e := &(*buffer)[i]
		if e.Watch != of {
			of, p = e.Watch, o.parts[e.Watch]
		}
		if p.selection == nil {
			continue // ended meanwhile
		}
		before := p.events
		anew, err := p.add(e, &o.server.shared)
		if err != nil {
			return err
		}
		if before == 0 && p.events > 0 {
			begun = append(begun, p.selection)
		}
		if anew {
			if err := o.anew(p.selection); err != nil {
				return err
			}
			of = 0 // its watches are others now
		}
		if p.full() {
			if err := o.send(p.selection, p.take()); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	for _, s := range begun {
		if s.events == 0 {
			continue // sent already
		}
		if err := o.send(s, s.take()); err != nil {
			return err
		}
	}
	return nil
}

// anew has all watches of a selection begin afresh, after a gap in one of them:
// the client has been told that a snapshot of everything follows.
func (o *sender) anew(s *selection) error {
	for i := range s.options {
		s.options[i].Cursor = gateway.Cursor{}
	}
	s.end(o.queue, o.parts)
	return s.begin(o.queue, o.parts)
}

// takeEvents lends a buffer for events, so that a quiet stream needs none.
func (s *Server) takeEvents() *[]gateway.Event {
	if b, ok := s.events.Get().(*[]gateway.Event); ok {
		return b
	}
	return new([]gateway.Event)
}

func (s *Server) giveEvents(b *[]gateway.Event) {
	const large = 16 << 10 // events, which a burst leaves behind
	if cap(*b) > large {
		return
	}
	clear(*b)
	*b = (*b)[:0]
	s.events.Put(b)
}
