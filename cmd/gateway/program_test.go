package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Clients of the tests keep their connections for a while.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		// fasthttp and nats-server have clocks that run for the life of the process.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"), // sees its end after a nap of 10 s
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/pse.periodic"),
	)
}

// logged is a writer that tells where the frontends listen.
type logged struct {
	mu      sync.Mutex
	text    bytes.Buffer
	running chan struct{}
	once    sync.Once
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if strings.Contains(l.text.String(), " is running\"") {
		l.once.Do(func() { close(l.running) })
	}
	return len(p), nil
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// where finds the address that component logged.
func (l *logged) where(t *testing.T, component string) string {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var entry struct{ Component, Message string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Component == component {
			if where, ok := strings.CutPrefix(entry.Message, "serving at "); ok {
				return where
			}
		}
	}
	t.Fatalf("%s did not say where it serves:\n%s", component, l)
	return ""
}

// A program is a gateway that runs in this process as the command would.
type program struct {
	log  *logged
	stop context.CancelFunc
	code chan int
}

// start runs `gateway run` with a file until the test ends.
func start(t *testing.T, file string) *program {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gateway.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &program{log: &logged{running: make(chan struct{})}, stop: stop, code: make(chan int, 1)}
	go func() { p.code <- execute(ctx, []string{"run", "-c", name}, io.Discard, p.log) }()
	t.Cleanup(func() { p.end(t) })
	select {
	case <-p.log.running:
	case code := <-p.code:
		p.code <- code
		t.Fatalf("the gateway ended with %d:\n%s", code, p.log)
	case <-time.After(20 * time.Second):
		t.Fatalf("the gateway does not start:\n%s", p.log)
	}
	return p
}

// end stops the program and checks that it ends well. It may be called twice.
func (p *program) end(t *testing.T) {
	t.Helper()
	p.stop()
	select {
	case code := <-p.code:
		if code != exitOK {
			t.Errorf("exit code %d:\n%s", code, p.log)
		}
		p.code <- code
	case <-time.After(15 * time.Second):
		t.Errorf("the gateway does not stop:\n%s", p.log)
	}
}

func (p *program) rest(t *testing.T) string { return p.log.where(t, "rest") + "/api/v1" }

// request sends one request and decodes the answer.
func request(t *testing.T, method, url, body string) (status int, answer reading, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(data, &answer) // a problem has other members; the text tells
	return response.StatusCode, answer, string(data)
}

// eventually waits until a value is read, with a limit.
func eventually(t *testing.T, url string, good func(reading) bool) reading {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, answer, text := request(t, http.MethodGet, url, "")
		if good(answer) {
			return answer
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s stays %s", url, text)
		}
	}
}

const local = `
frontends: {rest: {listen: "127.0.0.1:0"}}
ops: {listen: ""}
`

const demoDevice = `
links: {line1: {sim: temperature-controller}}
devices:
  demo:
    driver: serial
    link: line1
    terminator: "\r\n"
    reply_timeout: 500ms
    attributes:
      r1.start: {kind: int32, access: rw, read: "S01?", reply: "%d", write: "S01=%d", poll: 50ms, limits: {low: -40, high: 200}}
      r1.enabled: {kind: enum, states: [Off, On], access: rw, read: "N01?", reply: "%d", write: "N01=%d", poll: 50ms}
      r1.actual: {kind: float64, read: "A01?", reply: "%f", poll: 20ms}
    commands:
      cancel_all: {send: ["N01=0", "N02=0"]}
`

