package api

import (
	"context"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/polygate/gateway"
)

// socket is one WebSocket. One goroutine reads and handles messages, one writes;
// each put has one that waits for its verdict.
type socket struct {
	server  *Server
	session gateway.Session
	conn    *conn
	queue   gateway.Stream
	opts    gateway.JSONOptions
	answers chan answer
	slots   chan struct{} // of puts
	puts    sync.WaitGroup

	mu      sync.Mutex
	watches map[string]gateway.WatchID
	names   map[gateway.WatchID]string
}

// serve returns when the client has gone, has stopped reading or answering
// pings, or the frontend stops. The caller closes the connection.
func (so *socket) serve(ws *websocket.Conn, head []byte) {
	if so.conn.SetWriteDeadline(time.Now().Add(so.server.limits.batch)) != nil {
		return
	}
	if _, err := so.conn.Write(head); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(so.server.stopping)
	defer cancel()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer cancel()
		so.read(ctx, ws)
	}()
	so.write(ctx, ws)
	cancel()
	if so.server.stopping.Err() != nil {
		so.sayGoodbye(ws, read)
	}
	_ = so.conn.Conn.Close() // ends the reader
	<-read
	so.puts.Wait() // they end with the context
}

// sayGoodbye tells the client that the end is meant, and gives it a moment to agree.
func (so *socket) sayGoodbye(ws *websocket.Conn, read <-chan struct{}) {
	message := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the gateway is stopping")
	if ws.WriteControl(websocket.CloseMessage, message, time.Now().Add(so.server.limits.linger)) != nil {
		return
	}
	limit := time.NewTimer(so.server.limits.linger)
	defer limit.Stop()
	select {
	case <-read:
	case <-limit.C:
	}
}

// read handles messages until the client goes away. A message that cannot be
// understood is answered; it does not end the connection.
func (so *socket) read(ctx context.Context, ws *websocket.Conn) {
	ws.SetReadLimit(int64(so.server.cfg.MaxBody))
	alive := func() error { return ws.SetReadDeadline(time.Now().Add(so.server.limits.pong)) }
	ws.SetPongHandler(func(string) error { return alive() })
	for alive() == nil {
		kind, data, err := ws.ReadMessage()
		if err != nil {
			return
		}
		var message clientMessage
		if kind != websocket.TextMessage {
			err = gateway.Errorf(gateway.KindMalformed, "messages are JSON text")
		} else if jsonErr := unmarshalStrict(data, &message); jsonErr != nil {
			err = gateway.Errorf(gateway.KindMalformed, "not a message: %w", jsonErr)
		} else {
			err = so.handle(ctx, &message)
		}
		if err != nil {
			so.answerError(ctx, &message, err)
		}
	}
}

func (so *socket) handle(ctx context.Context, m *clientMessage) error {
	switch m.Type {
	case "watch":
		return so.watch(m)
	case "unwatch":
		return so.unwatch(ctx, m)
	case "get":
		attribute, err := so.server.findAny(so.session, m.Name)
		if err == nil {
			so.answer(ctx, answer{kind: "attribute", id: m.ID, attribute: attribute})
		}
		return err
	case "put", "execute":
		return gateway.Unsent(so.put(ctx, m))
	}
	return gateway.Errorf(gateway.KindMalformed, "type is watch, unwatch, get, put or execute, not %q", gateway.Quotable(m.Type))
}

func (so *socket) watch(m *clientMessage) error {
	options, err := m.options()
	if err != nil {
		return err
	}
	so.mu.Lock()
	defer so.mu.Unlock()
	if _, taken := so.watches[m.ID]; taken {
		return gateway.Errorf(gateway.KindMalformed, "there is a watch with the id %q already", gateway.Quotable(m.ID))
	}
	id, err := so.queue.Watch(options)
	if err != nil {
		return err
	}
	so.watches[m.ID], so.names[id] = id, m.ID
	return nil
}

func (so *socket) unwatch(ctx context.Context, m *clientMessage) error {
	so.mu.Lock()
	id, known := so.watches[m.ID]
	if known {
		delete(so.watches, m.ID)
		delete(so.names, id)
	}
	so.mu.Unlock()
	if !known {
		return gateway.Errorf(gateway.KindNotFound, "there is no watch with the id %q", gateway.Quotable(m.ID))
	}
	so.queue.Unwatch(id)
	so.answer(ctx, answer{kind: "unwatched", id: m.ID})
	return nil
}

// put sends a put on its way and lets a goroutine of its own wait for the
// verdict: a slow or lost device must not hold up what the client asks next.
func (so *socket) put(ctx context.Context, m *clientMessage) error {
	attribute, err := so.server.find(so.session, m.Name, m.Type == "execute")
	if err != nil {
		return err
	}
	if !attribute.IsCommand() && !attribute.CanWrite() {
		return readOnly(attribute)
	}
	request := gateway.PutRequest{Path: attribute.Path, Urgent: m.Urgent}
	if request.Mode, err = modeOf(m.Mode); err != nil {
		return err
	}
	if request.Budget, err = budgetOf(m.Budget); err != nil {
		return err
	}
	if request.Value, err = m.value(attribute); err != nil {
		return refused(err, attribute.Path)
	}
	select {
	case so.slots <- struct{}{}:
	default:
		return refused(gateway.Errorf(gateway.KindBusy, "%d puts of this connection wait for a verdict already", maxPuts), attribute.Path)
	}
	send := so.session.Put
	if attribute.IsCommand() {
		send = so.session.Execute
	}
	pending, err := send(request)
	if err != nil {
		<-so.slots
		return err
	}
	so.puts.Go(func() {
		defer func() { <-so.slots }()
		verdict := gateway.Wait(ctx, pending)
		if verdict.Err != nil {
			so.answerError(ctx, m, verdict.Err)
			return
		}
		so.answer(ctx, answer{kind: "verdict", id: m.ID, attribute: attribute, verdict: &verdict})
	})
	return nil
}

// answer queues an answer for the writer. It waits while too many wait
// already: a client that does not read its answers cannot ask more.
func (so *socket) answer(ctx context.Context, a answer) {
	select {
	case so.answers <- a:
	case <-ctx.Done():
	}
}

func (so *socket) answerError(ctx context.Context, m *clientMessage, err error) {
	p := problemOf(err, "")
	if path, err := pathOf(m.Name); err == nil {
		p.Name = string(path)
	}
	so.answer(ctx, answer{kind: "error", id: m.ID, problem: &p})
}
