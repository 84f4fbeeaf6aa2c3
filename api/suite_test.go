package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

func TestSuiteOverHTTP(t *testing.T) {
	frontendtest.Run(t, startWith(func(_ testing.TB, url string) frontendtest.Client {
		return &restClient{url: url + "/api/v1", http: &http.Client{Transport: &http.Transport{}}}
	}))
}

func TestSuiteOverWebSocket(t *testing.T) {
	frontendtest.Run(t, startWith(dialSocket))
}

func startWith(dial func(t testing.TB, url string) frontendtest.Client) frontendtest.Start {
	return func(t testing.TB, view gateway.View) *frontendtest.Frontend {
		cfg := DefaultConfig()
		cfg.Listen = "127.0.0.1:0"
		server := New(cfg, view, zerolog.Nop())
		if err := server.Listen(context.Background()); err != nil {
			t.Fatal(err)
		}
		stop := frontendtest.Serve(t, server.Serve)
		return &frontendtest.Frontend{
			Protocol: "rest",
			Dial:     func(t testing.TB) frontendtest.Client { return dial(t, "http://"+server.Addr().String()) },
			Stop:     func(context.Context) error { return stop() },
		}
	}
}

// shown is an attribute or event as JSON shows it.
type shown struct {
	Event, Name, Role, Type string
	shownSample
	Setpoint *shownSample
	Problem  *problem
}

type shownSample struct {
	Value json.RawMessage
	Time  *time.Time
	Alarm struct{ Severity, Status string }
	Seq   uint64
}

func (s *shownSample) sample() *frontendtest.Sample {
	if s == nil || s.Value == nil {
		return nil
	}
	out := &frontendtest.Sample{Value: string(s.Value), Severity: s.Alarm.Severity, Status: s.Alarm.Status, Seq: s.Seq}
	if s.Time != nil {
		out.Time = *s.Time
	}
	return out
}

func (s *shown) reading() frontendtest.Reading {
	return frontendtest.Reading{Readback: s.shownSample.sample(), Setpoint: s.Setpoint.sample()}
}

func (s *shown) events(cursor string) []frontendtest.Event {
	var events []frontendtest.Event
	add := func(role gateway.Role, sample *frontendtest.Sample) {
		if sample != nil {
			events = append(events, frontendtest.Event{Path: s.Name, Role: role, Sample: *sample, Cursor: cursor})
		}
	}
	switch s.Event {
	case "gap":
		events = append(events, frontendtest.Event{Gap: true})
	case "removed":
		events = append(events, frontendtest.Event{Path: s.Name, Removed: true, Cursor: cursor})
	case "sample":
		role := gateway.Readback
		if s.Role == "setpoint" {
			role = gateway.Setpoint
		}
		add(role, s.shownSample.sample())
	case "added", "availability":
		add(gateway.Readback, s.shownSample.sample())
		add(gateway.Setpoint, s.Setpoint.sample())
	}
	return events
}

func (p *problem) failure() error { return &frontendtest.ProtocolError{Code: p.Code, Words: p.Detail} }

// restClient is a user of the HTTP interface.
type restClient struct {
	url  string
	http *http.Client
}

func (c *restClient) Code(kind gateway.ErrorKind) string { return kind.String() }

func (c *restClient) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func (c *restClient) open(ctx context.Context, method, path, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer response.Body.Close()
	var p problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		return nil, fmt.Errorf("status %d without a problem: %w", response.StatusCode, err)
	}
	return nil, p.failure()
}

func (c *restClient) do(ctx context.Context, method, path, body string, into any) error {
	response, err := c.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func (c *restClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	var a shown
	err := c.do(ctx, http.MethodGet, "/attributes/"+path, "", &a)
	return a.reading(), err
}

func (c *restClient) Put(ctx context.Context, put frontendtest.Put) error {
	query := url.Values{}
	if put.Mode == gateway.Latest {
		query.Set("mode", "latest")
	}
	if put.Budget > 0 {
		query.Set("budget", put.Budget.String())
	}
	return c.do(ctx, http.MethodPut, "/attributes/"+put.Path+"?"+query.Encode(), put.Value, &shown{})
}

func (c *restClient) Execute(ctx context.Context, path string) error {
	return c.do(ctx, http.MethodPost, "/commands/"+path, "", &shown{})
}

func (c *restClient) List(ctx context.Context, match string) ([]string, error) {
	var names []string
	for _, member := range []string{"attributes", "commands"} {
		var page struct{ Attributes, Commands []shown }
		if err := c.do(ctx, http.MethodGet, "/"+member+"?match="+url.QueryEscape(match), "", &page); err != nil {
			return nil, err
		}
		for _, a := range append(page.Attributes, page.Commands...) {
			names = append(names, a.Name)
		}
	}
	return names, nil
}

func (c *restClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	return c.Resume(ctx, path, "")
}

func (c *restClient) WatchPattern(ctx context.Context, match string) (frontendtest.Watch, error) {
	return c.Resume(ctx, match, "")
}

func (c *restClient) Resume(_ context.Context, path, cursor string) (frontendtest.Watch, error) {
	ctx, cancel := context.WithCancel(context.Background())
	response, err := c.open(ctx, http.MethodGet, "/stream?"+url.Values{"match": {path}, "cursor": {cursor}}.Encode(), "")
	if err != nil {
		cancel()
		return nil, err
	}
	return &sseWatcher{cancel: cancel, body: response.Body, lines: bufio.NewReader(response.Body)}, nil
}

// sseWatcher reads an event stream.
type sseWatcher struct {
	cancel context.CancelFunc
	body   io.Closer
	lines  *bufio.Reader
	queued []frontendtest.Event
}

func (w *sseWatcher) Close() error {
	w.cancel()
	return w.body.Close()
}

func (w *sseWatcher) Next(ctx context.Context) (frontendtest.Event, error) {
	defer context.AfterFunc(ctx, w.cancel)()
	for len(w.queued) == 0 {
		e, err := readSSE(w.lines)
		if err != nil {
			return frontendtest.Event{}, err
		}
		var s shown
		if err := json.Unmarshal([]byte(e.data), &s); err != nil {
			return frontendtest.Event{}, err
		}
		w.queued = s.events(e.id)
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

// sseEvent is one event of a stream as the specification of EventSource reads it.
type sseEvent struct{ event, id, data string }

// readSSE reads until an event is complete; comments and retry are skipped.
func readSSE(lines *bufio.Reader) (sseEvent, error) {
	var e sseEvent
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.data != "":
			return e, nil
		case field == "event":
			e.event = value
		case field == "id":
			e.id = value
		case field == "data":
			e.data = value
		}
	}
}

// socketClient is a user of the WebSocket. Whoever waits for a message reads for
// all, so that nothing is read while nobody waits.
type socketClient struct {
	ws   *websocket.Conn
	turn chan struct{} // to read

	mu    sync.Mutex
	next  int
	inbox map[string]*inbox
}

type inbox struct {
	ready    chan struct{}
	messages []socketMessage
}

type socketMessage struct {
	Type, ID, Cursor   string
	Attribute, Verdict *shown
	Events             []shown
	Problem            *problem
}

func dialSocket(t testing.TB, url string) frontendtest.Client {
	ws, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/api/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return &socketClient{ws: ws, turn: make(chan struct{}, 1), inbox: map[string]*inbox{}}
}

func (c *socketClient) Code(kind gateway.ErrorKind) string { return kind.String() }
func (c *socketClient) Close() error                       { return c.ws.Close() }

// send sends a message under an id of its own.
func (c *socketClient) send(members map[string]any) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id := fmt.Sprint("id ", c.next)
	members["id"] = id
	c.inbox[id] = &inbox{ready: make(chan struct{}, 1)}
	return id, c.ws.WriteJSON(members)
}

