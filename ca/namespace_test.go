package ca

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/polygate/gateway"
)

// inNamespace tells the test's own process in a network namespace from the one
// that started it.
const inNamespace = "POLYGATE_TEST_NAMESPACE"

// TestWithNothingSet runs plain EPICS tools without any EPICS variable. Their
// searches are broadcasts, so this happens in a network namespace of its own.
func TestWithNothingSet(t *testing.T) {
	if os.Getenv(inNamespace) != "" {
		withNothingSet(t)
		return
	}
	epicsTool(t, "caget")
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		lack(t, "a network namespace needs Linux and root")
	}
	for _, program := range []string{"unshare", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			lack(t, err.Error())
		}
	}
	if out, err := exec.Command("unshare", "--net", "true").CombinedOutput(); err != nil {
		lack(t, "no network namespace: "+string(out))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `ip link set lo up && ip link add veth0 type veth peer name veth1 &&
		ip address add 10.99.0.1/24 broadcast 10.99.0.255 dev veth0 && ip link set veth0 up && ip link set veth1 up &&
		ip route add 224.0.0.0/4 dev veth0 &&
		exec "$0" -test.run '^TestWithNothingSet$' -test.v`
	cmd := exec.Command("unshare", "--net", "sh", "-c", script, self)
	cmd.Env = append(withoutEPICS(), inNamespace+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func withoutEPICS() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "EPICS_") {
			env = append(env, v)
		}
	}
	return env
}

func withNothingSet(t *testing.T) {
	start(t, withoutEPICS(), epicsTool(t, "caRepeater"))
	cfg := DefaultConfig()
	cfg.Listen, cfg.Beacons = Endpoints{{Address: local}}, []string{"127.0.0.1"}
	w := newWorldWith(t, cfg, attribute("start", rw, gateway.Type{Kind: gateway.Int32}))
	if got := w.server.Addr().String(); got != "127.0.0.1:5064" {
		t.Errorf("circuits are at %s", got)
	}
	tool := func(line string) string {
		words := strings.Fields(line)
		return run(t, withoutEPICS(), epicsTool(t, words[0]), words[1:]...)
	}
	for _, x := range []struct{ line, want string }{
		{"caput -c X:Start 10", "New : X:Start                        10\n"},
		{"caget X:Start", "X:Start                        10\n"},
		{"caget X:Start_RBV", "X:Start_RBV                    10\n"},
		{"caput X:Start 11", "New : X:Start                        11\n"},
	} {
		if got := tool(x.line); !strings.HasSuffix(got, x.want) {
			t.Errorf("%s prints\n%s", x.line, got)
		}
	}
	// Another host's search is not answered, although it is heard.
	var own ownAddresses
	for _, a := range []string{"10.99.0.1", "127.0.0.1"} {
		at := netip.MustParseAddr(a)
		if !own.has(at) {
			t.Errorf("%s is not known as this host's own", a)
		}
	}
	if own.has(netip.MustParseAddr("10.99.0.2")) {
		t.Error("another host passes for this one")
	}

	// The server comes back on another port while a monitor runs.
	monitor := start(t, withoutEPICS(), epicsTool(t, "camonitor"), "X:Start_RBV")
	monitor.until(t, func(s string) bool { return strings.Contains(s, " 11") })
	w.stop()
	monitor.until(t, func(s string) bool { return strings.Contains(s, "disconnected") })
	taken, err := net.Listen("tcp4", "127.0.0.1:5064")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w.serve(cfg)
	if got := w.server.Addr().String(); got == "127.0.0.1:5064" {
		t.Errorf("circuits are at %s, which is taken", got)
	}
	w.update(change("start", gateway.Of(int32(77))))
	monitor.until(t, func(s string) bool { return strings.Contains(s, " 77") })

	open := fmt.Sprintf("%v", broadcasts())
	if open != "[10.99.0.255]" {
		t.Errorf("broadcast addresses are %s", open)
	}
	w.stop()
	_ = taken.Close()
	w.serve(Config{Listen: Endpoints{{Address: "0.0.0.0"}}, Beacons: []string{"10.99.0.255"}})
	if got := tool("caget X:Start"); !strings.HasSuffix(got, " 11\n") {
		t.Errorf("with all addresses served, caget prints\n%s", got)
	}

	w.stop()
	w.serve(Config{Listen: Endpoints{{Address: "10.99.0.1"}, {Address: "239.10.11.12"}}, Beacons: []string{"10.99.0.255"}})
	env := append(withoutEPICS(), "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_ADDR_LIST=239.10.11.12")
	if got := run(t, env, epicsTool(t, "caget"), "X:Start"); !strings.HasSuffix(got, " 11\n") {
		t.Errorf("by multicast, caget prints\n%s", got)
	}
	if got := run(t, append(env, "EPICS_CA_ADDR_LIST=239.10.11.13"), epicsTool(t, "caget"), "-w", "0.3", "X:Start"); !strings.Contains(got, "not found") {
		t.Errorf("in another group, caget prints\n%s", got)
	}
}