func TestAnInstrumentIsReadAndSetOverHTTP(t *testing.T) {
	p := start(t, local+demoDevice)
	base := p.rest(t)
	start, enabled := base+"/attributes/demo.r1.start", base+"/attributes/demo.r1.enabled"
	eventually(t, start, func(r reading) bool { return r.Time != "" && r.Alarm.Severity == "NO_ALARM" })

	status, answer, text := request(t, http.MethodPut, start, "17")
	if status != http.StatusOK || answer.Stage != "verified" || plain(answer.Value) != "17" || plain(answer.Setpoint.Value) != "17" {
		t.Errorf("put: %d %s", status, text)
	}
	if _, answer, text = request(t, http.MethodGet, start, ""); plain(answer.Value) != "17" || plain(answer.Setpoint.Value) != "17" {
		t.Errorf("the read after the put: %s", text)
	}
	if status, _, text = request(t, http.MethodPut, start, "1000"); status != http.StatusUnprocessableEntity || !strings.Contains(text, `"out_of_range"`) || !strings.Contains(text, `"refused"`) {
		t.Errorf("put beyond the limits: %d %s", status, text)
	}
	if status, _, text = request(t, http.MethodPut, base+"/attributes/demo.r1.actual", "1"); status != http.StatusMethodNotAllowed {
		t.Errorf("put to what can only be read: %d %s", status, text)
	}
	if status, answer, text = request(t, http.MethodPut, enabled, "On"); status != http.StatusOK || plain(answer.Value) != "On" {
		t.Errorf("put of a label: %d %s", status, text)
	}
	before := eventually(t, base+"/attributes/demo.r1.actual", func(r reading) bool { return r.Time != "" })
	eventually(t, base+"/attributes/demo.r1.actual", func(r reading) bool { return plain(r.Value) != plain(before.Value) && r.Seq > before.Seq })

	if status, _, text = request(t, http.MethodPost, base+"/commands/demo.cancel_all", ""); status != http.StatusOK {
		t.Errorf("command: %d %s", status, text)
	}
	eventually(t, enabled, func(r reading) bool { return plain(r.Value) == "Off" })
	p.end(t)
}

func TestATakenPortIsOneClearLineAndExitCode2(t *testing.T) {
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, key := range []string{"frontends: {rest: {listen: %q}}\nops: {listen: ''}", "ops: {listen: %q}\nfrontends: {}", "bus: {listen: %q}\nops: {listen: ''}\nfrontends: {}"} {
		name := filepath.Join(t.TempDir(), "gateway.yaml")
		if err := os.WriteFile(name, fmt.Appendf(nil, key, taken.Addr()), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		code := execute(t.Context(), []string{"run", "--log-level", "error", "-c", name}, &out, &errs)
		line := strings.TrimSuffix(errs.String(), "\n")
		if code != exitUsage || strings.Contains(line, "\n") || !strings.Contains(line, taken.Addr().String()) || !strings.Contains(line, "address already in use") {
			t.Errorf("%s\nexit code %d, want %d: %s", key, code, exitUsage, line)
		}
	}
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"rnu"}, `unknown command "rnu"`},
		{[]string{"run"}, "with -c"},
		{[]string{"run", "--confg", "x"}, "unknown flag: --confg; see gateway run --help"},
		{[]string{"demo", "extra"}, "gateway demo --help"},
		{[]string{"demo", "--listen", "nowhere"}, "--listen"},
		{[]string{"demo", "--counters", "200000"}, "200000 counters"},
		{[]string{"run", "-c", "x", "--log-level", "loud"}, "--log-level"},
		{[]string{"get"}, "gateway get --help"},
	}
	for _, test := range tests {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), test.args, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%q: exit code %d, want %d with %q: %s", test.args, code, exitUsage, test.want, errs.String())
		}
	}
}

