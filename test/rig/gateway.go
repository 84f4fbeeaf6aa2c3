//go:build unix

package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Gateway is a running `gateway run`. It is killed when the test ends.
type Gateway struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	log    log
	ended  chan struct{} // closed when the process has been waited for
	client *http.Client
	base   string // of the REST interface, or empty
}

// Start runs the gateway with a file, and returns when it says that it runs.
// The name is for messages.
func (p *Program) Start(t testing.TB, name, file string) *Gateway {
	t.Helper()
	g := p.Launch(t, name, file)
	g.AwaitLog("is running\"")
	g.base = g.log.where("rest")
	return g
}

// Launch runs the gateway with a file and does not wait for it.
func (p *Program) Launch(t testing.TB, name, file string) *Gateway {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &Gateway{t: t, name: name, ended: make(chan struct{})}
	g.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	g.log.more = make(chan struct{})
	g.cmd = exec.Command(p.path, "run", "-c", path) //nolint:noctx // It is stopped by signals.
	// A program with the race detector would otherwise wait a second at its end.
	g.cmd.Env = append(g.cmd.Environ(), "GORACE=atexit_sleep_ms=0")
	g.cmd.Stdout, g.cmd.Stderr = &g.log, &g.log
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.ended)
		_ = g.cmd.Wait() // Stop looks at the exit code
	}()
	t.Cleanup(g.cleanup)
	return g
}

// cleanup ends the process and looks for data races.
func (g *Gateway) cleanup() {
	g.Kill()
	g.client.CloseIdleConnections()
	if strings.Contains(g.log.String(), "DATA RACE") {
		g.t.Errorf("%s has a data race", g.name)
	}
	if g.t.Failed() {
		g.t.Logf("%s said:\n%s", g.name, &g.log)
	}
}

// Signal sends a signal to the process.
func (g *Gateway) Signal(signal syscall.Signal) {
	g.t.Helper()
	if err := g.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		g.t.Fatalf("%s: %v", g.name, err)
	}
}

// Hold stops the process as it stands, and returns when it does nothing any
// more; Continue lets it go on.
func (g *Gateway) Hold() {
	g.t.Helper()
	g.Signal(syscall.SIGSTOP)
	if !Until(Limit, g.held) {
		g.t.Fatalf("%s cannot be held", g.name)
	}
}

// Continue ends Hold.
func (g *Gateway) Continue() {
	g.t.Helper()
	g.Signal(syscall.SIGCONT)
}

// held reports whether all threads are stopped. A signal takes its time to reach
// them. Where there is no /proc it is only hoped.
func (g *Gateway) held() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", g.cmd.Process.Pid))
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		_, state, found := strings.Cut(string(stat), ") ") // behind the name, see proc(5)
		if err == nil && found && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Kill ends the process at once, as a crash would. It may be called twice.
func (g *Gateway) Kill() {
	_ = g.cmd.Process.Kill() // it may have ended already
	<-g.ended
}

// Stop tells the process to stop and checks that it ends well.
func (g *Gateway) Stop() {
	g.t.Helper()
	g.Signal(syscall.SIGTERM)
	select {
	case <-g.ended:
	case <-time.After(Limit):
		g.t.Fatalf("%s does not stop", g.name)
	}
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		g.t.Errorf("%s ended with %d", g.name, code)
	}
}

// ExitCode waits until the program has ended by itself.
func (g *Gateway) ExitCode() int {
	g.t.Helper()
	select {
	case <-g.ended:
	case <-time.After(Limit):
		g.t.Fatalf("%s does not end", g.name)
	}
	return g.cmd.ProcessState.ExitCode()
}

// AwaitLog waits until the program has logged a text.
func (g *Gateway) AwaitLog(text string) {
	g.t.Helper()
	limit := time.After(Limit)
	for {
		said, more := g.log.snapshot()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-more:
		case <-g.ended:
			g.t.Fatalf("%s ended before it said %q", g.name, text)
		case <-limit:
			g.t.Fatalf("%s does not say %q", g.name, text)
		}
	}
}

// Said reports whether the program has logged a text.
func (g *Gateway) Said(text string) bool { return strings.Contains(g.log.String(), text) }

// A log keeps what a program writes.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed and replaced at each write
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(p)
}

func (l *log) snapshot() (text string, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.more
}

func (l *log) String() string {
	text, _ := l.snapshot()
	return text
}

// where finds the address at which a component serves, or returns "".
func (l *log) where(component string) string {
	for line := range strings.Lines(l.String()) {
		var entry struct{ Component, Message string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Component == component {
			if where, ok := strings.CutPrefix(entry.Message, "serving at "); ok {
				return where
			}
		}
	}
	return ""
}
