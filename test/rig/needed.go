//go:build unix

package rig

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Needed returns the path in an environment variable that make test sets. It
// skips the test if there is none.
func Needed(t testing.TB, variable string) string {
	t.Helper()
	path := os.Getenv(variable) //nolint:forbidigo // make tells tests in this way what there is.
	if path == "" {
		Lacking(t, variable+" is not set: make prepare looks for what tests need, installs it where it can, and make test sets it")
	}
	return path
}

// Python returns the interpreter that has the emulators and clients, or skips
// the test.
func Python(t testing.TB) string {
	t.Helper()
	return Needed(t, "POLYGATE_PYTHON")
}

// Tool builds a program at the version that tools/<name>/go.mod has, and
// returns its path. It skips the test if that cannot be.
func Tool(t testing.TB, root, name string) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile=tools/"+name+"/go.mod", name)
	build.Dir = root
	var why strings.Builder
	build.Stderr = &why
	path, err := build.Output()
	if err != nil {
		Lacking(t, name+" cannot be built: "+err.Error()+"\n"+why.String())
	}
	return strings.TrimSpace(string(path))
}

// Lacking skips a test without which something goes, or fails it where nothing
// may be missing.
func Lacking(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("POLYGATE_REQUIRE") == "1" { //nolint:forbidigo // As above.
		t.Fatal(what)
	}
	t.Skip(what)
}
