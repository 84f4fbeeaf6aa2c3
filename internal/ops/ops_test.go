package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway/internal/ops"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// serve runs a server on a free port until the test ends.
func serve(t *testing.T, sources ops.Sources) (url string) {
	t.Helper()
	if sources.Metrics == nil {
		sources.Metrics = ops.NewRegistry(nil)
	}
	server := ops.New(ops.Config{Listen: "127.0.0.1:0"}, sources, zerolog.Nop())
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + server.Addr().String()
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestOPS06LivenessFailsForADeadLoopAlone(t *testing.T) {
	loop := errors.New("no answer")
	url := serve(t, ops.Sources{
		Alive: func(context.Context) error { return loop },
		Ready: func() []ops.Condition { return nil },
	})
	if code, body := get(t, url+"/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "no answer") {
		t.Errorf("dead loop: got %d %s", code, body)
	}
	loop = nil
	if code, _ := get(t, url+"/healthz"); code != http.StatusOK {
		t.Errorf("live loop: got %d", code)
	}
}

func TestReadinessTellsALostDeviceFromALostBus(t *testing.T) {
	tests := []struct {
		name            string
		conditions      []ops.Condition
		code            int
		ready, degraded bool
	}{
		{"all well", []ops.Condition{{Name: "bus", OK: true}, {Name: "device oven", OK: true, Degraded: true}}, 200, true, false},
		{"device away", []ops.Condition{{Name: "bus", OK: true}, {Name: "device oven", Degraded: true}}, 200, true, true},
		{"bus away", []ops.Condition{{Name: "bus"}, {Name: "device oven", OK: true, Degraded: true}}, 503, false, false},
	}
	for _, test := range tests {
		url := serve(t, ops.Sources{Ready: func() []ops.Condition { return test.conditions }})
		code, body := get(t, url+"/readyz")
		var answer struct{ Ready, Degraded bool }
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if code != test.code || answer.Ready != test.ready || answer.Degraded != test.degraded {
			t.Errorf("%s: got %d %s", test.name, code, body)
		}
	}
}

func TestStatusAndMetricsAreReadWhenAsked(t *testing.T) {
	puts := 0.0
	registry := ops.NewRegistry([]ops.Family{{
		Name: "polygate_puts_total", Help: "Puts by stage.", Counter: true, Labels: []string{"stage"},
		Read: func(emit func(float64, ...string)) { emit(puts, "verified") },
	}})
	url := serve(t, ops.Sources{Status: func() map[string]any { return map[string]any{"hub": map[string]int{"attributes": 7}} }, Metrics: registry})
	puts = 3
	if _, body := get(t, url+"/metrics"); !strings.Contains(body, `polygate_puts_total{stage="verified"} 3`) {
		t.Errorf("metrics lack the family:\n%s", body)
	}
	if _, body := get(t, url+"/status"); !strings.Contains(body, `"attributes": 7`) {
		t.Errorf("got status %s", body)
	}
	if code, _ := get(t, url+"/debug/pprof/goroutine?debug=1"); code != http.StatusOK {
		t.Errorf("pprof answers %d", code)
	}
	problems, err := testutil.GatherAndLint(registry, "polygate_puts_total")
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func TestATakenPortNamesTheSetting(t *testing.T) {
	url := serve(t, ops.Sources{})
	second := ops.New(ops.Config{Listen: strings.TrimPrefix(url, "http://")}, ops.Sources{Metrics: ops.NewRegistry(nil)}, zerolog.Nop())
	err := second.Listen(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ops.listen") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got error %v", err)
	}
}

func TestStreamsEndWithTheServer(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	sources := ops.Sources{Metrics: ops.NewRegistry(nil), Streams: map[string]http.HandlerFunc{
		"GET /stream/{name}": func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			_, _ = io.WriteString(w, r.PathValue("name"))
			close(begun)
			<-r.Context().Done()
		},
	}}
	server := ops.New(ops.Config{Listen: "127.0.0.1:0"}, sources, zerolog.Nop())
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- server.Serve(ctx) }()
	body := make(chan string)
	go func() {
		_, text := get(t, "http://"+server.Addr().String()+"/stream/line1")
		body <- text
	}()
	<-begun
	cancel()
	<-ended
	if text := <-body; text != "line1" {
		t.Errorf("got %q", text)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
