package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/internal/config"
)

// startProcess runs what a file plans until the test ends.
func startProcess(t *testing.T, text string) *process {
	t.Helper()
	f, err := plan(config.Parse("test", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := build(f, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- p.run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- err
		t.Fatal(err)
	}
	return p
}

// A heard is a writer that tells when a text has been written to it so many times.
type heard struct {
	want  string
	times int
	then  func()

	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := strings.Count(h.text.String(), h.want)
	h.text.Write(p)
	if before < h.times && strings.Count(h.text.String(), h.want) >= h.times {
		h.then()
	}
	return len(p), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

const withOps = `
frontends: {rest: {listen: "127.0.0.1:0"}}
ops: {listen: "127.0.0.1:0"}
`

func TestWatchShowsAndSavesEveryByteOfALink(t *testing.T) {
	p := startProcess(t, withOps+demoDevice)
	ops := "http://" + p.ops.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	saved := filepath.Join(t.TempDir(), "line1.trace")
	out, errs := &heard{want: `out "N01?\r\n"`, times: 2, then: func() {
		if n := linkOf(t, ops)["traces"]; n != 1.0 {
			t.Errorf("the status shows %v traces", n)
		}
		cancel()
	}}, &bytes.Buffer{}
	if code := execute(ctx, []string{"watch", "--bytes", "line1", "--save", saved, "--ops", ops}, out, errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	text, err := os.ReadFile(saved)
	if err != nil || string(text) != out.String() {
		t.Errorf("saved %q, shown %q, %v", text, out, err)
	}
	if !strings.HasPrefix(string(text), "# trace of line1: simulated temperature-controller\n") {
		t.Errorf("a trace does not tell what it is of: %s", text)
	}
	pieces, err := link.ParseTrace(string(text))
	if err != nil {
		t.Fatal(err)
	}
	both := map[link.Direction]string{}
	for _, piece := range pieces {
		both[piece.Direction] += string(piece.Bytes)
	}
	if !strings.Contains(both[link.Out], "N01?\r\n") || !strings.Contains(both[link.In], "\r\n") {
		t.Errorf("got %q", both)
	}
	if n := linkOf(t, ops)["traced_bytes"]; n == 0.0 {
		t.Error("the status shows no traced bytes")
	}
}

// linkOf returns what the status shows of line1.
func linkOf(t *testing.T, ops string) map[string]any {
	response, err := http.Get(ops + "/status") //nolint:noctx // The server ends with the test.
	if err != nil {
		t.Error(err)
		return nil
	}
	defer response.Body.Close()
	var status struct {
		Links map[string]map[string]any `json:"links"`
	}
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		t.Error(err)
	}
	return status.Links["line1"]
}

func TestTraceRequests(t *testing.T) {
	p := startProcess(t, withOps+demoDevice)
	ops := "http://" + p.ops.Addr().String()
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--for", "10ms", "line1"}, exitOK, "# trace of line1"},
		{[]string{"line2"}, exitFailed, "links are: line1"},
		{[]string{"--save", filepath.Join(t.TempDir(), "no", "file"), "line1"}, exitUsage, "--save"},
	}
	for _, test := range tests {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"watch", "--bytes", "--ops", ops}, test.args...), &out, &errs)
		if code != test.code || !strings.Contains(out.String()+errs.String(), test.want) {
			t.Errorf("%q: exit code %d, want %d with %q: %s%s", test.args, code, test.code, test.want, &out, &errs)
		}
	}
	for _, seconds := range []string{"-1", "soon", "0"} {
		response, err := http.Get(ops + "/trace/line1?seconds=" + seconds) //nolint:noctx // It is refused at once.
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("seconds=%s: %d %s", seconds, response.StatusCode, text)
		}
	}
}

func TestTheBusTellsEveryByteOfALink(t *testing.T) {
	p := startProcess(t, withOps+demoDevice+"bus: {listen: \"127.0.0.1:0\"}\n")
	nc, err := nats.Connect(p.bus.broker.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	// trace asks for a trace, and returns it up to where it ends, or ready is true.
	trace := func(request string, ready func(text string) bool) string {
		replies, err := nc.SubscribeSync(nc.NewInbox())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = replies.Unsubscribe() }()
		text := ""
		ask := func() {
			if err := nc.PublishRequest("polygate.v1.trace.line1", replies.Subject, []byte(request)); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		for {
			switch msg, err := replies.NextMsg(20 * time.Second); {
			case errors.Is(err, nats.ErrNoResponders) && text == "":
				ask() // the line has only just begun to serve
			case err != nil:
				t.Fatalf("%v after %q", err, text)
			default:
				text += string(msg.Data)
				if len(msg.Data) == 0 || ready(text) {
					return text
				}
			}
		}
	}
	never := func(string) bool { return false }
	text := trace("", func(text string) bool { return strings.Contains(text, ` out "N01?\r\n"`) })
	if !strings.HasPrefix(text, "# trace of line1: simulated temperature-controller\n") {
		t.Errorf("a trace does not tell what it is of: %s", text)
	}
	if _, err := link.ParseTrace(text); err != nil {
		t.Error(err)
	}
	if text := trace("0.001", never); !strings.HasPrefix(text, "# trace of line1: ") {
		t.Errorf("got %q", text)
	}
	if text := trace("soon", never); text != "# seconds=soon is no time\n" {
		t.Errorf("got %q", text)
	}
	if _, err := nc.Request("polygate.v1.trace.line2", nil, 20*time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("a link that does not exist: %v", err)
	}
}
