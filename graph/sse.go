package graph

import (
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/streamtime"
)

// events answers an operation as server-sent events, each response one event
// "next", in the end "complete". This is GraphQL over SSE with a connection for
// each operation. The id of an event is its cursor, so that a browser that comes
// again by itself continues where it was.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request, op *graphql.OperationContext) {
	out := &eventWriter{server: s, w: w, control: http.NewResponseController(w)}
	if op.Operation.Operation != ast.Subscription {
		_ = out.control.SetWriteDeadline(time.Time{})
		out.finish(s.run(ctx, op))
		return
	}
	st, err := s.streams.add("sse", r.RemoteAddr)
	if err != nil {
		s.refuse(w, r, http.StatusServiceUnavailable, err)
		return
	}
	defer s.streams.remove(st)
	feed := s.newFeed(st, sessionOf(ctx))
	defer feed.close()
	_, failed := feed.start(ctx, op, "", lastEvent(r))
	if failed != nil {
		out.finish(failed)
		return
	}
	if out.head() == nil {
		out.follow(ctx, feed)
	}
}

// lastEvent is the cursor of a browser that comes again. One that cannot be read
// is of no hub: a browser would never ask again if that were refused.
func lastEvent(r *http.Request) gateway.Cursor {
	text := r.Header.Get("Last-Event-ID")
	cursor, err := gateway.ParseCursor(text)
	if err != nil {
		return gateway.Cursor{Epoch: 1}
	}
	return cursor
}

// eventWriter writes one stream.
type eventWriter struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
}

func (o *eventWriter) head() error {
	h := o.w.Header()
	h.Set("Content-Type", eventType)
	h.Set("X-Accel-Buffering", "no")
	return o.write([]byte(": polygate\n\nretry: 1000\n\n"))
}

// finish writes one response and the end.
func (o *eventWriter) finish(response *graphql.Response) {
	if o.head() == nil {
		_ = o.write(append(appendResponse(appendFields(nil, gateway.Cursor{}), response), "\n\nevent: complete\ndata: \n\n"...))
	}
}

// follow writes responses until the client goes away, stops reading, or the
// frontend stops. An end without "complete" tells the client to come again.
func (o *eventWriter) follow(ctx context.Context, feed *feed) {
	quiet := streamtime.NewQuiet(o.server.limits.keepAlive)
	defer quiet.Stop()
	defer context.AfterFunc(ctx, quiet.Wake)()
	defer context.AfterFunc(o.server.stopping, quiet.Wake)()
	var err error
	for err == nil {
		select {
		case <-feed.ready():
			err = feed.deliver(o.send)
			quiet.Wrote()
		case <-quiet.Woken():
			if ctx.Err() != nil || o.server.stopping.Err() != nil {
				return
			}
			if quiet.Over() {
				err = o.sign()
			}
		}
	}
}

// send writes one delivery of a subscription.
func (o *eventWriter) send(sub *subscription, events []gateway.Event) error {
	b := o.server.takeBuffer()
	defer o.server.giveBuffer(b)
	var err error
	if b.out, err = sub.appendResponse(appendFields(b.out, events[len(events)-1].Cursor), events); err != nil {
		return err
	}
	b.out = append(b.out, "\n\n"...)
	return o.write(b.out)
}

// appendFields writes an event up to the response in it.
func appendFields(out []byte, cursor gateway.Cursor) []byte {
	out = append(out, "event: next"...)
	if cursor != (gateway.Cursor{}) { // an empty id would make the client forget the last one
		out = append(append(out, "\nid: "...), cursor.String()...)
	}
	return append(out, "\ndata: "...)
}

// write writes a part of the stream within its limit.
func (o *eventWriter) write(data []byte) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(o.server.limits.batch)); err != nil {
		return err
	}
	if _, err := o.w.Write(data); err != nil {
		return err
	}
	return o.control.Flush()
}

// sign writes a sign of life. What limits it wakes nobody while the stream is quiet.
func (o *eventWriter) sign() error {
	if err := o.write([]byte(": still here\n\n")); err != nil {
		return err
	}
	return o.control.SetWriteDeadline(time.Time{})
}
