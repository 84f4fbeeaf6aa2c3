package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
)

// peer is one end of a WebSocket that says what the test wants.
type peer struct {
	*world
	ws  *websocket.Conn
	ctx context.Context
}

func (w *world) dial(subprotocols ...string) *peer {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.Cleanup(cancel)
	ws, response, err := websocket.Dial(ctx, w.url+"/graphql", &websocket.DialOptions{Subprotocols: subprotocols})
	if err != nil {
		w.Fatal(err)
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	ws.SetReadLimit(-1)
	p := &peer{w, ws, ctx}
	w.Cleanup(p.end)
	return p
}

// socket dials and begins.
func (w *world) socket(subprotocol string) *peer {
	w.Helper()
	p := w.dial(subprotocol)
	p.say(`{"type":"connection_init","payload":{}}`)
	p.wantMessage("connection_ack", "")
	return p
}

func (p *peer) end() { _ = p.ws.CloseNow() }

func (p *peer) say(text string) {
	p.Helper()
	if err := p.ws.Write(p.ctx, websocket.MessageText, []byte(text)); err != nil {
		p.Fatal(err)
	}
}

// begin sends an operation.
func (p *peer) begin(id, query string) {
	p.Helper()
	quoted, err := json.Marshal(query)
	if err != nil {
		p.Fatal(err)
	}
	kind := dialects[p.ws.Subprotocol()].subscribe
	p.say(fmt.Sprintf(`{"id":%q,"type":%q,"payload":{"query":%s}}`, id, kind, quoted))
}

func (p *peer) hear() message {
	p.Helper()
	_, data, err := p.ws.Read(p.ctx)
	if err != nil {
		p.Fatal(err)
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		p.Fatalf("%v: %s", err, data)
	}
	return m
}

func (p *peer) wantMessage(kind, id string) message {
	p.Helper()
	m := p.hear()
	for m.Type == "ka" && kind != "ka" {
		m = p.hear()
	}
	if m.Type != kind || m.ID != id {
		p.Fatalf("got %s %q %s, want %s %q", m.Type, m.ID, m.Payload, kind, id)
	}
	return m
}

// until reads responses to an operation until one contains a text.
func (p *peer) until(id, text string) string {
	p.Helper()
	for {
		if m := p.wantMessage(dialects[p.ws.Subprotocol()].next, id); strings.Contains(string(m.Payload), text) {
			return string(m.Payload)
		}
	}
}

// wantClose reads until the connection is closed with a code.
func (p *peer) wantClose(code websocket.StatusCode) {
	p.Helper()
	for {
		_, data, err := p.ws.Read(p.ctx)
		if err == nil && len(data) < 1000 {
			p.Logf("got %s", data)
		}
		if err != nil {
			if got := websocket.CloseStatus(err); got != code {
				p.Errorf("closed with %v (%v), want %d", got, err, code)
			}
			return
		}
	}
}

// raw dials and sends bytes.
func (w *world) raw(text string) net.Conn {
	w.Helper()
	c, err := net.Dial("tcp", w.server.Addr().String())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, text); err != nil {
		w.Fatal(err)
	}
	return c
}

func readAll(t *testing.T, c net.Conn) string {
	t.Helper()
	data, err := io.ReadAll(c)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Errorf("it did not end; got %q", data)
	}
	return string(data)
}

const updates = `subscription { updates(match: "oven.actual") { batch cursor } }`

func TestWEB09Subprotocols(t *testing.T) {
	w := newWorld(t)
	for _, x := range []struct {
		offered []string
		want    string
	}{
		{[]string{transportWS}, transportWS},
		{[]string{legacyWS}, legacyWS},
		{[]string{legacyWS, transportWS}, transportWS},
		{[]string{"mqtt", legacyWS}, legacyWS},
	} {
		p := w.dial(x.offered...)
		if got := p.ws.Subprotocol(); got != x.want {
			t.Errorf("offered %v: got %q, want %q", x.offered, got, x.want)
		}
		p.say(`{"type":"connection_init"}`)
		p.wantMessage("connection_ack", "")
		w.Set("oven.actual", gateway.Of(1.0))
		p.begin("a", updates)
		p.until("a", `"SYNCED"`)
		p.begin("b", `{ devices { name } }`)
		if m := p.wantMessage(dialects[x.want].next, "b"); string(m.Payload) != `{"data":{"devices":[{"name":"oven"}]}}` {
			t.Errorf("got %s", m.Payload)
		}
		p.wantMessage("complete", "b")
		p.say(fmt.Sprintf(`{"id":"a","type":%q}`, dialects[x.want].unsubscribe))
		p.begin("c", `{ devices { size } }`)
		p.wantMessage(dialects[x.want].next, "c")
		if _, n := w.server.streams.status(); n != 0 {
			t.Errorf("%d subscriptions are open", n)
		}
		p.end()
	}
	w.dial().wantClose(closeBadSubprotocol)
	w.dial("mqtt").wantClose(closeBadSubprotocol)
	w.wantStreams(0)
}

