package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestWEB07StoppingClosesStreamsInOrder(t *testing.T) {
	w := newWorld(t)
	var sockets []*socketPeer
	for range 5 {
		p := w.socket("", nil)
		p.say(`{"type":"watch","id":"w","match":">"}`)
		p.hear()
		sockets = append(sockets, p)
	}
	var events []*sseReader
	for range 3 {
		r := w.sse("match=oven.*")
		r.until("synced")
		events = append(events, r)
	}
	idle := w.raw("")
	ended := make(chan error, 1)
	go func() { ended <- w.end() }()
	for _, p := range sockets {
		_, _, err := p.ws.ReadMessage()
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != websocket.CloseGoingAway {
			t.Errorf("a WebSocket ends with %v, want 1001", err)
		}
	}
	for _, r := range events {
		if _, err := io.ReadAll(r.lines); err != nil {
			t.Errorf("a stream ends with %v, want its end", err)
		}
	}
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection got an answer")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(w.server.streams.status()) != 0 || len(w.Hub.Clients()) != 0 || w.server.listener.count.Load() != 0 {
		t.Error("something is still open")
	}
}

func TestStoppingLetsAPutFinish(t *testing.T) {
	w := newWorld(t)
	waiting := make(chan *gateway.Put, 1)
	w.Device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { waiting <- p })
	answer := make(chan reply, 1)
	go func() { answer <- w.put("oven.ramp", "1") }()
	p := <-waiting
	ended := make(chan error, 1)
	go func() { ended <- w.end() }()
	<-w.server.stopping.Done()
	w.Device.Accept(p)
	w.Device.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	r := <-answer
	w.wantOK(r)
	if !r.Close {
		t.Error("the connection is offered for another request")
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStoppingDoesNotWaitForEver(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) {
		l.drain, l.linger, l.batch = 50*time.Millisecond, 100*time.Millisecond, time.Minute
	})
	waiting := make(chan *gateway.Put, 1)
	w.Device.OnPut(func(_ *hubtest.Device, p *gateway.Put) { waiting <- p })
	answer := make(chan reply, 1)
	go func() { answer <- w.do(http.MethodPost, "/api/v1/commands/oven.cancel", "") }()
	<-waiting
	w.raw("PUT /api/v1/attributes/oven.ramp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n1")
	deaf := w.raw("GET /api/v1/stream?match=oven.wave HTTP/1.1\r\nHost: localhost\r\n\r\n")
	w.wantStreams(1)
	for i := range 100 { // more than the sockets hold
		w.Set("oven.wave", gateway.ArrayOf(append([]float64{float64(i)}, make([]float64, 99999)...)))
	}
	if err := w.end(); err != nil {
		t.Error(err)
	}
	w.wantProblem(<-answer, http.StatusGatewayTimeout, "unknown_outcome")
	_ = deaf.Close()
}

func TestATakenPortIsNamed(t *testing.T) {
	w := newWorld(t)
	cfg := DefaultConfig()
	cfg.Listen = w.server.Addr().String()
	err := New(cfg, w.Hub, w.server.log).Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), cfg.Listen) || !strings.Contains(err.Error(), "frontends.rest.listen") {
		t.Errorf("got %v", err)
	}
}

func TestAListenerThatFailsEndsServe(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("broken")
	s := New(DefaultConfig(), w.Hub, noLog)
	s.listener.Listener = &scriptedListener{Listener: w.server.listener.Listener, script: []error{broken}}
	if data, err := json.Marshal(s.Status()); err != nil || !strings.Contains(string(data), `"connections":0`) {
		t.Errorf("status %s, %v", data, err)
	}
	if err := s.Serve(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Serve ended with %v", err)
	}
}

func TestStoppingBeforeTheFirstConnection(t *testing.T) {
	w := newWorld(t)
	if err := w.end(); err != nil {
		t.Error(err)
	}
}
