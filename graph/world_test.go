package graph

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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// world is the frontend on a real socket, on a hub whose device the test plays.
type world struct {
	*testing.T
	server *Server
	hub    *hub.Hub
	bus    *hubtest.Bus
	oven   *hubtest.Device
	url    string
	client *http.Client
	// end stops the frontend and returns what Serve returned.
	end func() error
}

type setting func(*Config, *limits)

func newWorld(t *testing.T, settings ...setting) *world {
	t.Helper()
	cfg, l := DefaultConfig(), defaultLimits()
	cfg.Listen = "127.0.0.1:0"
	for _, set := range settings {
		set(&cfg, &l)
	}
	w := &world{T: t, bus: hubtest.NewBus(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	w.hub = hub.New(w.bus, hub.Options{})
	hubDone := run(t, w.hub.Serve)
	w.oven = hubtest.NewDevice(w.bus, "oven", ovenDescriptors()...)
	w.settle()
	w.server = newServer(cfg, w.hub, zerolog.Nop(), l)
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
func run(t *testing.T, serve func(context.Context) error) (stop func() error) {
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
		of("oven.mode", rw, gateway.Type{Kind: gateway.Enum, States: states}),
		of("oven.count", rw, gateway.Type{Kind: gateway.Int64}),
		of("oven.total", rw, gateway.Type{Kind: gateway.Uint64}),
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
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatalf("reading the answer: %v", err)
	}
	return reply{response, string(data)}
}

// ask sends a query or mutation with variables as JSON, or "" for none.
func (w *world) ask(query, variables string, headers ...string) reply {
	w.Helper()
	quoted, err := json.Marshal(query)
	if err != nil {
		w.Fatal(err)
	}
	body := `{"query":` + string(quoted) + `}`
	if variables != "" {
		body = `{"query":` + string(quoted) + `,"variables":` + variables + `}`
	}
	return w.do(http.MethodPost, "/graphql", body, append([]string{"Content-Type", jsonType}, headers...)...)
}

// want asks, and checks the data of a good answer.
func (w *world) want(query, variables, data string) {
	w.Helper()
	r := w.ask(query, variables)
	if got := member(w, r.text, "data"); got != compact(w, data) || strings.Contains(r.text, `"errors"`) {
		w.Errorf("%s %s\n got %s\nwant %s", query, variables, r.text, data)
	}
}

// wantError asks, and checks the code of the first error and other extensions, as name, value pairs.
func (w *world) wantError(query, variables, code string, others ...string) reply {
	w.Helper()
	r := w.ask(query, variables)
	w.wantCode(r, code, others...)
	return r
}

func (w *world) wantCode(r reply, code string, others ...string) {
	w.Helper()
	var answer result
	if err := json.Unmarshal([]byte(r.text), &answer); err != nil || len(answer.Errors) == 0 {
		w.Errorf("no error in %d %q, want %s", r.StatusCode, r.text, code)
		return
	}
	first := answer.Errors[0]
	if len(first.Message) < 10 {
		w.Errorf("the message says little: %q", first.Message)
	}
	for name, want := range pairs(append([]string{"code", code}, others...)) {
		if got := fmt.Sprint(first.Extensions[name]); got != want {
			w.Errorf("%s is %q, want %q: %s", name, got, want, r.text)
		}
	}
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

func compact(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out.String()
}

// member returns a member of a JSON object, or "".
func member(t testing.TB, text, name string) string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if object[name] == nil {
		return ""
	}
	return compact(t, string(object[name]))
}

// wantStreams waits until the frontend has a number of open streams, and the hub as many.
func (w *world) wantStreams(n int) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		all, _ := w.server.streams.status()
		if len(all) == n && len(w.hub.Clients()) == n {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%d streams are open, with %d queues, want %d", len(all), len(w.hub.Clients()), n)
		}
		w.settle() // lets others run; a stream's end is seen by the hub
	}
}

func nan() float64 { return math.NaN() }
