package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

// raw opens a connection, writes text and returns it.
func (w *world) raw(text string) net.Conn {
	w.Helper()
	c, err := net.Dial("tcp", w.server.Addr().String())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		w.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		w.Fatal(err)
	}
	return c
}

// answer reads one answer from a connection.
func (w *world) answer(c net.Conn) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "/", http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(c), request)
	if err != nil {
		w.Fatalf("reading the answer: %v", err)
	}
	return w.read(response)
}

// rawSSE opens an event stream on a connection whose deadline is far, and reads
// its beginning.
func (w *world) rawSSE(query string) *bufio.Reader {
	w.Helper()
	c := w.raw("GET /api/v1/stream?" + query + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err := c.SetDeadline(time.Time{}); err != nil {
		w.Fatal(err)
	}
	lines := bufio.NewReader(c)
	for e := (sseEvent{}); e.event != "synced"; {
		var err error
		if e, err = readSSE(lines); err != nil {
			w.Fatal(err)
		}
	}
	return lines
}

func TestBodiesAreLimited(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.MaxBody = 1000 })
	w.wantProblem(w.put("oven.wave", strings.Repeat(" ", 900)), 400, "malformed")
	for _, size := range []int{1001, 8 << 20} { // the larger one does not fit any socket's buffers
		w.wantProblem(w.put("oven.wave", strings.Repeat("1", size)), 413, "too_large")
	}
	chunked := w.raw("PUT /api/v1/attributes/oven.wave HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"800\r\n" + strings.Repeat("1", 2048) + "\r\n0\r\n\r\n")
	w.wantProblem(w.answer(chunked), 413, "too_large")
	p := w.socket("", nil)
	p.say(`{"type":"` + strings.Repeat("x", 1000) + `"}`)
	if _, _, err := p.ws.ReadMessage(); err == nil || !strings.Contains(err.Error(), "1009") {
		t.Errorf("a message beyond the limit ends with %v, want 1009", err)
	}
}

func TestRequestLinesAndHeadersAreLimited(t *testing.T) {
	w := newWorld(t)
	w.wantProblem(w.get("/attributes?match="+strings.Repeat("x", 10000)), 400, "malformed")
	w.wantProblem(w.get("/attributes?match="+strings.Repeat("x", 20000)), 431, "too_large")
	w.wantProblem(w.do(http.MethodGet, "/api/v1/devices", "", "Cookie", strings.Repeat("x", 20000)), 431, "too_large")
}

func TestWhatIsNoHTTPIsAnswered(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{
		"caget DEMO:RampRate\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
	} {
		c := w.raw(text)
		w.wantProblem(w.answer(c), 400, "malformed")
	}
	for method, status := range map[string]int{"BREW": 501, "DELETE": 405, "PATCH": 405, "POST": 405} {
		r := w.do(method, "/api/v1/attributes/oven.ramp", "")
		w.wantProblem(r, status, "malformed")
		if allow := r.Header.Get("Allow"); status == 405 && allow != "GET, HEAD, PUT" {
			t.Errorf("Allow %q", allow)
		}
	}
	for _, path := range []string{"/nothing", "/api", "/api/v1", "/api/v1/", "/api/v2/attributes", "/index.html", "/static/index.js", "/docs/nothing.js"} {
		w.wantProblem(w.do(http.MethodGet, path, ""), 404, "not_found")
	}
	w.wantProblem(w.do(http.MethodGet, "/", "", "Host", "oven.evil.example"), 403, "denied")
}

func TestASlowSenderDoesNotHoldAConnection(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.read = 100 * time.Millisecond })
	for _, text := range []string{"", "GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "PUT /api/v1/attributes/oven.ramp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1"} {
		c := w.raw(text)
		w.wantProblem(w.answer(c), 408, "malformed")
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the connection stays open: %v", err)
		}
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.idle = 50 * time.Millisecond })
	c := w.raw("GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n")
	w.wantOK(w.answer(c))
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want the end of an idle connection", err)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Connections = 3 })
	const request = "GET /api/v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n"
	open := make([]net.Conn, 0, 3+spareConns)
	for range 3 {
		c := w.raw(request)
		w.wantOK(w.answer(c))
		open = append(open, c)
	}
	refused := w.answer(w.raw(request))
	w.wantProblem(refused, 429, "busy")
	if !refused.Close {
		t.Error("a refused connection stays open")
	}
	// Beyond the spare ones there is not even an answer.
	for len(open) < cap(open) {
		open = append(open, w.raw(""))
	}
	c := w.raw("")
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("an answer on a connection too many")
	}
	for _, c := range open[1:] {
		_ = c.Close()
	}
	deadline := time.Now().Add(patience)
	for w.server.listener.count.Load() > 1 && time.Now().Before(deadline) {
		w.Settle()
	}
	if _, err := io.WriteString(open[0], request); err != nil {
		t.Fatal(err)
	}
	w.wantOK(w.answer(open[0]))
	w.wantOK(w.answer(w.raw(request)))
}

