package graph

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/fanout"
)

// events answers an operation as server-sent events, each response one event
// "next", in the end "complete". This is GraphQL over SSE with a connection for
// each operation. The id of an event is its cursor, so that a browser that comes
// again by itself continues where it was.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request, op *graphql.OperationContext) {
	h := w.Header()
	h.Set("Content-Type", eventType)
	h.Set("X-Accel-Buffering", "no")
	if op.Operation.Operation == ast.Subscription {
		s.follow(ctx, w, r, op)
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{})
	response := s.run(ctx, op)
	_ = control.SetWriteDeadline(time.Now().Add(s.limits.batch))
	_, _ = w.Write(appendFinish([]byte(beginning), response))
}

// beginning is what each stream begins with.
const beginning = ": polygate\n\nretry: 1000\n\n"

// appendFinish writes one response and the end.
func appendFinish(out []byte, response *graphql.Response) []byte {
	return append(appendResponse(appendFields(out, gateway.Cursor{}), response), "\n\nevent: complete\ndata: \n\n"...)
}

// follow answers a subscription until the client goes away, stops reading, or the
// frontend stops. An end without "complete" tells the client to come again. The
// connection is taken over from net/http, which would copy each event twice.
func (s *Server) follow(ctx context.Context, w http.ResponseWriter, r *http.Request, op *graphql.OperationContext) {
	st, err := s.streams.add("sse", r.RemoteAddr)
	if err != nil {
		s.refuse(w, r, http.StatusServiceUnavailable, err)
		return
	}
	defer s.streams.remove(st)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(s.aborting, func() { _ = conn.Close() })()

	writer := s.fanout.NewWriter(conn)
	defer context.AfterFunc(s.stopping, writer.Stop)()
	st.notify = writer.Wake
	feed := s.newFeed(st, sessionOf(ctx))
	defer feed.close()
	head := eventHead(w.Header())
	sub, failed := feed.start(ctx, op, "", lastEvent(r))
	if failed != nil {
		_ = conn.SetWriteDeadline(time.Now().Add(s.limits.batch))
		_, _ = conn.Write(appendFinish(head, failed))
		return
	}
	writer.Serve(conn, head, &events{sub: sub}, fanout.Options{
		Limit: s.limits.batch, KeepAlive: s.limits.keepAlive, Sign: ": still here\n\n", Alone: sub.around == nil,
	})
}

// eventHead is the head of a stream that ends with its connection, and its beginning.
func eventHead(h http.Header) []byte {
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	head := bytes.NewBufferString("HTTP/1.1 200 OK\r\nConnection: close\r\n")
	_ = h.Write(head) // a buffer takes all
	head.WriteString("\r\n" + beginning)
	return head.Bytes()
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

// events are what one stream is to write.
type events struct {
	sub   *subscription
	taken *buffer         // with rest, or nil
	rest  []gateway.Event // that were taken and not yet written
}

// Next implements fanout.Source with one delivery at a time.
func (ev *events) Next(dst []byte) (piece []byte, more bool, err error) {
	feed := ev.sub.feed
	if ev.taken == nil {
		ev.taken = feed.server.takeBuffer()
		ev.taken.events = feed.queue.Take(ev.taken.events)
		ev.rest = ev.taken.events
	}
	if n := delivery(ev.rest); n > 0 {
		dst = appendFields(dst, ev.rest[n-1].Cursor)
		if dst, err = ev.sub.appendResponse(dst, ev.rest[:n]); err != nil {
			return nil, false, err
		}
		dst = append(dst, "\n\n"...)
		ev.rest = ev.rest[n:]
	}
	if len(ev.rest) > 0 {
		return dst, true, nil
	}
	feed.server.giveBuffer(ev.taken)
	ev.taken, ev.rest = nil, nil
	return dst, false, nil
}

// appendFields writes an event up to the response in it.
func appendFields(out []byte, cursor gateway.Cursor) []byte {
	out = append(out, "event: next"...)
	if cursor != (gateway.Cursor{}) { // an empty id would make the client forget the last one
		out = append(append(out, "\nid: "...), cursor.String()...)
	}
	return append(out, "\ndata: "...)
}
