package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// EPICS's own client finds everything over TCP alone, whatever the outside port is.
func TestChannelAccessThroughAMappedPort(t *testing.T) {
	t.Parallel()
	python := os.Getenv("POLYGATE_PYTHON")
	if python == "" {
		const how = "POLYGATE_PYTHON is not set: make prepare installs EPICS's clients and make e2e sets it"
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	w := newWorld(t)
	w.instrument("instrument")
	gateway := w.gateway("gateway", allFrontends+inst, w.publish("5064/tcp"))
	port, err := gateway.MappedPort(t.Context(), "5064/tcp")
	if err != nil {
		t.Fatal(err)
	}
	const script = `
import asyncio, aioca

async def main():
    first = await aioca.caget("INST:Held_RBV", timeout=30, format=aioca.FORMAT_TIME)
    print("read", int(first), first.severity)
    await aioca.caput("INST:Held", 42, wait=True, timeout=30)
    seen = asyncio.Queue()
    monitor = aioca.camonitor("INST:Held_RBV", seen.put)
    while int(await asyncio.wait_for(seen.get(), 30)) != 42:
        pass
    monitor.close()
    print("seen 42")

asyncio.run(main())
`
	run := exec.CommandContext(t.Context(), python, "-c", script)
	run.Env = append(os.Environ(),
		fmt.Sprintf("EPICS_CA_NAME_SERVERS=127.0.0.1:%d", port.Num()),
		"EPICS_CA_ADDR_LIST=127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST=NO")
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{"read 0 0", "seen 42"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("want %q in:\n%s", want, output)
		}
	}
}
