package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

// sseReader is an open event stream.
type sseReader struct {
	*world
	*http.Response
	lines *bufio.Reader
}

func (w *world) sse(query string, headers ...string) *sseReader {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/v1/stream?"+query, http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		w.Fatalf("status %d: %s", response.StatusCode, w.read(response).text)
	}
	return &sseReader{w, response, bufio.NewReader(response.Body)}
}

func (r *sseReader) next() sseEvent {
	r.Helper()
	e, err := readSSE(r.lines)
	if err != nil {
		r.Fatalf("reading the stream: %v", err)
	}
	return e
}

// until reads events until one is of a type.
func (r *sseReader) until(event string) sseEvent {
	r.Helper()
	for {
		if e := r.next(); e.event == event {
			return e
		}
	}
}

// socketPeer is a WebSocket whose messages are read as JSON.
type socketPeer struct {
	*world
	ws *websocket.Conn
}

func (w *world) socket(query string, headers http.Header) *socketPeer {
	w.Helper()
	ws, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(w.url, "http")+"/api/v1/ws"+query, headers)
	if err != nil {
		w.Fatal(err)
	}
	_ = response.Body.Close()
	w.Cleanup(func() { _ = ws.Close() })
	return &socketPeer{w, ws}
}

func (p *socketPeer) say(message string) {
	p.Helper()
	if err := p.ws.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		p.Fatal(err)
	}
}

func (p *socketPeer) hear() string {
	p.Helper()
	if err := p.ws.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.Fatal(err)
	}
	_, data, err := p.ws.ReadMessage()
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

func TestSSEBeginsWithHeadersASignOfLifeAndTheSnapshot(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Origins = []string{"https://lab.example"} })
	r := w.sse("match=oven.*", "Origin", "https://lab.example")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
		"Access-Control-Allow-Origin": "https://lab.example", "Vary": "Origin", "X-Content-Type-Options": "nosniff",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if line, err := r.lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, ":") {
		t.Errorf("the stream begins with %q, %v", line, err)
	}
	for range 14 {
		if e := r.next(); e.event != "added" || e.id != "" || w.member(e.data, "descriptor.revision") == "null" {
			t.Errorf("%+v", e)
		}
	}
	if e := r.next(); e.event != "synced" || e.id == "" {
		t.Errorf("%+v", e)
	}
	if w.member(w.wantOK(w.get("/attributes/oven.ramp")).text, "name") != "oven.ramp" {
		t.Error("other requests wait for the stream")
	}
}

func TestSSETellsHTTP10Clients(t *testing.T) {
	w := newWorld(t)
	c, err := net.Dial("tcp", w.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /api/v1/stream?match=oven.ramp HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(c)
	if line, err := lines.ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("%q, %v", line, err)
	}
	if e, err := readSSE(lines); err != nil || e.event != "added" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestSSEResumesFromLastEventID(t *testing.T) {
	w := newWorld(t)
	r := w.sse("match=oven.actual")
	r.until("synced")
	w.Set("oven.actual", gateway.Of(1.0))
	last := r.until("sample")
	_ = r.Body.Close()
	for i := 2; i < 5; i++ {
		w.Set("oven.actual", gateway.Of(float64(i)))
	}
	r = w.sse("match=oven.actual", "Last-Event-ID", last.id)
	for i := 2; i < 5; i++ {
		if e := r.next(); e.event != "sample" || w.member(e.data, "value") != fmt.Sprint(i) {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	for _, unknown := range []string{"1-1", "of another program"} {
		r = w.sse("match=oven.actual", "Last-Event-ID", unknown)
		if e := r.next(); e.event != "gap" {
			t.Errorf("behind %q comes %+v, want a gap", unknown, e)
		}
		if e := r.next(); e.event != "added" || w.member(e.data, "value") != "4" {
			t.Errorf("behind the gap comes %+v", e)
		}
	}
}

func TestStreamsRefuseWhatCannotBe(t *testing.T) {
	w := newWorld(t)
	for _, query := range []string{
		"match=..", "role=both,one", "changes=colour", "every=often", "max_rate=fast", "max_rate=0", "max_rate=-1", "max_rate=NaN", "max_rate=1e9", "cursor=x", "ints=1",
	} {
		w.wantProblem(w.get("/stream?"+query), 400, "malformed")
	}
	r := w.get("/stream?match=oven.secret&role=readback")
	w.wantProblem(r, 405, "write_only")
	if r.Header.Get("Allow") == "" {
		t.Error("no Allow header")
	}
	w.wantProblem(w.get("/ws"), 426, "malformed")
	w.wantStreams(0)
}

func TestStreamOptions(t *testing.T) {
	w := newWorld(t)
	r := w.sse("match=oven.*&role=setpoint&changes=value,alarm&max_rate=1000&every=true&ints=string")
	r.until("synced")
	w.Set("oven.count", gateway.Of(int64(1)))
	w.wantOK(w.put("oven.count", "9007199254740993"))
	if e := r.until("sample"); w.member(e.data, "role") != "setpoint" || !strings.Contains(e.data, `"value":"9007199254740993"`) {
		t.Errorf("%+v", e)
	}
}

func TestWEB02StreamsCarryNaN(t *testing.T) {
	w := newWorld(t)
	r, p := w.sse("match=oven.wave"), w.socket("", nil)
	r.until("synced")
	p.say(`{"type":"watch","id":"a","match":"oven.wave"}`)
	p.hear()
	w.Device.Set("oven.wave", gateway.ArrayOf([]float64{1, nan(), 3}))
	if e := r.until("sample"); w.member(e.data, "value") != `[1,"NaN",3]` {
		t.Error(e.data)
	}
	if m := p.hear(); !strings.Contains(m, `"value":[1,"NaN",3]`) {
		t.Error(m)
	}
}

func TestWEB11QuietStreamsGiveSignsOfLife(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.keepAlive, l.pong = 10*time.Millisecond, patience })
	if defaultLimits().keepAlive > 15*time.Second {
		t.Error("proxies cut a connection that is quiet for 30 s")
	}
	r := w.sse("match=oven.actual")
	r.until("synced")
	for range 3 {
		if line, err := r.lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, ": ") && line != "\n" {
			t.Errorf("%q, %v", line, err)
		}
	}
	p := w.socket("", nil)
	pings := make(chan struct{}, 100)
	p.ws.SetPingHandler(func(string) error { pings <- struct{}{}; return nil })
	go func() { _, _, _ = p.ws.ReadMessage() }()
	for range 3 {
		select {
		case <-pings:
		case <-time.After(patience):
			t.Fatal("no ping")
		}
	}
}

