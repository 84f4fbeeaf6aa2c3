package api

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/polygate/gateway"
	"github.com/valyala/fasthttp"
)

// Limits of one WebSocket.
const (
	maxMessage  = 4 << 20         // bytes of one message from the client
	pongTimeout = 2 * keepAlive   // without any sign of life the client is gone
	maxAnswers  = 1024            // answers that wait to be written, before reading stops
	closeWait   = 1 * time.Second // for the closing handshake
)

// clientMessage is what a client may send.
type clientMessage struct {
	Type string `json:"type"` // watch, unwatch, get, put, execute
	ID   string `json:"id"`   // chosen by the client; answers carry it
	watchRequest
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	Mode   string          `json:"mode"`
	Budget string          `json:"budget"`
	Urgent bool            `json:"urgent"`
}

// websocket upgrades to a WebSocket on which a client watches, reads and puts.
func (s *Server) websocket(c *fiber.Ctx) error {
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	session := s.session(c)
	socket := &socket{
		connection: newConnection("websocket", c, session), server: s, session: session, opts: opts,
		answers: make(chan []byte, maxAnswers), watches: map[string]gateway.WatchID{}, names: map[gateway.WatchID]string{},
	}
	if !s.streams.add(&socket.connection) {
		socket.queue.Close()
		return gateway.Errorf(gateway.KindBusy, "%d streams are open already", s.streams.limit)
	}
	upgrader := websocket.FastHTTPUpgrader{
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }, // the guard has done that
		Error:       func(*fasthttp.RequestCtx, int, error) {},       // answered below, as everything else
	}
	err = upgrader.Upgrade(c.Context(), func(conn *websocket.Conn) {
		defer s.streams.remove(&socket.connection)
		defer socket.queue.Close()
		socket.serve(conn)
	})
	if err != nil {
		s.streams.remove(&socket.connection)
		socket.queue.Close()
		return gateway.Errorf(gateway.KindMalformed, "want an upgrade to a WebSocket: %w", err)
	}
	return nil
}

// socket is one WebSocket. One goroutine reads and handles messages, one writes;
// each put has one that waits for its verdict.
type socket struct {
	connection
	server  *Server
	session gateway.Session
	opts    gateway.JSONOptions
	answers chan []byte
	puts    sync.WaitGroup

	mu      sync.Mutex
	watches map[string]gateway.WatchID
	names   map[gateway.WatchID]string
}

func (so *socket) serve(conn *websocket.Conn) {
	ctx, cancel := context.WithCancel(so.server.stopping)
	defer cancel()
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer cancel()
		so.write(ctx, conn)
	}()
	so.read(ctx, conn)
	cancel()
	<-written
	so.puts.Wait() // they end with their contexts
	_ = conn.Close()
}

