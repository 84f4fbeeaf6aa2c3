//go:build unix

// Package examples runs what a page of docs/clients shows as a reader would type
// it, with clients that others wrote, and compares what it prints.
package examples

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

	"github.com/polygate/gateway/test/rig"
)

// A Page is one with blocks between fences of three backticks:
//
//   - sh is typed into a shell, all in one folder;
//   - text behind such a block is what it prints: each line has to be there
//     somewhere, and "..." stands for anything;
//   - a language and a name (python put.py) is saved under the name;
//   - a language in Runners is run by it; others are for readers only.
type Page struct {
	File string
	// Address is where the page says that the gateway is, and Real where it is.
	Address, Real string
	// Tools are programs that the shell finds under their name. An example that
	// uses one without a path is skipped.
	Tools map[string]string
	// Links are folders that the shell's own folder has under their name.
	Links map[string]string
	// Runners run blocks of a language and return what those print.
	Runners map[string]func(body string) (output string, err error)
}

// Patient returns the demo's file with more time for each answer of the
// instrument than a user would give it, so that a slow machine is no lost device.
func Patient(t *testing.T, file []byte) string {
	t.Helper()
	const usual = "reply_timeout: 500ms"
	if !strings.Contains(string(file), usual) {
		t.Fatalf("the demo's file does not hold %q", usual)
	}
	return strings.Replace(string(file), usual, "reply_timeout: 5s", 1)
}

// A block is a part of a page between fences.
type block struct {
	line int
	kind string // sh, text, or the language
	file string // to be saved under this name, or empty
	body string
	want string // what it prints, if the page says so
}

// Run runs every example of the page as a subtest.
func (p *Page) Run(t *testing.T) {
	t.Helper()
	blocks := p.blocks(t)
	folder, tools := p.folder(t), t.TempDir()
	for name, target := range p.Tools {
		if target == "" {
			continue
		}
		script := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", target)
		if err := os.WriteFile(filepath.Join(tools, name), []byte(script), 0o700); err != nil { //nolint:gosec // It is a program.
			t.Fatal(err)
		}
	}
	runners := map[string]func(string) (string, error){
		"sh": func(body string) (string, error) { return shell(t, folder, tools, body) },
	}
	for kind, run := range p.Runners {
		runners[kind] = run
	}
	examples := 0
	for _, b := range blocks {
		if b.file != "" {
			if err := os.WriteFile(filepath.Join(folder, b.file), []byte(b.body), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if run := runners[b.kind]; run != nil {
			examples++
			t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) {
				for name, target := range p.Tools {
					if target == "" && strings.Contains(b.body, name+" ") {
						rig.Lacking(t, name+" is not there: make prepare installs it on Linux on x86-64")
					}
				}
				b.try(t, run)
			})
		}
	}
	if examples < 10 {
		t.Errorf("%s has only %d examples", p.File, examples)
	}
}

// try runs a block and looks for each line of what the page shows. A block that
// shows an error as grpcurl writes it may fail.
func (b *block) try(t *testing.T, run func(string) (string, error)) {
	output, err := run(b.body)
	if err != nil && !strings.Contains(b.want, "Code: ") {
		t.Error(err)
	}
	for line := range strings.Lines(b.want) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), `\.\.\.`, ".*")
		if !regexp.MustCompile(pattern).MatchString(output) {
			t.Errorf("nothing looks like %q", line)
		}
	}
	if t.Failed() {
		t.Logf("%s\nprints\n%s", b.body, output)
	}
}

// folder makes the shell's own folder: within the module, so that Go finds it,
// and hidden from its "./...".
func (p *Page) folder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp(".", ".page") //nolint:usetesting // A folder of the test's own would be outside the module.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	for name, target := range p.Links {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// blocks reads the page, with the real address in place of the usual one.
func (p *Page) blocks(t *testing.T) []*block {
	t.Helper()
	text, err := os.ReadFile(p.File)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []*block
	inside := false
	number := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), p.Address, p.Real)) {
		number++
		info, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fence && !inside:
			kind, file, _ := strings.Cut(info, " ")
			blocks = append(blocks, &block{line: number, kind: kind, file: file})
			inside = true
		case fence:
			inside = false
		case inside:
			blocks[len(blocks)-1].body += line
		}
	}
	for i, b := range blocks[1:] {
		if b.kind == "text" {
			blocks[i].want = b.body
		}
	}
	return blocks
}

func shell(t *testing.T, folder, tools, commands string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	run.Dir = folder
	run.Env = append(run.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1") //nolint:forbidigo // A reader has one, too.
	run.WaitDelay = time.Second
	output, err := run.CombinedOutput()
	return string(output), err
}