func TestWEB16StreamsTellOfALostDevice(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.actual", gateway.Of(20.5))
	r := w.sse("match=oven.actual")
	r.until("synced")
	w.Device.SetState(false, "unplugged")
	e := r.until("availability")
	for place, want := range map[string]string{"value": "20.5", "alarm.severity": "INVALID", "availability.state": "disconnected", "descriptor": "null"} {
		if got := w.member(e.data, place); got != want {
			t.Errorf("%s = %s, want %s", place, got, want)
		}
	}
	if e := w.sse("match=oven.actual").next(); w.member(e.data, "availability.state") != "disconnected" {
		t.Errorf("a new subscriber is not told: %+v", e)
	}
	w.Device.SetState(true, "")
	if e := r.until("availability"); w.member(e.data, "alarm.severity") != "NO_ALARM" {
		t.Errorf("%+v", e)
	}
}

func TestWEB17APutThatWaitsHoldsUpNothing(t *testing.T) {
	w := newWorld(t)
	release := make(chan *gateway.Put, 1)
	w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		if p.Path == "oven.ramp" {
			release <- p
			return
		}
		hubtest.Comply(d, p)
	})
	p := w.socket("", nil)
	p.say(`{"type":"put","id":"slow","name":"oven.ramp","value":1}`)
	stuck := <-release
	for i := range 10 {
		p.say(fmt.Sprintf(`{"type":"get","id":"g%d","name":"oven.actual"}`, i))
		if m := p.hear(); w.member(m, "id") != fmt.Sprintf("g%d", i) || w.member(m, "attribute.name") != "oven.actual" {
			t.Error(m)
		}
	}
	p.say(`{"type":"put","id":"other","name":"oven.free","value":2}`)
	if m := p.hear(); w.member(m, "id") != "other" || w.member(m, "verdict.value") != "2" {
		t.Error(m)
	}
	w.wantOK(w.put("oven.free", "3"))
	w.Device.Finish(stuck, gateway.Verdict{Stage: gateway.StageSent, Err: &gateway.Error{Kind: gateway.KindUnknownOutcome, Stage: gateway.StageSent, Msg: "no answer"}})
	if m := p.hear(); w.member(m, "id") != "slow" || w.member(m, "problem.code") != "unknown_outcome" || w.member(m, "problem.stage") != "sent" {
		t.Error(m)
	}
}

