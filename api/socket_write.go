package api

import (
	"context"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/polygate/gateway"
)

// write sends answers, events and pings until ctx ends or the client stops reading.
func (so *socket) write(ctx context.Context, ws *websocket.Conn) {
	ping := time.NewTicker(so.server.limits.keepAlive)
	defer ping.Stop()
	var err error
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case a := <-so.answers:
			// What led to the answer is queued already: the client sees it first.
			if err = so.sendEvents(ctx, ws); err == nil {
				err = so.sendAnswer(ws, &a)
			}
		case <-so.queue.Ready():
			err = so.sendEvents(ctx, ws)
		case <-ping.C:
			err = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(so.server.limits.batch))
		}
	}
}

func (so *socket) send(ws *websocket.Conn, data []byte) error {
	if err := ws.SetWriteDeadline(time.Now().Add(so.server.limits.batch)); err != nil {
		return err
	}
	return ws.WriteMessage(websocket.TextMessage, data)
}

func (so *socket) sendAnswer(ws *websocket.Conn, a *answer) error {
	b := so.server.takeBuffer()
	defer so.server.giveBuffer(b)
	var err error
	if b.out, err = so.server.appendAnswer(b.out, a, so.opts); err != nil {
		return err
	}
	return so.send(ws, b.out)
}

// sendEvents sends what is queued: runs of events of the same watch as one
// message each, {"type":"events","id":...,"events":[...],"cursor":...}.
func (so *socket) sendEvents(ctx context.Context, ws *websocket.Conn) error {
	b := so.server.takeBuffer()
	defer so.server.giveBuffer(b)
	b.events = so.queue.Take(b.events)
	for rest := b.events; len(rest) > 0 && ctx.Err() == nil; {
		name, watched := so.name(rest[0].Watch)
		var n int
		var err error
		if b.out, n, err = so.appendEvents(b.out[:0], name, rest); err != nil {
			return err
		}
		if watched {
			if err := so.send(ws, b.out); err != nil {
				return err
			}
		}
		rest = rest[n:]
	}
	return nil
}

// name returns the client's id of a watch, or false if that has ended.
func (so *socket) name(id gateway.WatchID) (string, bool) {
	so.mu.Lock()
	defer so.mu.Unlock()
	name, known := so.names[id]
	return name, known
}

// appendEvents writes one message with the first n events, all of one watch.
func (so *socket) appendEvents(dst []byte, name string, events []gateway.Event) (out []byte, n int, err error) {
	dst = append(dst, `{"type":"events","id":`...)
	dst = gateway.AppendJSONString(dst, name)
	dst = append(dst, `,"events":[`...)
	for n < len(events) && events[n].Watch == events[0].Watch && len(dst) < batchBytes {
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = so.server.appendEvent(dst, &events[n], so.opts); err != nil {
			return dst, n, err
		}
		n++
	}
	dst = append(dst, ']')
	if cursor := events[n-1].Cursor; cursor != (gateway.Cursor{}) {
		dst = append(dst, `,"cursor":"`...)
		dst = append(dst, cursor.String()...)
		dst = append(dst, '"')
	}
	return append(dst, '}'), n, nil
}