// Python's gql 4.4 looks for the chosen subprotocol under exactly this name, and
// speaks the older one if it finds none.
func TestWEB09SubprotocolIsSpelledAsTheStandardDoes(t *testing.T) {
	w := newWorld(t)
	c := w.raw("GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: graphql-ws, graphql-transport-ws\r\n\r\n")
	head := make([]byte, 4096)
	n, err := c.Read(head)
	if err != nil || !strings.Contains(string(head[:n]), "\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n") {
		t.Errorf("%v: %s", err, head[:n])
	}
	_ = c.Close()
	w.wantStreams(0)
}

// WEB-09, WEB-11: an idle connection is kept alive in both, from the beginning.
func TestWEB11KeepAlives(t *testing.T) {
	if l := defaultLimits(); l.keepAlive > 15*time.Second || l.keepAlive+l.pong > 30*time.Second {
		t.Errorf("limits are %+v", l)
	}
	w := newWorld(t, func(_ *Config, l *limits) { l.keepAlive = 5 * time.Millisecond })
	for _, subprotocol := range []string{transportWS, legacyWS} {
		pings := make(chan struct{}, 100)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		ws, response, err := websocket.Dial(ctx, w.url+"/graphql", &websocket.DialOptions{
			Subprotocols:   []string{subprotocol},
			OnPingReceived: func(context.Context, []byte) bool { pings <- struct{}{}; return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		if response.Body != nil {
			_ = response.Body.Close()
		}
		p := &peer{w, ws, ctx}
		p.say(`{"type":"connection_init"}`)
		p.wantMessage("connection_ack", "")
		go func() {
			for {
				if _, _, err := ws.Read(ctx); err != nil {
					return
				}
			}
		}()
		for range 3 {
			select {
			case <-pings:
			case <-ctx.Done():
				t.Errorf("%s: no ping", subprotocol)
			}
		}
		cancel()
	}
	p := w.socket(legacyWS)
	p.wantMessage("ka", "")
	p.wantMessage("ka", "")
	p.end()

	// An event stream has comments instead.
	c := w.raw("GET /graphql?query=" + strings.ReplaceAll(updates, " ", "%20") + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
	seen := ""
	for buf := make([]byte, 4096); strings.Count(seen, ": still here") < 2; {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("%v: %s", err, seen)
		}
		seen += string(buf[:n])
	}
	_ = c.Close()
	w.wantStreams(0)
}

func TestBrokenConversations(t *testing.T) {
	w := newWorld(t)
	hasty := newWorld(t, func(_ *Config, l *limits) { l.begin = 100 * time.Millisecond })
	init := `{"type":"connection_init"}`
	sub := `{"id":"a","type":"subscribe","payload":{"query":"subscription { updates { cursor } }"}}`
	for name, x := range map[string]struct {
		say  []string
		code websocket.StatusCode
	}{
		"silence":                {nil, closeInitTimeout},
		"subscribed at once":     {[]string{sub}, closeUnauthorized},
		"no JSON":                {[]string{"hello"}, closeBadRequest},
		"no JSON after the init": {[]string{init, "{"}, closeBadRequest},
		"two values":             {[]string{init + init}, closeBadRequest},
		"no type":                {[]string{init, `{}`}, closeBadRequest},
		"unknown type":           {[]string{init, `{"type":"hello"}`}, closeBadRequest},
		"the other dialect":      {[]string{init, `{"id":"a","type":"start","payload":{}}`}, closeBadRequest},
		"no payload":             {[]string{init, `{"id":"a","type":"subscribe"}`}, closeBadRequest},
		"wrong payload":          {[]string{init, `{"id":"a","type":"subscribe","payload":[]}`}, closeBadRequest},
		"no id":                  {[]string{init, `{"type":"subscribe","payload":{"query":"{ devices { name } }"}}`}, closeBadRequest},
		"long id":                {[]string{init, `{"id":"` + strings.Repeat("x", maxID+1) + `","type":"subscribe","payload":{"query":"{ devices { name } }"}}`}, closeBadRequest},
		"begun twice":            {[]string{init, init}, closeTooManyRequests},
		"an id twice":            {[]string{init, sub, sub}, closeDuplicateID},
		"terminated":             {[]string{init, `{"type":"connection_terminate"}`}, websocket.StatusNormalClosure},
		"large":                  {[]string{init, `"` + strings.Repeat("x", 5<<20) + `"`}, websocket.StatusMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			dial := w.dial
			if len(x.say) == 0 {
				dial = hasty.dial
			}
			p := dial(transportWS)
			for _, text := range x.say {
				_ = p.ws.Write(p.ctx, websocket.MessageText, []byte(text))
			}
			p.wantClose(x.code)
		})
	}
	w.wantStreams(0)
	hasty.wantStreams(0)
}

func TestOperationsThatCannotBegin(t *testing.T) {
	w := newWorld(t)
	for _, subprotocol := range []string{transportWS, legacyWS} {
		p := w.socket(subprotocol)
		for i, x := range []struct{ query, code string }{
			{`{ nosuch }`, "GRAPHQL_VALIDATION_FAILED"},
			{`{`, "GRAPHQL_PARSE_FAILED"},
			{`subscription { __typename }`, "GRAPHQL_VALIDATION_FAILED"},
			{`subscription { updates(match: "..") { cursor } }`, "malformed"},
			{`subscription { updates(cursor: "..") { cursor } }`, "malformed"},
			{`subscription { updates(maxRate: 0) { cursor } }`, "malformed"},
			{`subscription { updates(maxRate: -1) { cursor } }`, "malformed"},
			{`subscription { updates(match: "oven.secret", roles: [READBACK]) { cursor } }`, "write_only"},
			{`subscription { updates { cursor } again: updates { cursor } }`, "GRAPHQL_VALIDATION_FAILED"},
			{`subscription { updates @skip(if: true) { cursor } }`, "GRAPHQL_VALIDATION_FAILED"},
		} {
			id := fmt.Sprint(i)
			p.begin(id, x.query)
			if m := p.wantMessage("error", id); !strings.Contains(string(m.Payload), `"code":"`+x.code+`"`) {
				t.Errorf("%s: got %s, want %s", x.query, m.Payload, x.code)
			}
		}
		p.begin("0", `{ devices { name } }`) // the ids are free again
		p.wantMessage(dialects[subprotocol].next, "0")
		p.end()
	}
}

func TestWEB17PutsAndQueriesDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	arrived := make(chan *gateway.Put, maxOperations)
	w.Device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { arrived <- p })
	p := w.socket(transportWS)
	for i := range maxOperations {
		p.begin(fmt.Sprint("put ", i), `mutation { put(name: "oven.ramp", value: 1) { stage } }`)
	}
	var puts []*gateway.Put
	for range maxOperations {
		puts = append(puts, <-arrived)
	}
	p.begin("more", `{ devices { name } }`)
	if m := p.wantMessage("error", "more"); !strings.Contains(string(m.Payload), `"busy"`) {
		t.Errorf("got %s", m.Payload)
	}
	p.say(`{"id":"put 0","type":"complete"}`) // given up: no answer, and its place is free when the put has ended
	p.begin("s", updates)
	p.until("s", "SYNCED")
	for _, put := range puts {
		w.Device.Accept(put)
		w.Device.Finish(put, gateway.Verdict{Stage: gateway.StageVerified})
	}
	answers := map[string]int{}
	for range 2 * (maxOperations - 1) {
		m := p.hear()
		answers[m.Type]++
		if m.ID == "put 0" {
			t.Errorf("an answer that nobody wants: %+v", m)
		}
	}
	if answers["next"] != maxOperations-1 || answers["complete"] != maxOperations-1 {
		t.Errorf("got %v", answers)
	}
	p.end()
	w.wantStreams(0)
}