func TestSocketMessages(t *testing.T) {
	w := newWorld(t)
	p := w.socket("?ints=string", nil)
	for _, test := range []struct{ message, code string }{
		{`{`, "malformed"},
		{`[]`, "malformed"},
		{`{"type":"dance","id":"x"}`, "malformed"},
		{`{"type":"put","id":"x","name":"oven.ramp","value":1,"budgt":"1s"}`, "malformed"},
		{`{"type":"put","id":"x","name":"oven.ramp"}`, "malformed"},
		{`{"type":"put","id":"x","name":"oven.ramp","value":1,"budget":"never"}`, "malformed"},
		{`{"type":"put","id":"x","name":"oven.ramp","value":1,"mode":"loud"}`, "malformed"},
		{`{"type":"put","id":"x","name":"oven.actual","value":1}`, "read_only"},
		{`{"type":"put","id":"x","name":"oven.ramp","value":"hot"}`, "wrong_type"},
		{`{"type":"put","id":"x","name":"oven.cancel","value":1}`, "not_found"},
		{`{"type":"execute","id":"x","name":"oven.ramp"}`, "not_found"},
		{`{"type":"execute","id":"x","name":"oven.cancel","value":1}`, "wrong_type"},
		{`{"type":"execute","id":"x","name":"oven.move"}`, "malformed"},
		{`{"type":"get","id":"x","name":"../x"}`, "not_found"},
		{`{"type":"watch","id":"x","match":".."}`, "malformed"},
		{`{"type":"unwatch","id":"x"}`, "not_found"},
	} {
		p.say(test.message)
		if m := p.hear(); w.member(m, "type") != "error" || w.member(m, "problem.code") != test.code {
			t.Errorf("%s: %s", test.message, m)
		} else if read := strings.Contains(test.message, `"name":"oven.`) && !strings.Contains(test.message, "budgt"); read && w.member(m, "problem.stage") != "refused" {
			t.Errorf("%s: it does not say that nothing was sent: %s", test.message, m)
		}
	}
	if err := p.ws.WriteMessage(websocket.BinaryMessage, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if m := p.hear(); w.member(m, "problem.code") != "malformed" {
		t.Error(m)
	}
	p.say(`{"type":"execute","id":"e","name":"oven.move","value":2}`)
	if m := p.hear(); w.member(m, "type") != "verdict" || w.member(m, "verdict.stage") != "verified" {
		t.Error(m)
	}
	w.Set("oven.count", gateway.Of(int64(9007199254740993)))
	p.say(`{"type":"get","id":"g","name":"oven.count"}`)
	if m := p.hear(); !strings.Contains(m, `"value":"9007199254740993"`) {
		t.Error(m)
	}
	p.say(`{"type":"watch","id":"w","match":"oven.actual"}`)
	if m := p.hear(); w.member(m, "id") != "w" || w.member(m, "cursor") == "null" {
		t.Error(m)
	}
	p.say(`{"type":"watch","id":"w","match":"oven.ramp"}`)
	if m := p.hear(); w.member(m, "problem.code") != "malformed" {
		t.Error(m)
	}
	p.say(`{"type":"unwatch","id":"w"}`)
	if m := p.hear(); w.member(m, "type") != "unwatched" {
		t.Error(m)
	}
}

func TestTheUpdateOfAPutComesBeforeItsVerdict(t *testing.T) {
	w := newWorld(t)
	p := w.socket("", nil)
	p.say(`{"type":"watch","id":"w","match":"oven.free"}`)
	p.hear()
	for i := range 50 {
		p.say(fmt.Sprintf(`{"type":"put","id":"p","name":"oven.free","value":%d}`, i))
		shown := ""
		for {
			m := p.hear()
			if w.member(m, "type") == "verdict" {
				break
			}
			shown += m
		}
		if !strings.Contains(shown, fmt.Sprintf(`"role":"readback","value":%d,`, i)) {
			t.Fatalf("the verdict of put %d came before its sample: %s", i, shown)
		}
	}
}

func TestStreamsAreCountedAndLimited(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Streams = 2 })
	r := w.sse("")
	r.until("synced")
	w.socket("", nil)
	w.wantStreams(2)
	refused := w.get("/stream")
	w.wantProblem(refused, 429, "busy")
	if refused.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	_, response, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(w.url, "http")+"/api/v1/ws", nil)
	if err == nil {
		t.Fatal("a third stream")
	}
	w.wantProblem(w.read(response), 429, "busy")
	status := w.server.streams.status()
	if status[0].Kind != "sse" || status[1].Kind != "websocket" || status[0].Watches != 1 || status[0].Delivered == 0 {
		t.Errorf("%+v", status)
	}
	_ = r.Body.Close()
	w.wantStreams(1)
	w.sse("").until("synced")
}
