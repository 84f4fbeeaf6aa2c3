package graph

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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = frontendtest.Limit

// world is the frontend on a real socket, on a hub whose device the test plays.
type world struct {
	*testing.T
	*frontendtest.Oven
	server *Server
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
	w := &world{T: t, Oven: frontendtest.NewOven(t), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	w.server = newServer(cfg, w.Hub, zerolog.Nop(), l)
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
		if len(all) == n && len(w.Hub.Clients()) == n {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%d streams are open, with %d queues, want %d", len(all), len(w.Hub.Clients()), n)
		}
		w.Settle() // lets others run; a stream's end is seen by the hub
	}
}

func nan() float64 { return math.NaN() }
