package graph

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
)

// events opens an event stream by GET, as a browser's EventSource does.
func (w *world) events(query, lastID string) *eventReader {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/graphql?"+url.Values{"query": {query}}.Encode(), nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Accept", eventType)
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); got != eventType {
		data, _ := io.ReadAll(response.Body)
		w.Fatalf("content type %q: %s", got, data)
	}
	r := &eventReader{w, bufio.NewReader(response.Body), func() { cancel(); _ = response.Body.Close() }}
	w.Cleanup(r.close)
	return r
}

type eventReader struct {
	*world
	lines *bufio.Reader
	close func()
}

// until reads until an event contains a text.
func (r *eventReader) until(text string) streamEvent {
	r.Helper()
	for {
		e, err := readEvent(r.lines)
		if err != nil {
			r.Fatalf("waiting for %q: %v", text, err)
		}
		if strings.Contains(e.data, text) || e.event == text {
			return e
		}
	}
}

func TestEventStreamOfOneAnswer(t *testing.T) {
	w := newWorld(t)
	r := w.events(`{ devices { name } }`, "")
	if e := r.until("devices"); e.data != `{"data":{"devices":[{"name":"oven"}]}}` {
		t.Errorf("got %+v", e)
	}
	r.until("complete")
	r = w.events(`subscription { updates(match: "..") { cursor } }`, "")
	r.until(`"malformed"`)
	r.until("complete")
	if rest, err := io.ReadAll(r.lines); err != nil || len(rest) != 0 {
		t.Errorf("then %q, %v", rest, err)
	}
}

func TestEventStreamContinuesByItself(t *testing.T) {
	w := newWorld(t)
	query := `subscription { updates(match: "oven.actual", cursor: "1-1") { events { type sample { value } } } }`
	r := w.events(query, "")
	r.until("SYNCED")
	w.Set("oven.actual", gateway.Of(1.0))
	last := r.until(`"value":1`)
	if _, err := gateway.ParseCursor(last.id); err != nil || last.id == "" {
		t.Fatalf("the id is %q", last.id)
	}
	r.close()
	w.Set("oven.actual", gateway.Of(2.0))
	w.Set("oven.actual", gateway.Of(3.0))
	e := w.events(query, last.id).until(`"value":3`)
	if strings.Contains(e.data, "GAP") || strings.Contains(e.data, "ADDED") || !strings.Contains(e.data, `"value":2`) {
		t.Errorf("continued with %s", e.data)
	}
	for _, id := range []string{"1-1", "no cursor"} {
		if e := w.events(query, id).until("SYNCED"); !strings.Contains(e.data, "GAP") {
			t.Errorf("from nowhere: %s", e.data)
		}
	}
}

// TestCursorOfAnotherLife says so, and gives a fresh snapshot.
func TestCursorOfAnotherLife(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.actual", gateway.Of(7.0))
	p := w.socket(transportWS)
	p.begin("a", `subscription { updates(match: "oven.actual", cursor: "`+gateway.Cursor{Epoch: 12345, N: 7}.String()+`") { events { type } batch } }`)
	text := p.until("a", "SYNCED")
	gap, added := strings.Index(text, `"GAP"`), strings.Index(text, `"ADDED"`)
	if gap < 0 || added < gap || !strings.Contains(text, `"value":7`) {
		t.Errorf("got %s", text)
	}
	p.end()
}

func TestSelectionsOfASubscription(t *testing.T) {
	w := newWorld(t)
	p := w.socket(transportWS)
	p.begin("setpoints", `subscription { updates(match: "oven.ramp", roles: [SETPOINT]) { events { role type } } }`)
	p.until("setpoints", "SYNCED")
	w.Set("oven.ramp", gateway.Of(1.0))
	w.ask(putValue, `{"n":"oven.ramp","v":2}`)
	if text := p.until("setpoints", "SAMPLE"); strings.Contains(text, "READBACK") {
		t.Errorf("got %s", text)
	}
	p.say(`{"id":"setpoints","type":"complete"}`)
	p.begin("alarms", `subscription { updates(match: "oven.actual", changes: [ALARM]) { events { changes sample { value } } } }`)
	p.until("alarms", "null")
	w.Set("oven.actual", gateway.Of(1.0)) // leaves the alarm of what was never read
	w.Set("oven.actual", gateway.Of(2.0))
	w.Device.Update(hubtest.Change{Path: "oven.actual", Role: gateway.Readback, Value: gateway.Of(3.0), Alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh}})
	if text := p.until("alarms", `"value":3`); !strings.Contains(text, "ALARM") || strings.Contains(text, `"value":2`) {
		t.Errorf("got %s", text)
	}
	p.say(`{"id":"alarms","type":"complete"}`)
	p.begin("slow", `subscription { updates(match: "oven.actual", maxRate: 0.001, every: true) { events { type } } }`)
	p.until("slow", "SYNCED")
	p.end()
}

