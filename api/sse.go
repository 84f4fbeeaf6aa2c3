package api

import (
	"context"
	"net"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/fanout"
)

const sseType = "text/event-stream"

// stream serves events as text/event-stream. The connection is taken over from
// fiber: only so is a client that went away noticed at once, and every write
// has a deadline of its own.
func (s *Server) stream(c *fiber.Ctx) error {
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	watch, err := sseWatch(c)
	if err != nil {
		return err
	}
	session := s.session(c)
	if err := checkStream(c, session, watch); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, sseType)
	c.Set(fiber.HeaderCacheControl, "no-store")
	if c.Method() == fiber.MethodHead {
		return nil
	}
	conn := connOf(c.Context())
	writer := s.fanout.NewWriter(conn)
	subscription, err := s.subscribe(c, "sse", session, writer.Wake)
	if err != nil {
		return err
	}
	if _, err := subscription.queue.Watch(watch); err != nil {
		conn.free()
		return err
	}
	head := append(sseHead(c), ": polygate\n\nretry: 1000\n\n"...)
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(client net.Conn) {
		defer context.AfterFunc(s.stopping, writer.Stop)()
		writer.Serve(client, head, &events{server: s, queue: subscription.queue, opts: opts}, fanout.Options{
			Limit: s.limits.batch, KeepAlive: s.limits.keepAlive, Sign: ": still here\n\n",
		})
	})
	return nil
}

// sseWatch reads the watch from the query. A browser that reconnects sends the
// last id that it saw in a header of its own.
func sseWatch(c *fiber.Ctx) (gateway.WatchOptions, error) {
	request := watchRequest{
		Match: copyOf(c.Query("match")), Role: copyOf(c.Query("role")), Changes: copyOf(c.Query("changes")),
		Cursor: copyOf(c.Query("cursor")),
	}
	var err error
	if request.Every, err = boolOf(c, "every", false); err != nil {
		return gateway.WatchOptions{}, err
	}
	if rate := copyOf(c.Query("max_rate")); rate != "" {
		if request.MaxRate, err = strconv.ParseFloat(rate, 64); err != nil || request.MaxRate == 0 {
			return gateway.WatchOptions{}, gateway.Errorf(gateway.KindMalformed, "max_rate is a number of deliveries a second, not %q", gateway.Quotable(rate))
		}
	}
	watch, err := request.options()
	if err != nil {
		return watch, err
	}
	if last := copyOf(c.Get("Last-Event-ID")); last != "" {
		if watch.Cursor, err = gateway.ParseCursor(last); err != nil {
			// A browser would never ask again if this were refused. What
			// it has seen is unknown: a cursor of no hub says so.
			watch.Cursor = gateway.Cursor{Epoch: 1}
		}
	}
	return watch, nil
}

// checkStream refuses a stream of one attribute that says nothing. One that does
// not exist may come to exist.
func checkStream(c *fiber.Ctx, session gateway.Session, watch gateway.WatchOptions) error {
	path, exact := watch.Match.Exact()
	if !exact || watch.Roles != gateway.Readback {
		return nil
	}
	attribute, err := session.Get(path)
	if err != nil || attribute.Readback != nil {
		return nil //nolint:nilerr // not there yet is no error of a stream.
	}
	c.Set(fiber.HeaderAllow, "PUT")
	return gateway.Errorf(gateway.KindWriteOnly, "%s cannot be read", path)
}

// sseHead is the head of the answer with what has been set so far. The body ends
// with the connection.
func sseHead(c *fiber.Ctx) []byte {
	head := []byte("HTTP/1.1 200 OK\r\nConnection: close\r\nX-Accel-Buffering: no\r\n")
	for name, value := range c.Response().Header.All() {
		switch string(name) {
		case fiber.HeaderContentLength, fiber.HeaderConnection:
		default:
			head = append(append(append(append(head, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(head, "\r\n"...)
}

// events are what one stream is to write.
type events struct {
	server *Server
	queue  gateway.Stream
	opts   gateway.JSONOptions

	taken *buffer         // with rest, or nil
	rest  []gateway.Event // that were taken and not yet written
}

// Next implements fanout.Source.
func (ev *events) Next(dst []byte) (piece []byte, more bool, err error) {
	if ev.taken == nil {
		ev.taken = ev.server.takeBuffer()
		ev.taken.events = ev.queue.Take(ev.taken.events)
		ev.rest = ev.taken.events
	}
	for len(ev.rest) > 0 && len(dst) < batchBytes {
		if dst, err = ev.append(dst, &ev.rest[0]); err != nil {
			return nil, false, err
		}
		ev.rest = ev.rest[1:]
	}
	if len(ev.rest) > 0 {
		return dst, true, nil
	}
	ev.server.giveBuffer(ev.taken)
	ev.taken, ev.rest = nil, nil
	return dst, false, nil
}

func (ev *events) append(out []byte, e *gateway.Event) ([]byte, error) {
	var err error
	if e.Type == gateway.EventSample {
		out = appendLost(append(out, ev.server.cache.sample(e, ev.opts).sse...), e)
	} else {
		out, err = ev.server.appendEvent(appendFields(out, e), e, ev.opts)
	}
	return append(out, "\n\n"...), err
}

// appendFields writes an event of a stream up to where its JSON begins.
func appendFields(out []byte, e *gateway.Event) []byte {
	out = append(out, "event: "...)
	out = append(out, e.Type.String()...)
	if e.Cursor != (gateway.Cursor{}) { // an empty id would make the client forget the last one
		out = append(out, "\nid: "...)
		out = append(out, e.Cursor.String()...)
	}
	return append(out, "\ndata: "...)
}

// buffer is what a stream needs while it writes; an idle stream has none.
type buffer struct {
	events []gateway.Event
	out    []byte
}

// mostEvents is the capacity up to which a buffer is kept for the next stream.
const mostEvents = 1024

func (s *Server) takeBuffer() *buffer {
	if b, ok := s.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{}
}

func (s *Server) giveBuffer(b *buffer) {
	if cap(b.events) > mostEvents || cap(b.out) > 2*batchBytes {
		return
	}
	clear(b.events) // samples must not live on in the buffer
	b.events, b.out = b.events[:0], b.out[:0]
	s.buffers.Put(b)
}