func TestSubscriptionsByTheThousand(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Subscriptions = maxSubscriptions + 10 })
	w.Set("oven.actual", gateway.Of(0.0))
	p := w.socket(transportWS)
	for i := range maxSubscriptions {
		p.begin(fmt.Sprint(i), updates)
	}
	p.begin("too many", updates)
	synced, refused := 0, ""
	for synced < maxSubscriptions || refused == "" {
		m := p.hear()
		switch {
		case m.Type == "error":
			refused = string(m.Payload)
		case strings.Contains(string(m.Payload), "SYNCED"):
			synced++
		}
	}
	if !strings.Contains(refused, `"busy"`) {
		t.Errorf("refused with %s", refused)
	}
	w.Set("oven.actual", gateway.Of(1.0))
	seen := map[string]bool{}
	for len(seen) < maxSubscriptions {
		m := p.hear()
		if seen[m.ID] || !strings.Contains(string(m.Payload), `"value":1`) {
			t.Fatalf("got %+v", m)
		}
		seen[m.ID] = true
	}
	other := w.socket(transportWS)
	for i := range 11 {
		other.begin(fmt.Sprint(i), updates)
	}
	for {
		if m := other.hear(); m.Type == "error" {
			if !strings.Contains(string(m.Payload), "frontends.graphql.subscriptions") {
				t.Errorf("refused with %s", m.Payload)
			}
			break
		}
	}
	w.wantStreams(2)
	other.end()
	_ = p.ws.Close(websocket.StatusNormalClosure, "")
	w.wantStreams(0)
	if _, n := w.server.streams.status(); n != 0 {
		t.Errorf("%d subscriptions are open", n)
	}
}

