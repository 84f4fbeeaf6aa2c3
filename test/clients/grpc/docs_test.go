//go:build linux

// Package grpc runs clients that others wrote against the gRPC interface of the
// built gateway: the examples of docs/clients/grpc.md as a reader would type them,
// and load.
package grpc

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

// root is the root of the module.
const root = "../../.."

// start runs a gateway with devices and gRPC, and returns where that is.
func start(t *testing.T, devices, awaited string) (address string) {
	t.Helper()
	address = rig.FreePort(t)
	frontends := fmt.Sprintf("frontends: {rest: {listen: \"127.0.0.1:0\"}, grpc: {listen: %q}}\nops: {listen: \"\"}\n", address)
	program.Start(t, "grpc", frontends+devices).AwaitGood(awaited)
	return address
}

func TestEveryExampleOfThePage(t *testing.T) {
	tools := map[string]string{"grpcurl": rig.Tool(t, root, "grpcurl"), "python3": rig.Python(t)}
	page := examples.Page{
		File:    root + "/docs/clients/grpc.md",
		Address: "127.0.0.1:50051", Real: start(t, examples.Patient(t, sim.DemoConfig), "demo.r1.start"),
		Tools: tools,
	}
	page.Run(t)
}