// TestBatchIsWhatTheEventsAre compares the two forms of the same delivery.
func TestBatchIsWhatTheEventsAre(t *testing.T) {
	w := newWorld(t)
	w.Device.SetState(false, "un\u201cplugged\u201d")
	w.Device.SetState(true, "")
	w.Set("oven.mode", gateway.EnumOf(1))
	w.Set("oven.actual", gateway.Of(nan()))
	p := w.socket(transportWS)
	const sample = `{ value index time alarm { severity status text } seq }`
	p.begin("a", `subscription { updates(match: "oven.*") { batch events {
		type name role changes lost sample `+sample+` attribute { readback `+sample+` setpoint `+sample+` availability { state since words } descriptor { kind access description units precision shape states { label } control { low high } display { low high } } } } } }`)
	check := func(text string) {
		t.Helper()
		var r struct {
			Data struct {
				Updates struct{ Batch, Events []map[string]any }
			}
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		u := r.Data.Updates
		if len(u.Batch) == 0 || len(u.Batch) != len(u.Events) {
			t.Fatalf("%d events, %d in the batch", len(u.Events), len(u.Batch))
		}
		for i, event := range u.Events {
			if attribute, ok := event["attribute"].(map[string]any); ok {
				for name, v := range attribute {
					event[name] = v
				}
			}
			for name, got := range u.Batch[i] {
				if !covers(event[name], got) {
					t.Errorf("event %d: %s is %v in the batch, %v in the events", i, name, got, event[name])
				}
			}
		}
	}
	check(p.until("a", "SYNCED"))
	w.Set("oven.mode", gateway.EnumOf(2))
	check(p.until("a", "SAMPLE"))
	w.Device.SetState(false, "unplugged")
	check(p.until("a", "AVAILABILITY"))
	w.Device.Redescribe(frontendtest.OvenDescriptors()[1:]...)
	check(p.until("a", "REMOVED"))
	p.end()
}

// TestABatchAloneIsAnsweredAsAnyOther asks for the batch in all ways in which it
// may stand alone, and not alone.
func TestABatchAloneIsAnsweredAsAnyOther(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ query, begin, end string }{
		{`subscription { updates(match: "oven.actual") { batch } }`, `{"data":{"updates":{"batch":[{"type":"ADDED"`, `}]}}}`},
		{`subscription { u: updates(match: "oven.actual") { b: batch } }`, `{"data":{"u":{"b":[{"type":"ADDED"`, `}]}}}`},
		{`subscription { updates(match: "oven.actual") { ...f } } fragment f on Updates { batch batch }`, `{"data":{"updates":{"batch":[{"type":"ADDED"`, `}]}}}`},
		{`subscription { updates(match: "oven.actual") { batch cursor @skip(if: true) } }`, `{"data":{"updates":{"batch":[{"type":"ADDED"`, `}]}}}`},
		{`subscription { updates(match: "oven.actual") { batch @include(if: false) __typename } }`, `{"data":{"updates":{"__typename":"Updates"`, `"Updates"}}}`},
		{`subscription { updates(match: "oven.actual") { __typename batch } }`, `{"data":{"updates":{"__typename":"Updates","batch":[{"type":"ADDED"`, `}]}}}`},
		{`subscription { updates(match: "oven.actual") { batch more: batch } }`, `{"data":{"updates":{"batch":[{"type":"ADDED"`, `}]}}}`},
	} {
		r := w.events(c.query, "")
		e := r.until("data")
		r.close()
		if !strings.HasPrefix(e.data, c.begin) || !strings.HasSuffix(e.data, c.end) || !json.Valid([]byte(e.data)) {
			t.Errorf("%s\ngot %s", c.query, e.data)
		}
		if strings.Contains(c.query, "more") && strings.Count(e.data, `"ADDED"`) != 2 {
			t.Errorf("%s\nnot both: %s", c.query, e.data)
		}
	}
}