func TestAClientWithoutACloseFrame(t *testing.T) {
	w := newWorld(t)
	p := w.socket(transportWS)
	p.begin("a", updates)
	p.until("a", "SYNCED")
	w.wantStreams(1)
	p.end()
	w.wantStreams(0)
}

// TestAClientThatStopsReading is cut, and holds nobody up.
func TestAClientThatStopsReading(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.batch, l.pong = 100*time.Millisecond, time.Minute })
	p := w.socket(transportWS)
	p.begin("a", `subscription { updates(match: "oven.wave") { batch } }`)
	sse := w.raw("GET /graphql?query=subscription%7Bupdates(match:%22oven.wave%22)%7Bbatch%7D%7D HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
	w.wantStreams(2)
	deadline := time.Now().Add(patience)
	for i := 0; ; i++ {
		w.Set("oven.wave", gateway.ArrayOf(append([]float64{float64(i)}, make([]float64, 99999)...)))
		if all, _ := w.server.streams.status(); len(all) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("they are not cut")
		}
	}
	w.wantStreams(0)
	_ = sse.Close()
	p.end()
}

// TestWEB06AFrozenNetwork freezes a client whose connection stays open.
func TestWEB06AFrozenNetwork(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.keepAlive, l.pong = 20*time.Millisecond, 200*time.Millisecond })
	for _, subscribed := range []bool{false, true} {
		network := frontendtest.NewFreezer(t, w.server.Addr().String())
		direct := w.url
		w.url = "http://" + network.Address
		p := w.socket(transportWS)
		w.url = direct
		if subscribed {
			p.begin("a", updates)
			p.until("a", "SYNCED")
		}
		all, _ := w.server.streams.status()
		if len(all) != 1 {
			t.Fatalf("%d streams", len(all))
		}
		network.Freeze()
		w.wantStreams(0)
		p.end()
	}
}

func TestAnOriginMayNotUpgrade(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Origins = []string{"http://a.example"} })
	for origin, want := range map[string]int{"http://evil.example": 403, "http://a.example": 101, w.url: 101} {
		ws, response, err := websocket.Dial(t.Context(), w.url+"/graphql", &websocket.DialOptions{
			Subprotocols: []string{transportWS}, HTTPHeader: http.Header{"Origin": {origin}},
		})
		if response == nil || response.StatusCode != want {
			t.Errorf("origin %s: %+v, %v", origin, response, err)
		}
		if err == nil {
			_ = ws.CloseNow()
		}
	}
}
