package graph

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

// The suite runs with each way to ask and to subscribe, and with events both
// one by one and as a batch.

func TestSuiteOverHTTP(t *testing.T) {
	frontendtest.Run(t, startWith(func(_ testing.TB, url string) frontendtest.Client {
		return &httpClient{url: url + "/graphql", http: &http.Client{Transport: &http.Transport{}}, fields: eventFields}
	}))
}

func TestSuiteOverHTTPInBatches(t *testing.T) {
	frontendtest.RunIn(t, frontendtest.NewScripted, startWith(func(_ testing.TB, url string) frontendtest.Client {
		return &httpClient{url: url + "/graphql", http: &http.Client{Transport: &http.Transport{}}, fields: "batch"}
	}))
}

func TestSuiteOverWebSocket(t *testing.T) {
	frontendtest.Run(t, startWith(func(t testing.TB, url string) frontendtest.Client {
		return dialSocket(t, url, transportWS, eventFields)
	}))
}

func TestSuiteOverWebSocketInBatches(t *testing.T) {
	frontendtest.RunIn(t, frontendtest.NewScripted, startWith(func(t testing.TB, url string) frontendtest.Client {
		return dialSocket(t, url, transportWS, "batch")
	}))
}

func TestSuiteOverLegacyWebSocket(t *testing.T) {
	frontendtest.RunIn(t, frontendtest.NewScripted, startWith(func(t testing.TB, url string) frontendtest.Client {
		return dialSocket(t, url, legacyWS, eventFields)
	}))
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
			Protocol: "graphql",
			Dial:     func(t testing.TB) frontendtest.Client { return dial(t, "http://"+server.Addr().String()) },
			Stop:     func(context.Context) error { return stop() },
		}
	}
}

const (
	sampleFields    = `{ value time seq alarm { severity status } }`
	attributeFields = `readback ` + sampleFields + ` setpoint ` + sampleFields
	// The sample of an event is in its attribute, too; large arrays are not asked for twice.
	eventFields = `events { type name role attribute { ` + attributeFields + ` } }`
)

// body is a request as clients send it.
type body struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables,omitempty"`
}

func getBody(path string) body {
	return body{`query($n: String!) { attribute(name: $n) { ` + attributeFields + ` } }`, map[string]any{"n": path}}
}

func putBody(put frontendtest.Put) body {
	variables := map[string]any{"n": put.Path, "v": json.RawMessage(put.Value), "m": "EACH"}
	if put.Mode == gateway.Latest {
		variables["m"] = "LATEST"
	}
	if put.Budget > 0 {
		variables["b"] = put.Budget.Seconds()
	}
	return body{`mutation($n: String!, $v: Value!, $m: Mode!, $b: Float) { put(name: $n, value: $v, mode: $m, budget: $b) { stage } }`, variables}
}

func executeBody(path string) body {
	return body{`mutation($n: String!) { execute(name: $n) { stage } }`, map[string]any{"n": path}}
}

func updatesBody(match, cursor, fields string) body {
	variables := map[string]any{"m": match}
	if cursor != "" {
		variables["c"] = cursor
	}
	return body{`subscription($m: String!, $c: String) { updates(match: $m, cursor: $c) { cursor ` + fields + ` } }`, variables}
}

func listBody(match string) body {
	return body{`query($m: String!) { attributes(match: $m) { attributes { name } } commands(match: $m) { commands { name } } }`, map[string]any{"m": match}}
}

// result is a response, with every field that these bodies ask for.
type result struct {
	Data *struct {
		Attribute  *shown
		Attributes struct{ Attributes []shown }
		Commands   struct{ Commands []shown }
		Updates    *struct {
			Cursor        string
			Events, Batch []shown
		}
	}
	Errors []shownError
}

type shownError struct {
	Message    string
	Extensions map[string]any
}

func (r *result) err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	code, _ := r.Errors[0].Extensions["code"].(string)
	return &frontendtest.ProtocolError{Code: code, Words: r.Errors[0].Message}
}

// shown is an attribute or an event.
type shown struct {
	Type, Name, Role           string
	Sample, Readback, Setpoint *shownSample
	Attribute                  *shown
	Availability               *struct{ State string }
	Lost                       int
}

type shownSample struct {
	Value json.RawMessage
	Time  *time.Time
	Seq   string
	Alarm struct{ Severity, Status string }
}

func (s *shownSample) sample() *frontendtest.Sample {
	if s == nil {
		return nil
	}
	seq, _ := strconv.ParseUint(s.Seq, 10, 64)
	out := &frontendtest.Sample{Value: string(s.Value), Severity: s.Alarm.Severity, Status: s.Alarm.Status, Seq: seq}
	if s.Time != nil {
		out.Time = *s.Time
	}
	return out
}

