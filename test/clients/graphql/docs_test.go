//go:build linux

// Package graphql runs the examples of docs/clients/graphql.md as a reader would
// type them, with clients that others wrote, against the built gateway.
package graphql

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

	"github.com/chromedp/chromedp"

	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

const (
	page = "../../../docs/clients/graphql.md"
	// address is where the page says that the gateway is.
	address = "127.0.0.1:8081"
)

// A block is a part of the page between fences.
type block struct {
	line int
	kind string // sh, js, text, or the language of a file
	file string // to be saved under this name, or empty
	body string
}

func TestEveryExampleOfThePage(t *testing.T) {
	tools := t.TempDir()
	link(t, filepath.Join(tools, "python3"), needed(t, "POLYGATE_PYTHON"))
	port := rig.FreePort(t)
	frontends := fmt.Sprintf("frontends: {rest: {listen: \"127.0.0.1:0\"}, graphql: {listen: %q}}\nops: {listen: \"\"}\n", port)
	program.Start(t, "demo", frontends+string(sim.DemoConfig)).AwaitGood("demo.r1.start")
	tab := browser(t, "http://"+port+"/graphql")

	// Within the module, so that Go finds it, and hidden from its "./...".
	folder, err := os.MkdirTemp(".", ".page") //nolint:usetesting // A folder of the test's own would be outside the module.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	blocks := blocksOf(t, port)
	examples := 0
	for i, b := range blocks {
		want := ""
		if i+1 < len(blocks) && blocks[i+1].kind == "text" {
			want = blocks[i+1].body
		}
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(folder, b.file), []byte(b.body), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.kind == "sh":
			examples++
			t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) {
				output, err := shell(t, folder, tools, b.body)
				check(t, output, err, want)
			})
		case b.kind == "js":
			examples++
			t.Run(fmt.Sprint("line ", b.line), func(t *testing.T) {
				output, err := script(tab, b.body)
				check(t, output, err, want)
			})
		}
	}
	if examples < 10 {
		t.Errorf("the page has only %d examples", examples)
	}
}

// check looks for each line of what the page shows, in which "..." stands for anything.
func check(t *testing.T, output string, err error, want string) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(want) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), `\.\.\.`, ".*")
		if !regexp.MustCompile(pattern).MatchString(output) {
			t.Errorf("nothing looks like %q", line)
		}
	}
	if t.Failed() {
		t.Logf("it prints\n%s", output)
	}
}

func shell(t *testing.T, folder, tools, commands string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	run.Dir = folder
	run.Env = append(run.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
	run.WaitDelay = time.Second
	output, err := run.CombinedOutput()
	return string(output), err
}

// script runs JavaScript in a page and returns what it logs.
func script(tab context.Context, body string) (string, error) {
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => {
		const lines = [];
		const console = { log: (...words) => lines.push(words.join(" ")) };
		`+body+`
		return lines.join("\n");
	})()`, chromedp.EvalAwaitPromise))
}

// browser opens a page of the gateway.
func browser(t *testing.T, url string) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(needed(t, "POLYGATE_CHROMIUM")), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("headless", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return ctx
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
	text := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\"\n", target)
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil { //nolint:gosec // It is a program.
		t.Fatal(err)
	}
}

// needed returns the path of a program in the environment. It skips the test if
// there is none, or fails it where nothing may be missing.
func needed(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		missing := variable + " is not set: make prepare installs the clients and make test sets it"
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return path
}