func (c *socketClient) take(id string) (socketMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	box := c.inbox[id]
	if len(box.messages) == 0 {
		return socketMessage{}, false
	}
	m := box.messages[0]
	box.messages = box.messages[1:]
	return m, true
}

func (c *socketClient) receive(ctx context.Context, id string) (socketMessage, error) {
	c.mu.Lock()
	ready := c.inbox[id].ready
	c.mu.Unlock()
	for {
		if m, ok := c.take(id); ok {
			if m.Problem != nil {
				return m, m.Problem.failure()
			}
			return m, nil
		}
		select {
		case <-ready:
		case c.turn <- struct{}{}:
			err := c.readFor(ctx, ready)
			<-c.turn
			if err != nil {
				return socketMessage{}, err
			}
		case <-ctx.Done():
			return socketMessage{}, ctx.Err()
		}
	}
}

// readFor reads one message, unless the one that is waited for has come meanwhile.
func (c *socketClient) readFor(ctx context.Context, ready chan struct{}) error {
	select {
	case <-ready:
		return nil
	default:
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.ws.SetReadDeadline(deadline); err != nil {
			return err
		}
	}
	var m socketMessage
	if err := c.ws.ReadJSON(&m); err != nil {
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

func (c *socketClient) ask(ctx context.Context, members map[string]any) (socketMessage, error) {
	id, err := c.send(members)
	if err != nil {
		return socketMessage{}, err
	}
	return c.receive(ctx, id)
}

func (c *socketClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	m, err := c.ask(ctx, map[string]any{"type": "get", "name": path})
	if err != nil {
		return frontendtest.Reading{}, err
	}
	return m.Attribute.reading(), nil
}

func (c *socketClient) Put(ctx context.Context, put frontendtest.Put) error {
	members := map[string]any{"type": "put", "name": put.Path, "value": json.RawMessage(put.Value)}
	if put.Mode == gateway.Latest {
		members["mode"] = "latest"
	}
	if put.Budget > 0 {
		members["budget"] = put.Budget.String()
	}
	_, err := c.ask(ctx, members)
	return err
}

func (c *socketClient) Execute(ctx context.Context, path string) error {
	_, err := c.ask(ctx, map[string]any{"type": "execute", "name": path})
	return err
}

func (c *socketClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	return c.Resume(ctx, path, "")
}

func (c *socketClient) WatchPattern(ctx context.Context, match string) (frontendtest.Watch, error) {
	return c.Resume(ctx, match, "")
}

func (c *socketClient) Resume(ctx context.Context, path, cursor string) (frontendtest.Watch, error) {
	id, err := c.send(map[string]any{"type": "watch", "match": path, "cursor": cursor})
	if err != nil {
		return nil, err
	}
	w := &socketWatcher{client: c, id: id}
	err = w.fill(ctx) // the first events are the confirmation
	return w, err
}

type socketWatcher struct {
	client *socketClient
	id     string
	queued []frontendtest.Event
}

func (w *socketWatcher) fill(ctx context.Context) error {
	m, err := w.client.receive(ctx, w.id)
	for i := range m.Events {
		w.queued = append(w.queued, m.Events[i].events(m.Cursor)...)
	}
	return err
}

func (w *socketWatcher) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.queued) == 0 {
		if err := w.fill(ctx); err != nil {
			return frontendtest.Event{}, err
		}
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

func (w *socketWatcher) Close() error {
	w.client.mu.Lock()
	defer w.client.mu.Unlock()
	err := w.client.ws.WriteJSON(map[string]any{"type": "unwatch", "id": w.id})
	if errors.Is(err, websocket.ErrCloseSent) {
		return nil
	}
	return err
}
