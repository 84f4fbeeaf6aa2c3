// Package helm_test checks the Helm chart: what it refuses, what it renders, and
// on a cluster, if one is given, that it runs.
package helm_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const chart = "../../helm/polygate"

// tool returns the path of a tool of tools/helm, which go builds when it is
// first used. An environment variable names another one.
func tool(t *testing.T, name, variable string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	command := exec.CommandContext(t.Context(), "go", "tool", "-n", name)
	command.Dir = "../../tools/helm"
	path, err := output(command)
	switch {
	case err == nil:
		return strings.TrimSpace(path)
	case os.Getenv("POLYGATE_REQUIRE") == "1":
		t.Fatalf("%s is missing: %v", name, err)
	default:
		t.Skipf("%s is missing and cannot be built: %v", name, err)
	}
	return ""
}

// output runs a command and adds what it complained about to the error.
func output(command *exec.Cmd) (string, error) {
	out, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	return string(out), err
}

// A helm runs Helm without a cluster.
type helm struct {
	t           *testing.T
	path, chart string
}

func newHelm(t *testing.T) helm {
	t.Helper()
	return helm{t, tool(t, "helm", "POLYGATE_HELM"), chart}
}

// with is the same for a subtest.
func (h helm) with(t *testing.T) helm { return helm{t, h.path, h.chart} }

func (h helm) run(args ...string) (string, error) {
	h.t.Helper()
	command := exec.CommandContext(h.t.Context(), h.path, args...)
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+h.t.TempDir(), "HELM_CONFIG_HOME="+h.t.TempDir(), "HELM_DATA_HOME="+h.t.TempDir())
	return output(command)
}

// render returns the manifests of a release named "lab".
func (h helm) render(args ...string) (string, error) {
	h.t.Helper()
	return h.run(append([]string{"template", "lab", h.chart, "--namespace", "instruments", "--kube-version", "1.34"}, args...)...)
}

func (h helm) mustRender(args ...string) string {
	h.t.Helper()
	out, err := h.render(args...)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

// example is the flag for one of the chart's example values.
func example(name string) string { return "--values=" + filepath.Join(chart, "examples", name+".yaml") }

// file writes values for a test and returns the flag for them.
func file(t *testing.T, values string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--values=" + path
}

// manifests checks rendered manifests against the types of the Kubernetes API
// and returns a line each: kind, name, and for pods the strictest Pod Security
// Standard that they pass.
func manifests(t *testing.T, rendered string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), tool(t, "manifests", "POLYGATE_MANIFESTS"))
	command.Stdin = strings.NewReader(rendered)
	out, err := output(command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// build makes the program as it is shipped and returns its path.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "github.com/polygate/gateway/cmd/gateway")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the gateway: %v\n%s", err, out)
	}
	return path
}

// gateway runs the program as it is shipped.
func gateway(t *testing.T) func(ctx context.Context, args ...string) (string, error) {
	t.Helper()
	path := build(t)
	return func(ctx context.Context, args ...string) (string, error) {
		return output(exec.CommandContext(ctx, path, args...))
	}
}