func TestOriginsAndHosts(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) {
		c.Origins = []string{"https://lab.example"}
		c.Hosts = []string{"Oven.Lab.Example"}
	})
	const put, get, lab = http.MethodPut, http.MethodGet, "https://lab.example"
	for _, test := range []struct {
		method, origin, host string
		status               int
		allowed              string
	}{
		{put, "", "", 200, ""},
		{put, "http://localhost:1", "localhost:1", 200, ""},
		{put, lab, "", 200, lab},
		{put, "https://evil.example", "", 403, ""},
		{put, "null", "", 403, ""},
		{get, "https://evil.example", "", 200, ""},
		{get, lab, "", 200, lab},
		{get, "", "oven.lab.example:80", 200, ""},
		{get, "", "[::1]:8080", 200, ""},
		{get, "", "oven.localhost", 200, ""},
		{get, "", "evil.example", 403, ""},
		{get, "http://evil.example", "evil.example", 403, ""},
		{http.MethodOptions, lab, "", 204, lab},
		{http.MethodOptions, "https://evil.example", "", 403, ""},
	} {
		headers := []string{"Content-Type", "application/json"}
		if test.origin != "" {
			headers = append(headers, "Origin", test.origin)
		}
		if test.host != "" {
			headers = append(headers, "Host", test.host)
		}
		r := w.do(test.method, "/api/v1/attributes/oven.ramp", "1", headers...)
		if r.StatusCode != test.status || r.Header.Get("Access-Control-Allow-Origin") != test.allowed {
			t.Errorf("%+v: %d, %v", test, r.StatusCode, r.Header)
		}
		if test.status == 403 {
			w.wantProblem(r, 403, "denied")
		}
	}
	// A problem, too, can be read by a page that is allowed to ask.
	if r := w.do(get, "/api/v1/attributes/oven.no", "", "Origin", lab); r.Header.Get("Access-Control-Allow-Origin") != lab || r.StatusCode != http.StatusNotFound {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	for origin, status := range map[string]int{"https://evil.example": 403, lab: 101} {
		c := w.raw("GET /api/v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nOrigin: " + origin + "\r\n\r\n")
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.HasPrefix(line, fmt.Sprintf("HTTP/1.1 %d ", status)) {
			t.Errorf("%s: %q, %v", origin, line, err)
		}
	}
}

func TestAFaultInOneRequestEndsNothingElse(t *testing.T) {
	w := newWorld(t)
	w.server.routed = nil
	w.wantProblem(w.get("/devices"), 500, "internal")
	if !strings.Contains(w.log.String(), "request failed") {
		t.Errorf("the log says %q", w.log)
	}
}

// A reader that stops costs its queue and nothing more, and sees the newest
// sample when it goes on.
func TestAClientThatStopsReadingCostsBoundedMemory(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.batch = time.Minute })
	lines := w.rawSSE("match=oven.wave")
	const rounds, length = 1000, 10000 // 80 MB of samples, 20 MB of text
	before := heap()
	for i := range rounds {
		elements := make([]float64, length)
		elements[0] = float64(i)
		w.Set("oven.wave", gateway.ArrayOf(elements))
	}
	if grown := heap() - before; grown > 40<<20 {
		t.Errorf("a client that does not read costs %d MB", grown>>20)
	}
	lost := 0
	for {
		e, err := readSSE(lines)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.data, `"lost":`) {
			lost++
		}
		if strings.Contains(e.data, fmt.Sprintf(`"value":[%d,`, rounds-1)) {
			break
		}
	}
	if lost == 0 {
		t.Error("nothing was said of what was lost")
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestWEB06AFrozenClientIsGivenUp(t *testing.T) {
	if l := defaultLimits(); l.pong > 30*time.Second || l.batch > 30*time.Second || silence > 30*time.Second {
		t.Error("a dead client is kept for longer than 30 s")
	}
	short := func(_ *Config, l *limits) {
		l.batch, l.keepAlive, l.pong = 50*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond
	}
	t.Run("idle WebSocket", func(t *testing.T) {
		w := newWorld(t, short)
		f := frontendtest.NewFreezer(t, w.server.Addr().String())
		direct := w.url
		w.url = "http://" + f.Address
		p := w.socket("", nil)
		p.say(`{"type":"watch","id":"w","match":"oven.actual"}`)
		p.hear()
		w.url = direct
		f.Freeze()
		w.wantStreams(0)
	})
	for _, kind := range []string{"WebSocket", "SSE"} {
		t.Run("busy "+kind, func(t *testing.T) {
			w := newWorld(t, short, func(_ *Config, l *limits) { l.pong = patience })
			f := frontendtest.NewFreezer(t, w.server.Addr().String())
			direct := w.url
			w.url = "http://" + f.Address
			if kind == "SSE" {
				w.sse("match=oven.wave").until("synced")
			} else {
				p := w.socket("", nil)
				p.say(`{"type":"watch","id":"w","match":"oven.wave"}`)
				p.hear()
			}
			w.url = direct
			f.Freeze()
			elements := make([]float64, 100000)
			for i := 0; len(w.server.streams.status()) > 0; i++ {
				if i == 1000 {
					t.Fatal("the stream goes on")
				}
				w.Set("oven.wave", gateway.ArrayOf(append([]float64{float64(i)}, elements[1:]...)))
			}
		})
	}
}
