package api

import (
	"bytes"
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

	"github.com/polygate/gateway/internal/frontendtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"))
}

// patience is how long a test waits for what must come.
const patience = frontendtest.Limit

// world is the frontend on a real socket, on a hub whose device the test plays.
type world struct {
	testing.TB
	*frontendtest.Oven
	server *Server
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
	w := &world{TB: t, Oven: frontendtest.NewOven(t), log: &bytes.Buffer{}, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	w.server = newServer(cfg, w.Hub, zerolog.New(w.log), l)
	if err := w.server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + w.server.Addr().String()
	w.end = frontendtest.Serve(t, w.server.Serve)
	t.Cleanup(w.client.CloseIdleConnections) // before the server stops
	return w
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
		w.Settle() // lets others run; a stream's end is seen by the hub
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
