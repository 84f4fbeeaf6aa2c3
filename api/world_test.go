package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"))
}

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// world is the frontend on a real socket, on a hub whose device the test plays.
type world struct {
	testing.TB
	server *Server
	hub    *hub.Hub
	bus    *hubtest.Bus
	oven   *hubtest.Device
	url    string
	client *http.Client
	log    *bytes.Buffer
	// end stops the frontend and returns what Serve returned.
	end func() error
}

type setting func(*Config, *limits)

func newWorld(t testing.TB, settings ...setting) *world {
	t.Helper()
	cfg, l := DefaultConfig(), defaultLimits()
	cfg.Listen = "127.0.0.1:0"
	for _, set := range settings {
		set(&cfg, &l)
	}
	w := &world{TB: t, bus: hubtest.NewBus(), log: &bytes.Buffer{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	w.hub = hub.New(w.bus, hub.Options{})
	hubDone := run(t, w.hub.Serve)
	w.oven = hubtest.NewDevice(w.bus, "oven", ovenDescriptors()...)
	w.settle()
	w.server = newServer(cfg, w.hub, zerolog.New(w.log), l)
	if err := w.server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + w.server.Addr().String()
	w.end = run(t, w.server.Serve)
	t.Cleanup(func() {
		w.client.CloseIdleConnections()
		if err := w.end(); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := hubDone(); err != nil {
			t.Errorf("hub: %v", err)
		}
	})
	return w
}

// run starts serve and returns a function that stops it and waits. That may be called twice.
func run(t testing.TB, serve func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	return func() error {
		cancel()
		select {
		case err := <-done:
			done <- err
			return err
		case <-time.After(patience):
			t.Error("did not stop")
			return nil
		}
	}
}

func ovenDescriptors() []*gateway.Descriptor {
	rw := gateway.AccessReadWrite
	of := func(path gateway.Path, access gateway.Access, t gateway.Type) *gateway.Descriptor {
		return &gateway.Descriptor{Path: path, Access: access, Type: t}
	}
	states := []gateway.State{{Label: "Off"}, {Label: "On", Raw: "1"}, {Label: "Fault", Severity: gateway.Major}}
	ramp := of("oven.ramp", rw, gateway.Type{
		Kind: gateway.Float64, Units: "K/s", Precision: 3, PrecisionSet: true,
		Control: gateway.Range{Low: gateway.At(-10), High: gateway.At(10)},
	})
	ramp.Description, ramp.Poll = "How fast the oven heats", 200*time.Millisecond
	ramp.Alarm.High = gateway.Level{Limit: gateway.At(8), Severity: gateway.Minor}
	ramp.Annotations = map[string]string{"ca.name": "OVEN:Ramp"}
	move := hubtest.Command("oven.move")
	move.Argument = &gateway.Type{Kind: gateway.Float64, Units: "mm"}
	move.Result = &gateway.Type{Kind: gateway.String}
	return []*gateway.Descriptor{
		of("oven.actual", gateway.AccessRead, gateway.Type{Kind: gateway.Float64}),
		ramp,
		of("oven.free", rw, gateway.Type{Kind: gateway.Float64}),
		of("oven.mode", rw, gateway.Type{Kind: gateway.Enum, States: states}),
		of("oven.count", rw, gateway.Type{Kind: gateway.Int64}),
		of("oven.text", rw, gateway.Type{Kind: gateway.String, MaxLength: 100}),
		of("oven.raw", rw, gateway.Type{Kind: gateway.Bytes}),
		of("oven.wave", rw, gateway.Type{Kind: gateway.Float64, Shape: []int{100000}}),
		of("oven.grid", gateway.AccessRead, gateway.Type{Kind: gateway.Int32, Shape: []int{4, 3}}),
		of("oven.secret", gateway.AccessWrite, gateway.Type{Kind: gateway.Float64}),
		of("oven.flag", rw, gateway.Type{Kind: gateway.Bool}),
		hubtest.Command("oven.cancel"),
		move,
	}
}

// settle waits until the hub has handled everything that was said.
func (w *world) settle() {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.bus.Settle(ctx); err != nil {
		w.Fatal(err)
	}
}

// set makes the device say a new readback and waits until the hub has it.
func (w *world) set(path gateway.Path, v gateway.Value) {
	w.Helper()
	w.oven.Set(path, v)
	w.settle()
}

// reply is an answer, read to its end.
type reply struct {
	*http.Response
	text string
}

func (w *world) do(method, path, body string, headers ...string) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
	return w.read(response)
}

func (w *world) read(response *http.Response) reply {
	w.Helper()
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatalf("reading the answer: %v", err)
	}
	return reply{response, string(data)}
}

func (w *world) get(path string) reply {
	w.Helper()
	return w.do(http.MethodGet, "/api/v1"+path, "")
}

func (w *world) put(path, body string) reply {
	w.Helper()
	return w.do(http.MethodPut, "/api/v1/attributes/"+path, body, "Content-Type", "application/json")
}

// member returns what stands at a place such as "setpoint.value" in a JSON answer.
func (w *world) member(text, place string) string {
	w.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		w.Fatalf("not JSON: %v: %s", err, text)
	}
	for name := range strings.SplitSeq(place, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// wantProblem checks that an answer is a complete problem of a status and code.
func (w *world) wantProblem(r reply, status int, code string) {
	w.Helper()
	if r.StatusCode != status || r.Header.Get("Content-Type") != problemType {
		w.Errorf("%s %s: status %d, type %q, want %d: %s", r.Request.Method, r.Request.URL, r.StatusCode, r.Header.Get("Content-Type"), status, r.text)
		return
	}
	if got := w.member(r.text, "code"); got != code {
		w.Errorf("%s %s: code %q, want %q: %s", r.Request.Method, r.Request.URL, got, code, r.text)
	}
	if got := w.member(r.text, "status"); got != fmt.Sprint(status) {
		w.Errorf("the problem says status %s, the head %d", got, status)
	}
	if detail := w.member(r.text, "detail"); len(detail) < 10 {
		w.Errorf("detail says little: %q", detail)
	}
}

func (w *world) wantOK(r reply) reply {
	w.Helper()
	if r.StatusCode != http.StatusOK {
		w.Errorf("%s %s: status %d: %s", r.Request.Method, r.Request.URL, r.StatusCode, r.text)
	}
	return r
}

// wantStreams waits until the frontend has a number of open streams.
func (w *world) wantStreams(n int) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for len(w.server.streams.status()) != n {
		if time.Now().After(deadline) {
			w.Fatalf("%d streams are open, want %d", len(w.server.streams.status()), n)
		}
		w.settle() // lets others run; a stream's end is seen by the hub
	}
}

func (w *world) decode(text string, into any) {
	w.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		w.Fatalf("%v: %s", err, text)
	}
}

func nan() float64 { return math.NaN() }

var noLog = zerolog.Nop()
