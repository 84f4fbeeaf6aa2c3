//go:build unix

package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program is the path of the built gateway. Main sets it before any test runs.
type Program struct{ path string }

// Path returns where it is, for tests that start it in a way of their own.
func (p *Program) Path() string { return p.path }

// Main builds the gateway with the race detector into a folder of its own, runs
// the tests and removes it again. It returns the exit code for os.Exit.
func Main(m *testing.M, program *Program) int {
	folder, err := os.MkdirTemp("", "gateway")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program.path = filepath.Join(folder, "gateway")
	build := exec.Command("go", "build", "-race", "-o", program.path, "github.com/polygate/gateway/cmd/gateway") //nolint:noctx // The tests cannot begin before it has ended.
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the gateway: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}