// read handles messages until the client goes away. A message that cannot be
// understood is answered; it does not end the connection.
func (so *socket) read(ctx context.Context, conn *websocket.Conn) {
	conn.SetReadLimit(maxMessage)
	alive := func() error { return conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	conn.SetPongHandler(func(string) error { return alive() })
	for alive() == nil {
		kind, data, err := conn.ReadMessage()
		if err != nil {
			return
		}
		var message clientMessage
		if kind != websocket.TextMessage {
			err = gateway.Errorf(gateway.KindMalformed, "messages are JSON text")
		} else if jsonErr := json.Unmarshal(data, &message); jsonErr != nil {
			err = gateway.Errorf(gateway.KindMalformed, "not a message: %w", jsonErr)
		} else {
			err = so.handle(ctx, &message)
		}
		if err != nil {
			so.answerError(ctx, message.ID, message.Name, err)
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
		return so.get(ctx, m)
	case "put", "execute":
		return so.put(ctx, m)
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
	so.answer(ctx, "unwatched", m.ID, nil)
	return nil
}

func (so *socket) get(ctx context.Context, m *clientMessage) error {
	attribute, err := so.lookup(m.Name)
	if err != nil {
		return err
	}
	data, err := so.server.cache.attribute(attribute, so.opts)
	if err != nil {
		return err
	}
	so.answer(ctx, "attribute", m.ID, data)
	return nil
}

func (so *socket) lookup(name string) (*gateway.Attribute, error) {
	path, err := pathOf(name)
	if err != nil {
		return nil, err
	}
	return so.session.Get(path)
}

// put sends a put on its way and lets a goroutine of its own wait for the
// verdict: a slow or lost device must not hold up what the client asks next.
func (so *socket) put(ctx context.Context, m *clientMessage) error {
	attribute, err := so.lookup(m.Name)
	if err != nil {
		return err
	}
	request := gateway.PutRequest{Path: attribute.Path, Urgent: m.Urgent}
	switch m.Mode {
	case "", "each":
	case "latest":
		request.Mode = gateway.Latest
	default:
		return gateway.Errorf(gateway.KindMalformed, "mode is each or latest, not %q", gateway.Quotable(m.Mode))
	}
	if request.Budget, err = budgetOf(m.Budget); err != nil {
		return err
	}
	if request.Value, err = m.value(attribute); err != nil {
		return refused(err, attribute.Path)
	}
	send := so.session.Put
	if m.Type == "execute" {
		send = so.session.Execute
	}
	pending, err := send(request)
	if err != nil {
		return err
	}
	so.puts.Go(func() {
		verdict := gateway.Wait(ctx, pending)
		if verdict.Err != nil {
			so.answerError(ctx, m.ID, m.Name, verdict.Err)
			return
		}
		so.answer(ctx, "verdict", m.ID, appendVerdict(nil, attribute, verdict, so.opts))
	})
	return nil
}

func (m *clientMessage) value(attribute *gateway.Attribute) (gateway.Value, error) {
	t := &attribute.Type
	if attribute.IsCommand() {
		t = attribute.Argument
	}
	switch {
	case t != nil && m.Value == nil:
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "the message has no value")
	case t == nil && m.Value != nil:
		return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "the command takes no argument")
	case t == nil:
		return gateway.Value{}, nil
	}
	return t.ParseJSON(m.Value)
}

// answer queues an answer; data is a JSON object whose members it gets, or nil.
func (so *socket) answer(ctx context.Context, kind, id string, data []byte) {
	out := append([]byte(`{"type":"`), kind...)
	out = append(out, `","id":`...)
	out = gateway.AppendJSONString(out, id)
	if len(data) > 2 {
		out = append(out, ',')
		out = append(out, data[1:len(data)-1]...)
	}
	select {
	case so.answers <- append(out, '}'):
	case <-ctx.Done():
	}
}

func (so *socket) answerError(ctx context.Context, id, name string, err error) {
	data, encodeErr := json.Marshal(struct {
		Problem problem `json:"problem"`
	}{problemOf(err, name)})
	if encodeErr != nil {
		so.server.log.Error().Err(encodeErr).Msg("encoding a problem")
		return
	}
	so.answer(ctx, "error", id, data)
}

// write sends answers and events until ctx ends, then closes the connection in
// order, so that the client knows that it was meant.
func (so *socket) write(ctx context.Context, conn *websocket.Conn) {
	ping := time.NewTicker(keepAlive)
	defer ping.Stop()
	var events []gateway.Event
	for {
		var err error
		select {
		case <-ctx.Done():
			message := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the gateway is stopping")
			_ = conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(closeWait))
			_ = conn.SetReadDeadline(time.Now().Add(closeWait)) // ends the reader
			return
		case answer := <-so.answers:
			err = so.send(conn, answer)
		case <-so.queue.Ready():
			events = so.queue.Take(events[:0])
			err = so.sendEvents(conn, events)
			clear(events)
		case <-ping.C:
			err = conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout))
		}
		if err != nil {
			_ = conn.Close() // ends the reader
			return
		}
	}
}

func (so *socket) send(conn *websocket.Conn, data []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return conn.WriteMessage(websocket.TextMessage, data)
}

// sendEvents sends runs of events of the same watch as one message each:
// {"type":"events","id":...,"cursor":...,"events":[...]}.
func (so *socket) sendEvents(conn *websocket.Conn, events []gateway.Event) error {
	for len(events) > 0 {
		n, out := 0, []byte(`{"type":"events","id":`)
		so.mu.Lock()
		name := so.names[events[0].Watch]
		so.mu.Unlock()
		out = gateway.AppendJSONString(out, name)
		out = append(out, `,"events":[`...)
		for n < len(events) && events[n].Watch == events[0].Watch && len(out) < batchBytes {
			if n > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = so.server.appendEvent(out, &events[n], so.opts); err != nil {
				return err
			}
			n++
		}
		out = append(out, `],"cursor":"`...)
		out = append(out, events[n-1].Cursor.String()...)
		out = append(out, `"}`...)
		if err := so.send(conn, out); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}
