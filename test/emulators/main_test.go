// Package emulators_test runs the gateway against instruments that were not
// written for it, with the files in deploy/examples, and compares what it says
// with what the instrument holds, which is asked by another way.
package emulators_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

// soon is how long the gateway may take to notice that an instrument is gone,
// or that it is back.
const soon = 2 * time.Second

// startLimit bounds the start of an emulator, which takes Python some seconds.
const startLimit = rig.Limit

// python returns the interpreter that has the emulators, or skips the test.
func python(t *testing.T) string {
	t.Helper()
	interpreter := os.Getenv("POLYGATE_PYTHON")
	if interpreter == "" {
		const how = "POLYGATE_PYTHON is not set: make prepare installs the emulators and make test sets it"
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return interpreter
}

// A process is an emulator.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// run starts an emulator and waits until it listens at the address. It is
// killed when the test ends.
func run(t *testing.T, address string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(python(t), args...), ended: make(chan struct{})}
	var said output
	p.cmd.Stdout, p.cmd.Stderr = &said, &said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the emulator said:\n%s", said.tail())
		}
	})
	if !rig.Until(startLimit, func() bool { return listens(t, address) }) {
		t.Fatalf("the emulator does not listen at %s", address)
	}
	return p
}

// kill ends the emulator. It may be called twice.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// signal holds the emulator, or lets it go on.
func (p *process) signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

func listens(t *testing.T, address string) bool {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// output keeps what an emulator says, for a test that fails.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.String()
	return text[max(0, len(text)-4000):]
}

// gateway runs the gateway with a file from deploy/examples, with the address
// of the link and what else old and new say replaced.
func gateway(t *testing.T, name string, oldAndNew ...string) *rig.Gateway {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	file := string(data)
	for i := 0; i < len(oldAndNew); i += 2 {
		replaced := strings.ReplaceAll(file, oldAndNew[i], oldAndNew[i+1])
		if replaced == file {
			t.Fatalf("%s does not hold %q", name, oldAndNew[i])
		}
		file = replaced
	}
	const local = "frontends: {rest: {listen: \"127.0.0.1:0\"}}\nops: {listen: \"\"}\n"
	return program.Start(t, strings.TrimSuffix(name, ".yaml"), local+file)
}

// lost waits until an attribute is shown as that of a lost device, with the
// value and time that it had.
func lost(t *testing.T, g *rig.Gateway, name string, before *rig.Reply) {
	t.Helper()
	now := g.Await(name, soon, "that of a lost device", func(r *rig.Reply) bool { return r.Availability.State == "disconnected" })
	if now.Alarm.Severity != "INVALID" || now.Alarm.Status != "COMM" {
		t.Errorf("the alarm of a lost device: %s", now.Body)
	}
	if now.Text() != before.Text() || now.Time.Before(before.Time) {
		t.Errorf("the last value does not stay: %s, it was %s", now.Body, before.Body)
	}
	if put := g.Put(name, "1", ""); put.Status != 503 || put.Code != "not_connected" || put.Stage != "refused" {
		t.Errorf("a put to a lost device: %d %s", put.Status, put.Body)
	}
}

// goodOf waits for a good value.
func goodOf(value string) func(*rig.Reply) bool {
	return func(r *rig.Reply) bool { return r.Good() && r.Text() == value }
}

// put waits until an attribute is good, sets it, and checks that the verdict
// comes with what was asked.
func put(t *testing.T, g *rig.Gateway, name, value string) rig.Reply {
	t.Helper()
	g.AwaitGood(name)
	r := g.Put(name, value, "")
	want := strings.Trim(value, `"`)
	if r.Status != 200 || r.Stage != "verified" || r.Text() != want || r.Setpoint.Text() != want || !r.Good() || !r.Setpoint.Good() {
		t.Errorf("put of %s to %s: %d %s", value, name, r.Status, r.Body)
	}
	return r
}