func (s *shown) events(cursor string) []frontendtest.Event {
	var events []frontendtest.Event
	add := func(role gateway.Role, sample *shownSample) {
		if sample != nil {
			events = append(events, frontendtest.Event{Path: s.Name, Role: role, Sample: *sample.sample(), Cursor: cursor})
		}
	}
	switch s.Type {
	case "GAP":
		events = append(events, frontendtest.Event{Gap: true})
	case "REMOVED":
		events = append(events, frontendtest.Event{Path: s.Name, Removed: true, Cursor: cursor})
	case "SAMPLE":
		role, sample := gateway.Readback, s.Sample
		if s.Role == "SETPOINT" {
			role = gateway.Setpoint
		}
		if s.Attribute != nil {
			sample = s.Attribute.Readback
			if role == gateway.Setpoint {
				sample = s.Attribute.Setpoint
			}
		}
		add(role, sample)
	case "ADDED", "AVAILABILITY":
		whole := s // in a batch the samples stand in the event itself
		if s.Attribute != nil {
			whole = s.Attribute
		}
		add(gateway.Readback, whole.Readback)
		add(gateway.Setpoint, whole.Setpoint)
	}
	return events
}

func (r *result) events() []frontendtest.Event {
	var events []frontendtest.Event
	if r.Data == nil || r.Data.Updates == nil {
		return nil
	}
	u := r.Data.Updates
	for _, list := range [][]shown{u.Events, u.Batch} {
		for i := range list {
			events = append(events, list[i].events(u.Cursor)...)
		}
	}
	return events
}

// asker is a client that can send a request and take the response.
type asker interface {
	ask(ctx context.Context, request body) (*result, error)
}

func get(ctx context.Context, c asker, path string) (frontendtest.Reading, error) {
	r, err := c.ask(ctx, getBody(path))
	if err != nil {
		return frontendtest.Reading{}, err
	}
	a := r.Data.Attribute
	return frontendtest.Reading{Readback: a.Readback.sample(), Setpoint: a.Setpoint.sample()}, nil
}

func list(ctx context.Context, c asker, match string) ([]string, error) {
	r, err := c.ask(ctx, listBody(match))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, a := range append(r.Data.Attributes.Attributes, r.Data.Commands.Commands...) {
		names = append(names, a.Name)
	}
	return names, nil
}

// httpClient asks by POST and subscribes by server-sent events.
type httpClient struct {
	url, fields string
	http        *http.Client
}

func (c *httpClient) Code(kind gateway.ErrorKind) string { return kind.String() }

func (c *httpClient) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

func (c *httpClient) open(ctx context.Context, request body, accept string) (*http.Response, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", jsonType)
	r.Header.Set("Accept", accept)
	return c.http.Do(r)
}

func (c *httpClient) ask(ctx context.Context, request body) (*result, error) {
	response, err := c.open(ctx, request, jsonType)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%w: %s", err, data)
	}
	return &r, r.err()
}

func (c *httpClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	return get(ctx, c, path)
}

func (c *httpClient) Put(ctx context.Context, put frontendtest.Put) error {
	_, err := c.ask(ctx, putBody(put))
	return err
}

func (c *httpClient) Execute(ctx context.Context, path string) error {
	_, err := c.ask(ctx, executeBody(path))
	return err
}

func (c *httpClient) List(ctx context.Context, match string) ([]string, error) {
	return list(ctx, c, match)
}

func (c *httpClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	return c.Resume(ctx, path, "")
}

func (c *httpClient) WatchPattern(ctx context.Context, match string) (frontendtest.Watch, error) {
	return c.Resume(ctx, match, "")
}

func (c *httpClient) Resume(ctx context.Context, path, cursor string) (frontendtest.Watch, error) {
	own, cancel := context.WithCancel(context.Background())
	response, err := c.open(own, updatesBody(path, cursor, c.fields), eventType)
	if err != nil {
		cancel()
		return nil, err
	}
	w := &eventWatch{cancel: cancel, body: response.Body, lines: bufio.NewReader(response.Body)}
	if err := w.fill(ctx); err != nil { // the first event is the confirmation
		_ = w.Close()
		return nil, err
	}
	return w, nil
}

// eventWatch reads an event stream.
type eventWatch struct {
	cancel context.CancelFunc
	body   io.Closer
	lines  *bufio.Reader
	queued []frontendtest.Event
}

func (w *eventWatch) Close() error {
	w.cancel()
	return w.body.Close()
}

func (w *eventWatch) fill(ctx context.Context) error {
	defer context.AfterFunc(ctx, w.cancel)()
	e, err := readEvent(w.lines)
	if err != nil {
		return err
	}
	var r result
	if err := json.Unmarshal([]byte(e.data), &r); err != nil {
		return err
	}
	w.queued = append(w.queued, r.events()...)
	return r.err()
}

func (w *eventWatch) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.queued) == 0 {
		if err := w.fill(ctx); err != nil {
			return frontendtest.Event{}, err
		}
	}
	e := w.queued[0]
	w.queued = w.queued[1:]
	return e, nil
}

// streamEvent is one event of a stream as the specification of EventSource reads it.
type streamEvent struct{ event, id, data string }

// readEvent reads until an event is complete; comments and retry are skipped.
func readEvent(lines *bufio.Reader) (streamEvent, error) {
	var e streamEvent
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.event != "":
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
