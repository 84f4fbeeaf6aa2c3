//go:build unix

package rig

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// An Emulator is a running program that plays an instrument.
type Emulator struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// StartEmulator runs the interpreter with arguments and waits until somebody
// listens at the address. The emulator is killed when the test ends.
func StartEmulator(t testing.TB, address string, args ...string) *Emulator {
	t.Helper()
	e := &Emulator{cmd: exec.Command(Python(t), args...), ended: make(chan struct{})} //nolint:noctx // It is killed by Kill.
	var said output
	e.cmd.Stdout, e.cmd.Stderr = &said, &said
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(e.ended)
		_ = e.cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		e.Kill()
		if t.Failed() {
			t.Logf("the emulator said:\n%s", said.tail())
		}
	})
	if !Until(Limit, func() bool { return listens(t, address) }) {
		t.Fatalf("the emulator does not listen at %s", address)
	}
	return e
}

// Signal holds the emulator, or lets it go on.
func (e *Emulator) Signal(signal syscall.Signal) { _ = e.cmd.Process.Signal(signal) }

// Kill ends the emulator. It may be called twice.
func (e *Emulator) Kill() {
	_ = e.cmd.Process.Kill() // it may have ended already
	<-e.ended
}

func listens(t testing.TB, address string) bool {
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

// control passes calls on to lewis's control server.
//
//go:embed control.py
var control string

// A Lewis is an emulator of the Python package lewis, with its control server.
type Lewis struct {
	*Emulator
	Address string // of the instrument

	t       testing.TB
	args    []string
	calls   io.Writer
	replies *bufio.Scanner
}

// StartLewis starts one of lewis's emulators. The protocol is the name of the
// interface that is to listen, and args are those that choose the device.
func StartLewis(t testing.TB, protocol string, args ...string) *Lewis {
	t.Helper()
	l := &Lewis{t: t, Address: FreePort(t)}
	at := FreePort(t)
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		t.Fatal(err)
	}
	l.args = append([]string{"-m", "lewis"}, args...)
	l.args = append(l.args, "-p", protocol+": {bind_address: "+host+", port: "+port+"}", "-r", at, "-o", "none")
	l.Restart()
	bridge := exec.Command(Python(t), "-c", control, at) //nolint:noctx // It ends with its input.
	calls, err := bridge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	replies, err := bridge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	l.calls, l.replies = calls, bufio.NewScanner(replies)
	t.Cleanup(func() {
		_ = calls.Close() // ends it
		_ = bridge.Wait()
	})
	return l
}

// Restart starts the emulator anew after Kill.
func (l *Lewis) Restart() {
	l.t.Helper()
	l.Emulator = StartEmulator(l.t, l.Address, l.args...)
}

// Call calls a method of the control server.
func (l *Lewis) Call(method string, params ...any) json.RawMessage {
	l.t.Helper()
	if params == nil {
		params = []any{}
	}
	request, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.calls.Write(append(request, '\n')); err != nil {
		l.t.Fatal(err)
	}
	if !l.replies.Scan() {
		l.t.Fatalf("no reply to %s", method)
	}
	var reply struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(l.replies.Bytes(), &reply); err != nil || reply.Error != nil {
		l.t.Fatalf("%s: %v %s", method, err, l.replies.Bytes())
	}
	return reply.Result
}

// Holds returns what a property of the emulated device is.
func (l *Lewis) Holds(property string) Sample {
	l.t.Helper()
	return Sample{Value: l.Call("device." + property + ":get")}
}

// Number is Holds for a number.
func (l *Lewis) Number(property string) float64 {
	l.t.Helper()
	held := l.Holds(property)
	return held.Number()
}

// Change changes a property, as if by the instrument's own buttons.
func (l *Lewis) Change(property string, value any) {
	l.t.Helper()
	l.Call("device."+property+":set", value)
}
