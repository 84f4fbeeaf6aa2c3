//go:build linux

// Package grpc runs the examples of docs/clients/grpc.md as a reader would type
// them, with clients that others wrote, against the built gateway.
package grpc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

const (
	page = "../../../docs/clients/grpc.md"
	// address is where the page says that the gateway is.
	address = "127.0.0.1:50051"
)

// A block is a part of the page between fences.
type block struct {
	line int
	kind string // sh, text, or the language of a file
	file string // to be saved under this name, or empty
	body string
}

func TestEveryExampleOfThePage(t *testing.T) {
	tools := t.TempDir()
	link(t, filepath.Join(tools, "grpcurl"), grpcurl(t))
	link(t, filepath.Join(tools, "python3"), python(t))
	port := rig.FreePort(t)
	frontends := fmt.Sprintf("frontends: {rest: {listen: \"127.0.0.1:0\"}, grpc: {listen: %q}}\nops: {listen: \"\"}\n", port)
	gateway := program.Start(t, "demo", frontends+string(sim.DemoConfig))
	gateway.AwaitGood("demo.r1.start")

	// Within the module, so that Go finds it, and hidden from its "./...".
	folder, err := os.MkdirTemp(".", ".page") //nolint:usetesting // that of the test is outside the module.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	blocks := blocksOf(t, port)
	examples := 0
	for i, b := range blocks {
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(folder, b.file), []byte(b.body), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.kind == "sh":
			want := ""
			if i+1 < len(blocks) && blocks[i+1].kind == "text" {
				want = blocks[i+1].body
			}
			examples++
			t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) { try(t, folder, tools, b.body, want) })
		}
	}
	if examples < 10 {
		t.Errorf("the page has only %d examples", examples)
	}
}

// try types a block and looks for each line of what the page shows, in which
// "..." stands for anything. A block that shows an error may fail.
func try(t *testing.T, folder, tools, commands, want string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	shell.Dir = folder
	shell.Env = append(shell.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
	shell.WaitDelay = time.Second
	output, err := shell.CombinedOutput()
	if err != nil && !strings.Contains(want, "Code: ") {
		t.Errorf("%v", err)
	}
	for line := range strings.Lines(want) {
		line = strings.TrimSpace(line)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, ".*")
		if !regexp.MustCompile(pattern).Match(output) {
			t.Errorf("nothing looks like %q", line)
		}
	}
	if t.Failed() {
		t.Logf("%s\nprints\n%s", commands, output)
	}
}

// blocksOf reads the page, with the real address in place of the usual one.
func blocksOf(t *testing.T, port string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	inside := false
	number := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), address, port)) {
		number++
		info, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fence && !inside:
			kind, file, _ := strings.Cut(info, " ")
			blocks = append(blocks, block{line: number, kind: kind, file: file})
			inside = true
		case fence:
			inside = false
		case inside:
			blocks[len(blocks)-1].body += line
		}
	}
	return blocks
}

func link(t *testing.T, name, target string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", target)
	if err := os.WriteFile(name, []byte(script), 0o700); err != nil { //nolint:gosec // It is a program.
		t.Fatal(err)
	}
}

// grpcurl builds the client, at the version in tools/grpcurl.
func grpcurl(t *testing.T) string {
	t.Helper()
	build := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile=tools/grpcurl/go.mod", "grpcurl")
	build.Dir = "../../.."
	var why strings.Builder
	build.Stderr = &why
	path, err := build.Output()
	if err != nil {
		lacking(t, fmt.Sprintf("grpcurl cannot be built: %v\n%s", err, &why))
	}
	return strings.TrimSpace(string(path))
}

func python(t *testing.T) string {
	t.Helper()
	interpreter := os.Getenv("POLYGATE_PYTHON")
	if interpreter == "" {
		lacking(t, "POLYGATE_PYTHON is not set: make prepare installs the clients and make test sets it")
	}
	return interpreter
}

// lacking skips the test, or fails it where nothing may be missing.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("POLYGATE_REQUIRE") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}
