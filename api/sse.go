package api

import (
	"context"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/streamtime"
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
	subscription, err := s.subscribe(c, "sse", session)
	if err != nil {
		return err
	}
	if _, err := subscription.queue.Watch(watch); err != nil {
		conn.free()
		return err
	}
	stream := &sseStream{server: s, conn: conn, queue: subscription.queue, opts: opts}
	head := sseHead(c)
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(client net.Conn) { stream.serve(client, head) })
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

type sseStream struct {
	server *Server
	conn   *conn
	queue  gateway.Stream
	opts   gateway.JSONOptions
}

// serve writes events until the client goes away, stops reading, or the
// frontend stops. The caller closes the connection.
func (st *sseStream) serve(client io.Reader, head []byte) {
	ctx, cancel := context.WithCancel(st.server.stopping)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer cancel()
		discard(client)
	}()
	defer func() {
		_ = st.conn.SetReadDeadline(time.Unix(1, 0)) // ends discard
		<-gone
	}()

	quiet := streamtime.NewQuiet(st.server.limits.keepAlive)
	defer quiet.Stop()
	defer context.AfterFunc(ctx, quiet.Wake)()
	err := st.write(append(head, ": polygate\n\nretry: 1000\n\n"...))
	for err == nil {
		select {
		case <-st.queue.Ready():
			err = st.drain(ctx)
			quiet.Wrote()
		case <-quiet.Woken():
			if ctx.Err() != nil {
				return
			}
			if quiet.Over() {
				err = st.sign()
			}
		}
	}
}

// discard reads until the client is gone. A client of a stream says nothing more.
func discard(r io.Reader) {
	var buf [64]byte
	for {
		if _, err := r.Read(buf[:]); err != nil {
			return
		}
	}
}

// drain writes what is queued.
func (st *sseStream) drain(ctx context.Context) error {
	b := st.server.takeBuffer()
	defer st.server.giveBuffer(b)
	b.events = st.queue.Take(b.events)
	for i := range b.events {
		var err error
		if b.out, err = st.append(b.out, &b.events[i]); err != nil {
			return err
		}
		if len(b.out) < batchBytes && i < len(b.events)-1 {
			continue
		}
		if err := st.write(b.out); err != nil {
			return err
		}
		if b.out = b.out[:0]; i < len(b.events)-1 && ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

func (st *sseStream) append(out []byte, e *gateway.Event) ([]byte, error) {
	var err error
	if e.Type == gateway.EventSample {
		out = appendLost(append(out, st.server.cache.sample(e, st.opts).sse...), e)
	} else {
		out, err = st.server.appendEvent(appendFields(out, e), e, st.opts)
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

// write writes a part of a stream within its limit.
func (st *sseStream) write(data []byte) error {
	if err := st.conn.SetWriteDeadline(time.Now().Add(st.server.limits.batch)); err != nil {
		return err
	}
	_, err := st.conn.Write(data)
	return err
}

// sign writes a sign of life. What limits it wakes nobody while the stream is quiet.
func (st *sseStream) sign() error {
	if err := st.write([]byte(": still here\n\n")); err != nil {
		return err
	}
	return st.conn.SetWriteDeadline(time.Time{})
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
