package ca

import (
	"os"
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// TestJavaClient runs the Java client, in which Phoebus and the Archiver Appliance
// have their roots and which shares no code with libca. It searches on loopback
// alone and starts no repeater.
func TestJavaClient(t *testing.T) {
	java, jar := os.Getenv("POLYGATE_JAVA"), os.Getenv("POLYGATE_JCA")
	if java == "" || jar == "" {
		lack(t, "POLYGATE_JAVA and POLYGATE_JCA are not set: make prepare looks for both and make test sets them")
	}
	level := float("level", rw)
	level.Units, level.Precision, level.PrecisionSet = "mbar", 3, true
	level.Control = gateway.Range{Low: gateway.At(-10), High: gateway.At(10)}
	level.Display = gateway.Range{Low: gateway.At(-20), High: gateway.At(20)}
	w := newWorld(t, level,
		attribute("mode", rw, gateway.Type{Kind: gateway.Enum, States: []gateway.State{{Label: "Idle"}, {Label: "Run"}}}),
		attribute("names", rw, gateway.Type{Kind: gateway.String, MaxLength: cawire.StringSize - 1, Shape: []int{3}}),
		attribute("wave", rw, gateway.Type{Kind: gateway.Float64, Shape: []int{3}}))
	out := run(t, clientEnv(), java, "-DCA_DISABLE_REPEATER=true", "-cp", jar, "testdata/JCAClient.java", w.server.SearchAddr().String())
	const want = `level is DBR_DOUBLE, count 1, may read true, may write true
readback may write false
monitor begins with 0.0
put: NORMAL
monitor goes on with 2.5
get: [2.5]
put beyond the limits: PUTFAIL
control: mbar, precision 3, -10.0 to 10.0, display -20.0 to 20.0
states: [Idle, Run]
put: NORMAL
get: [1]
put: NORMAL
get: [one, two, three]
put: NORMAL
get: [1.0, 2.0, 3.0]
`
	if strings.TrimSpace(out) != strings.TrimSpace(want) {
		t.Errorf("it prints\n%s\nwant\n%s", out, want)
	}
}