// TestASubscriptionWhoseClientIsGoneEnds delivers until it is noticed: gqlgen may
// take an event though the context has ended, and may not.
func TestASubscriptionWhoseClientIsGoneEnds(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.server.log = zerolog.New(&log)
	ctx, leave := context.WithCancel(withSession(context.Background(), w.Hub.For(gateway.Caller{})))
	op, failed := w.server.prepare(ctx, &graphql.RawParams{Query: `subscription { updates(match: "oven.actual") { cursor } }`})
	if failed != nil {
		t.Fatal(failed.Errors)
	}
	st, err := w.server.streams.add("sse", "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.server.streams.remove(st)
	feed := w.server.newFeed(st, sessionOf(ctx))
	defer feed.close()
	sub, failed := feed.start(ctx, op, "", gateway.Cursor{})
	if failed != nil {
		t.Fatal(failed.Errors)
	}
	leave()
	for err == nil {
		_, err = sub.appendResponse(nil, []gateway.Event{{Type: gateway.EventSynced}})
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
}

// covers reports whether all that b has is so in a, too.
func covers(a, b any) bool {
	switch b := b.(type) {
	case map[string]any:
		object, _ := a.(map[string]any)
		for name, v := range b {
			if !covers(object[name], v) {
				return false
			}
		}
		return object != nil
	case []any:
		list, _ := a.([]any)
		for i := range b {
			if len(list) != len(b) || !covers(list[i], b[i]) {
				return false
			}
		}
		return len(list) == len(b)
	}
	return a == b
}

func TestWEB16SubscribersHearOfALostDevice(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.actual", gateway.Of(7.0))
	p := w.socket(transportWS)
	p.begin("a", updates)
	p.until("a", "SYNCED")
	r := w.events(updates, "")
	r.until("SYNCED")
	w.Device.SetState(false, "unplugged")
	for _, text := range []string{p.until("a", "DISCONNECTED"), r.until("DISCONNECTED").data} {
		if !strings.Contains(text, `"value":7`) || !strings.Contains(text, `"INVALID"`) {
			t.Errorf("got %s", text)
		}
	}
	late := w.socket(transportWS)
	late.begin("b", updates)
	if text := late.until("b", "SYNCED"); !strings.Contains(text, "DISCONNECTED") {
		t.Errorf("a new one gets %s", text)
	}
	w.Device.SetState(true, "")
	w.Set("oven.actual", gateway.Of(8.0))
	p.until("a", `"value":8`)
	late.end()
	p.end()
}

func TestWEB07StoppingClosesStreamsInOrder(t *testing.T) {
	w := newWorld(t)
	var sockets []*peer
	for i := range 5 {
		p := w.socket([]string{transportWS, legacyWS}[i%2])
		p.begin("a", updates)
		p.until("a", "SYNCED")
		sockets = append(sockets, p)
	}
	var streams []*eventReader
	for range 3 {
		r := w.events(updates, "")
		r.until("SYNCED")
		streams = append(streams, r)
	}
	idle := w.raw("")
	ended := make(chan error, 1)
	go func() { ended <- w.end() }()
	for _, p := range sockets {
		p.wantClose(websocket.StatusGoingAway)
	}
	for _, r := range streams {
		if rest, err := io.ReadAll(r.lines); err != nil || strings.Contains(string(rest), "complete") {
			t.Errorf("a stream ends with %q, %v; want its end, without a complete", rest, err)
		}
	}
	readAll(t, idle)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	all, n := w.server.streams.status()
	if len(all) != 0 || n != 0 || len(w.Hub.Clients()) != 0 || w.server.listener.Count() != 0 {
		t.Errorf("something is still open: %v, %d subscriptions, %v, %d connections", all, n, w.Hub.Clients(), w.server.listener.Count())
	}
}

func TestStoppingLetsAPutFinish(t *testing.T) {
	w := newWorld(t)
	waiting := make(chan *gateway.Put, 1)
	w.Device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { waiting <- p })
	answer := make(chan reply, 1)
	go func() { answer <- w.ask(putValue, `{"n":"oven.ramp","v":1}`) }()
	p := <-waiting
	ended := make(chan error, 1)
	go func() { ended <- w.end() }()
	<-w.server.stopping.Done()
	w.Device.Accept(p)
	w.Device.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	if r := <-answer; !strings.Contains(r.text, "VERIFIED") {
		t.Error(r.text)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStoppingDoesNotWaitForEver(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) {
		l.drain, l.batch, l.linger = 50*time.Millisecond, time.Minute, 50*time.Millisecond
	})
	waiting := make(chan *gateway.Put, 2)
	w.Device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { waiting <- p })
	go func() {
		response, err := w.client.Post(w.url+"/graphql", jsonType, strings.NewReader(`{"query":"mutation { execute(name: \"oven.cancel\") { stage } }"}`))
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	<-waiting
	p := w.socket(transportWS)
	p.begin("put", `mutation { execute(name: "oven.cancel") { stage } }`)
	<-waiting
	p.begin("deaf", `subscription { updates(match: "oven.wave") { batch } }`)
	w.raw("POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n1")
	w.wantStreams(1)
	for i := range 30 { // more than the sockets hold
		w.Set("oven.wave", gateway.ArrayOf(append([]float64{float64(i)}, make([]float64, 99999)...)))
	}
	if err := w.end(); err != nil {
		t.Error(err)
	}
	p.end()
}

func TestATakenPortIsNamed(t *testing.T) {
	w := newWorld(t)
	cfg := DefaultConfig()
	cfg.Listen = w.server.Addr().String()
	err := New(cfg, w.Hub, w.server.log).Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), cfg.Listen) || !strings.Contains(err.Error(), "frontends.graphql.listen") {
		t.Errorf("got %v", err)
	}
}

func TestStatusShowsStreams(t *testing.T) {
	w := newWorld(t)
	p := w.socket(transportWS)
	p.begin("a", updates)
	p.until("a", "SYNCED")
	data, err := json.Marshal(w.server.Status())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(data); !strings.Contains(text, `"kind":"websocket"`) || !strings.Contains(text, `"subscriptions":1`) {
		t.Errorf("got %s", text)
	}
	p.end()
}