func TestClientCommandsTalkToARunningGateway(t *testing.T) {
	p := start(t, local+"devices: {soft: {driver: soft, count: 3}}\n")
	url := p.log.where(t, "rest")
	run := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append(args, "--url", url), &out, &errs)
		return code, out.String() + errs.String()
	}
	eventually(t, p.rest(t)+"/attributes/soft.v00000", func(r reading) bool { return r.Time != "" })
	if code, out := run("put", "soft.v00001", "2.5"); code != exitOK || !strings.Contains(out, "soft.v00001: ") {
		t.Errorf("put: %d %s", code, out)
	}
	if code, out := run("get", "soft.v00001"); code != exitOK || !strings.Contains(out, " 2.5 ") {
		t.Errorf("get: %d %s", code, out)
	}
	if code, out := run("put", "soft.v00002", "-3.5e1", "--latest"); code != exitOK || !strings.Contains(out, " -35 ") {
		t.Errorf("put of a negative number: %d %s", code, out)
	}
	if code, out := run("get", "soft.*"); code != exitOK || strings.Count(out, "(setpoint)") != 3 {
		t.Errorf("get of a pattern: %d %s", code, out)
	}
	if code, out := run("put", "soft.v00001", "warm"); code != exitFailed || !strings.Contains(out, "wrong_type") {
		t.Errorf("put of a wrong type: %d %s", code, out)
	}
	if code, out := run("get", "soft.none"); code != exitFailed || !strings.Contains(out, "not_found") {
		t.Errorf("get of nothing: %d %s", code, out)
	}
}

func TestTheClientReadsOverEveryProtocol(t *testing.T) {
	p := start(t, `
frontends: {rest: {listen: "127.0.0.1:0"}, graphql: {listen: "127.0.0.1:0"}, grpc: {listen: "127.0.0.1:0"}, ca: {listen: "127.0.0.1:0"}}
ops: {listen: ""}
devices: {soft: {driver: soft, count: 3}}
`)
	eventually(t, p.rest(t)+"/attributes/soft.v00000", func(r reading) bool { return r.Time != "" })
	request(t, http.MethodPut, p.rest(t)+"/attributes/soft.v00001", "2.5")
	where := func(frontend string) string {
		address, _, _ := strings.Cut(p.log.where(t, frontend), " ")
		return strings.TrimPrefix(address, "http://")
	}
	for _, test := range []struct{ url, name, want string }{
		{"http://" + where("rest"), "soft.v00001", " 2.5 "},
		{p.log.where(t, "graphql"), "soft.>", "soft.v00001                  2.5 "},
		{"grpc://" + where("grpc"), "soft.v00001", "2.5"},
		{"ca://" + where("ca"), "SOFT:V00001", "2.5"},
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), []string{"get", "--url", test.url, test.name}, &out, &errs)
		if code != exitOK || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: got %d %s%s, want %s", test.url, code, &out, &errs, test.want)
		}
	}
	for _, url := range []string{"http://" + where("rest"), p.log.where(t, "graphql"), "grpc://" + where("grpc")} {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), []string{"get", "--url", url, "soft.none"}, &out, &errs); code != exitFailed || !strings.Contains(errs.String(), `"soft.none"`) {
			t.Errorf("%s: a name that is not there: %d %s%s", url, code, &out, &errs)
		}
	}
	for _, url := range []string{"grpc://127.0.0.1:1", "ca://127.0.0.1:1", "http://127.0.0.1:1/graphql"} {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), []string{"get", "--url", url, "x.y"}, &out, &errs); code != exitFailed || !strings.Contains(errs.String(), "127.0.0.1:1") {
			t.Errorf("%s: got %d %s", url, code, &errs)
		}
	}
}

func TestAnAddressWithoutAProtocolIsRefusedWithAnExample(t *testing.T) {
	for address, args := range map[string][]string{
		"127.0.0.1:8080":      {"get", "a.b", "--url"},
		"localhost:8080":      {"put", "a.b", "1", "--url"},
		"ftp://127.0.0.1":     {"get", ">", "--url"},
		"127.0.0.1:9464":      {"watch", "--bytes", "line1", "--ops"},
		"ca://127.0.0.1:9464": {"watch", "--bytes", "line1", "--ops"},
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append(args, address), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), address) || !strings.Contains(errs.String(), "http://127.0.0.1:8080") {
			t.Errorf("%q: exit code %d: %s", address, code, errs.String())
		}
	}
}
