//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Servers run on one core and clients, which are this program, on the other.
const (
	serverCore = 0
	clientCore = 1
)

// pinSelf keeps this process on the clients' core.
func pinSelf() error {
	if runtime.NumCPU() < 2 {
		return errors.New("two cores are needed, to keep server and client apart")
	}
	return pin(clientCore)
}

func pin(core int) error {
	var set unix.CPUSet
	set.Set(core)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return fmt.Errorf("pinning to core %d: %w", core, err)
		}
	}
	return nil
}

// execPinned replaces this process by another on the servers' core.
func execPinned(args []string) error {
	if err := pin(serverCore); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

// A server is a process on the servers' core.
type server struct {
	cmd  *exec.Cmd
	pid  int
	logs *bufio.Reader
}

// startServer starts a program pinned, with settings added to its environment. What
// it writes to standard error can be read from logs.
func startServer(settings []string, args ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{"-pinned"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	return &server{cmd: cmd, pid: cmd.Process.Pid, logs: bufio.NewReader(out)}, nil
}

// stop ends the process and waits for it.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	go func() { _, _ = io.Copy(io.Discard, s.logs) }()
	_ = s.cmd.Wait()
}

// A gatewayServer is a gateway with its REST interface.
type gatewayServer struct {
	*server
	base  string            // of REST: http://host:port
	where map[string]string // of each frontend, as it says itself
}

// startGateway runs a gateway binary with a file and waits until it serves.
func startGateway(binary, file string) (*gatewayServer, error) {
	dir, err := os.MkdirTemp("", "polygate-bench")
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		return nil, err
	}
	s, err := startServer(nil, binary, "run", "-c", name)
	if err != nil {
		return nil, err
	}
	g := &gatewayServer{server: s, where: map[string]string{}}
	said := ""
	for {
		line, err := s.logs.ReadString('\n')
		said += line
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("the gateway ended before it served: %s", said)
		}
		var entry struct{ Component, Message string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		if where, ok := strings.CutPrefix(entry.Message, "serving at "); ok {
			g.where[entry.Component] = where
			g.base = g.where[rest]
		}
		if strings.HasSuffix(entry.Message, " is running") {
			go func() { _, _ = io.Copy(io.Discard, s.logs) }()
			return g, nil
		}
	}
}

// waitFor asks until an attribute has a value, with a limit.
func (g *gatewayServer) waitFor(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		var answer struct {
			Time *string `json:"time"`
		}
		if err := getJSON(ctx, g.base+"/api/v1/attributes/"+name, &answer); err != nil && ctx.Err() != nil {
			return fmt.Errorf("%s never got a value: %w", name, err)
		}
		if answer.Time != nil {
			return nil
		}
	}
}

func getJSON(ctx context.Context, url string, v any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(v)
}

// cpuTime is the processor time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	var total uint64
	for _, task := range tasks {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
		if err != nil {
			continue // the thread has ended
		}
		var onCPU uint64
		if _, err := fmt.Sscan(string(data), &onCPU); err != nil {
			return 0, err
		}
		total += onCPU
	}
	return time.Duration(total), nil
}

// voluntarySwitches adds up the voluntary context switches of all threads.
func voluntarySwitches(pid int) (int, error) {
	return sumStatus(fmt.Sprintf("/proc/%d/task", pid), "voluntary_ctxt_switches:")
}

// residentBytes is the resident memory of a process.
func residentBytes(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return statusField(string(data), "VmRSS:", 1024)
}

func sumStatus(dir, field string) (int, error) {
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, task := range tasks {
		data, err := os.ReadFile(filepath.Join(dir, task.Name(), "status"))
		if err != nil {
			continue // the thread has ended
		}
		n, err := statusField(string(data), field, 1)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func statusField(status, field string, unit int) (int, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			return n * unit, err
		}
	}
	return 0, fmt.Errorf("no %s in the process's status", field)
}
