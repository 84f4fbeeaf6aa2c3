package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

// socketClient does everything over one WebSocket. Whoever waits for a message
// reads for all, so that nothing is read while nobody waits.
type socketClient struct {
	ws      *websocket.Conn
	dialect dialect
	fields  string
	turn    chan struct{} // to read

	mu    sync.Mutex
	next  int
	inbox map[string]*inbox
}

type inbox struct {
	ready    chan struct{}
	messages []message
}

func dialSocket(t testing.TB, url, subprotocol, fields string) *socketClient {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, response, err := websocket.Dial(ctx, url+"/graphql", &websocket.DialOptions{Subprotocols: []string{subprotocol}})
	if err != nil {
		t.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	ws.SetReadLimit(-1)
	c := &socketClient{ws: ws, dialect: dialects[subprotocol], fields: fields, turn: make(chan struct{}, 1), inbox: map[string]*inbox{}}
	if err := c.write(ctx, message{Type: "connection_init"}); err != nil {
		t.Fatal(err)
	}
	for m := (message{}); m.Type != "connection_ack"; {
		if m, err = c.readMessage(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *socketClient) Code(kind gateway.ErrorKind) string { return kind.String() }
func (c *socketClient) Close() error                       { _ = c.ws.CloseNow(); return nil }

func (c *socketClient) write(ctx context.Context, m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, data)
}

func (c *socketClient) readMessage(ctx context.Context) (message, error) {
	_, data, err := c.ws.Read(ctx)
	if err != nil {
		return message{}, err
	}
	var m message
	err = json.Unmarshal(data, &m)
	return m, err
}

// begin sends an operation under an id of its own.
func (c *socketClient) begin(ctx context.Context, request body) (string, error) {
	payload, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.next++
	id := fmt.Sprint("id ", c.next)
	c.inbox[id] = &inbox{ready: make(chan struct{}, 1)}
	c.mu.Unlock()
	return id, c.write(ctx, message{ID: id, Type: c.dialect.subscribe, Payload: payload})
}

func (c *socketClient) take(id string) (message, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	box := c.inbox[id]
	if len(box.messages) == 0 {
		return message{}, false
	}
	m := box.messages[0]
	box.messages = box.messages[1:]
	return m, true
}

// receive returns the next response to an operation.
func (c *socketClient) receive(ctx context.Context, id string) (*result, error) {
	c.mu.Lock()
	ready := c.inbox[id].ready
	c.mu.Unlock()
	for {
		if m, ok := c.take(id); ok {
			return c.result(m)
		}
		select {
		case <-ready:
		case c.turn <- struct{}{}:
			err := c.readFor(ctx, ready)
			<-c.turn
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *socketClient) result(m message) (*result, error) {
	var r result
	var err error
	switch {
	case m.Type == c.dialect.next:
		err = json.Unmarshal(m.Payload, &r)
	case m.Type == "error" && c.dialect.legacy:
		r.Errors = make([]shownError, 1)
		err = json.Unmarshal(m.Payload, &r.Errors[0])
	case m.Type == "error":
		err = json.Unmarshal(m.Payload, &r.Errors)
	case m.Type == "complete":
		err = errors.New("the operation is complete")
	default:
		err = fmt.Errorf("an unexpected message %+v", m)
	}
	if err == nil {
		err = r.err()
	}
	return &r, err
}

// readFor reads one message, unless the one that is waited for has come meanwhile.
func (c *socketClient) readFor(ctx context.Context, ready chan struct{}) error {
	select {
	case <-ready:
		return nil
	default:
	}
	m, err := c.readMessage(ctx)
	if err != nil || m.Type == "ka" {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	box := c.inbox[m.ID]
	if box == nil {
		return fmt.Errorf("a message for nobody: %+v", m)
	}
	box.messages = append(box.messages, m)
	select {
	case box.ready <- struct{}{}:
	default:
	}
	return nil
}

func (c *socketClient) ask(ctx context.Context, request body) (*result, error) {
	id, err := c.begin(ctx, request)
	if err != nil {
		return nil, err
	}
	return c.receive(ctx, id)
}

func (c *socketClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	return get(ctx, c, path)
}

func (c *socketClient) Put(ctx context.Context, put frontendtest.Put) error {
	_, err := c.ask(ctx, putBody(put))
	return err
}

func (c *socketClient) Execute(ctx context.Context, path string) error {
	_, err := c.ask(ctx, executeBody(path))
	return err
}

func (c *socketClient) List(ctx context.Context, match string) ([]string, error) {
	return list(ctx, c, match)
}

func (c *socketClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	return c.Resume(ctx, path, "")
}

func (c *socketClient) WatchPattern(ctx context.Context, match string) (frontendtest.Watch, error) {
	return c.Resume(ctx, match, "")
}

func (c *socketClient) Resume(ctx context.Context, path, cursor string) (frontendtest.Watch, error) {
	id, err := c.begin(ctx, updatesBody(path, cursor, c.fields))
	if err != nil {
		return nil, err
	}
	w := &socketWatch{client: c, id: id}
	if err := w.fill(ctx); err != nil { // the first events are the confirmation
		return nil, err
	}
	return w, nil
}

type socketWatch struct {
	client *socketClient
	id     string
	queued []frontendtest.Event
}

func (w *socketWatch) fill(ctx context.Context) error {
	r, err := w.client.receive(ctx, w.id)
	if err != nil {
		return err
	}
	w.queued = append(w.queued, r.events()...)
	return nil
}

func (w *socketWatch) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.queued) == 0 {
		if err := w.fill(ctx); err != nil {
			return frontendtest.Event{}, err
		}
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

func (w *socketWatch) Close() error {
	return w.client.write(context.Background(), message{ID: w.id, Type: w.client.dialect.unsubscribe})
}
