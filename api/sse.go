package api

import (
	"context"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/polygate/gateway"
)

// batchBytes is how much of a stream is collected before it is written: enough
// to make one write of a burst, little enough to be bounded.
const batchBytes = 64 << 10

// stream serves events as text/event-stream. The connection is taken over from
// fiber: only so is a client that went away noticed at once, and every write
// has a deadline of its own.
func (s *Server) stream(c *fiber.Ctx) error {
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	request, err := sseRequest(c)
	if err != nil {
		return err
	}
	watch, err := request.options()
	if err != nil {
		return err
	}
	if path, exact := watch.Match.Exact(); exact {
		attribute, err := s.session(c).Get(path)
		if err != nil {
			return err
		}
		if !attribute.CanRead() && watch.Roles == gateway.Readback {
			c.Set(fiber.HeaderAllow, "PUT")
			return gateway.Errorf(gateway.KindWriteOnly, "%s cannot be read", path)
		}
	}
	stream := &sseStream{server: s, opts: opts}
	stream.connection = newConnection("sse", c, s.session(c))
	if !s.streams.add(&stream.connection) {
		stream.queue.Close()
		return gateway.Errorf(gateway.KindBusy, "%d streams are open already", s.streams.limit)
	}
	if _, err := stream.queue.Watch(watch); err != nil {
		s.streams.remove(&stream.connection)
		stream.queue.Close()
		return err
	}
	head := sseHead(c)
	c.Context().HijackSetNoResponse(true)
	c.Context().Hijack(func(conn net.Conn) {
		defer s.streams.remove(&stream.connection)
		defer stream.queue.Close()
		stream.serve(conn, head)
	})
	return nil
}

// sseRequest reads the watch from the query. A browser that reconnects sends
// the last id that it saw in a header of its own.
func sseRequest(c *fiber.Ctx) (watchRequest, error) {
	request := watchRequest{
		Match: copyOf(c.Query("match")), Role: copyOf(c.Query("role")), Changes: copyOf(c.Query("changes")),
		Cursor: copyOf(c.Query("cursor")),
	}
	if last := c.Get("Last-Event-ID"); last != "" {
		request.Cursor = copyOf(last)
	}
	var err error
	if request.Every, err = boolOf(c, "every", false); err != nil {
		return request, err
	}
	if rate := c.Query("max_rate"); rate != "" {
		if request.MaxRate, err = strconv.ParseFloat(rate, 64); err != nil || request.MaxRate == 0 {
			return request, gateway.Errorf(gateway.KindMalformed, "max_rate is a number of deliveries a second, not %q", gateway.Quotable(copyOf(rate)))
		}
	}
	return request, nil
}

// sseHead is the head of the answer: what fiber has set so far and the stream's
// own. The body ends with the connection.
func sseHead(c *fiber.Ctx) []byte {
	head := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\nConnection: close\r\n")
	for name, value := range c.Response().Header.All() {
		switch string(name) {
		case fiber.HeaderContentType, fiber.HeaderContentLength, fiber.HeaderConnection, fiber.HeaderDate, fiber.HeaderCacheControl:
		default:
			head = append(append(append(append(head, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(head, "\r\n"...)
}

type sseStream struct {
	connection
	server *Server
	opts   gateway.JSONOptions
}

// serve writes events until the client goes away, stops reading, or the
// frontend stops.
func (st *sseStream) serve(conn net.Conn, head []byte) {
	ctx, cancel := context.WithCancel(st.server.stopping)
	defer cancel()
	gone := make(chan struct{})
	go func() { // a client says nothing more; reading only notices that it is gone
		defer close(gone)
		defer cancel()
		_ = conn.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, conn)
	}()
	defer func() { <-gone }()
	defer conn.Close()

	quiet := time.NewTimer(keepAlive)
	defer quiet.Stop()
	out := append(head, ": polygate\n\nretry: 1000\n\n"...)
	var events []gateway.Event
	for {
		if err := write(conn, out); err != nil {
			return
		}
		out = out[:0]
		quiet.Reset(keepAlive)
		select {
		case <-ctx.Done():
			return
		case <-quiet.C:
			out = append(out, ": still here\n\n"...)
		case <-st.queue.Ready():
			var err error
			events = st.queue.Take(events[:0])
			for i := range events {
				if out, err = st.append(out, &events[i]); err != nil {
					return
				}
				if len(out) >= batchBytes {
					if err := write(conn, out); err != nil {
						return
					}
					out = out[:0]
				}
			}
			clear(events) // samples must not live on in the buffer
		}
	}
}

func (st *sseStream) append(out []byte, e *gateway.Event) ([]byte, error) {
	out = append(out, "event: "...)
	out = append(out, e.Type.String()...)
	out = append(out, "\nid: "...)
	out = append(out, e.Cursor.String()...)
	out = append(out, "\ndata: "...)
	out, err := st.server.appendEvent(out, e, st.opts)
	return append(out, "\n\n"...), err
}

func write(conn net.Conn, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := conn.Write(data)
	return err
}
