// Package arch holds the rules of the house as tests.
package arch

import (
	"go/build"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/polygate/gateway"

// A rule says what a package of ours may import of ours, and which packages of
// others only it may import.
type rule struct {
	pkg string // below the module; a trailing "/..." means all below it
	may []string
	why string
}

// Arrows point downwards only. A package that is not in the table fails the
// test: whoever adds one says here where it stands.
var rules = []rule{
	{"", nil, "the nouns know nobody, so that everybody can know them"},
	{"proto/...", []string{""}, "converts between the nouns and the wire"},
	{"bus", []string{"", "proto/..."}, "carries the nouns; neither hub nor device"},
	{"bus/embedded", nil, "a broker in this process; knows nothing of what it carries"},
	{"bus/lease", []string{"bus"}, "a record on the bus's connection; knows nothing of what is guarded"},
	{"bus/bustest", []string{"bus", "bus/embedded"}, "a private bus for tests"},
	{"hub", []string{""}, "declares the bus that it needs; never sees NATS or a driver"},
	{"hub/hubtest", []string{""}, "a scripted bus and devices, for tests"},
	{"device", []string{""}, "declares the bus that it needs; never sees NATS, a link or a hub"},
	{"device/link", nil, "bytes only"},
	{"device/link/pty", nil, "bytes only"},
	{"device/link/linktest", []string{"device/link", "device/link/pty"}, "links with faults, for tests"},
	{"device/stream", nil, "the format language, without any input or output"},
	{"device/describe", []string{"", "internal/nearest"}, "how attributes are written in the file, for every driver"},
	{"device/serial", []string{"", "device", "device/describe", "device/link", "device/stream"}, "a driver: speaks over a link"},
	{"device/modbus", []string{"", "device", "device/describe", "device/link", "device/modbus/pdu"}, "a driver: speaks over a link"},
	{"device/modbus/pdu", nil, "the protocol for anyone to import: the standard library alone"},
	{"device/sim", []string{"", "device", "device/describe", "device/link", "device/link/pty"}, "drivers and instruments that are simulated"},
	{"device/devicetest", []string{"", "device", "device/link", "device/link/pty"}, "the suite that every driver passes"},
	{"api/...", []string{"", "internal/fanout", "internal/streamtime", "internal/webguard"}, "a frontend: knows the view alone"},
	{"graph/...", []string{"", "internal/connlimit", "internal/fanout", "internal/webguard"}, "a frontend: knows the view alone"},
	{"rpc", []string{"", "proto/...", "internal/connlimit", "internal/streamtime"}, "a frontend: knows the view alone, and its wire"},
	{"ca", []string{"", "ca/cawire"}, "a frontend: knows the view alone, and its wire"},
	{"ca/cawire/...", nil, "the protocol for anyone to import: the standard library alone"},
	{"internal/webguard", nil, "which web pages may use an interface, for every frontend on HTTP"},
	{"internal/connlimit", []string{"internal/streamtime"}, "a listener with a bound"},
	{"internal/fanout", nil, "writes to many connections from a few goroutines"},
	{"internal/streamtime", nil, "deadlines of connections that are written to often"},
	{"internal/nearest", nil, "what a mistyped word was meant to be"},
	{"internal/config", []string{"internal/nearest"}, "reads a file; what the keys mean is the business of the parts"},
	{"internal/app", nil, "starts and stops parts; never a concrete one"},
	{"internal/ops", nil, "shows what it is given"},
	{"internal/frontendtest", []string{"", "hub", "hub/hubtest", "bus", "bus/embedded", "bus/bustest"}, "the suite that every frontend passes, on the real hub and broker"},
	{"internal/arch", nil, "rules"},
	{"cmd/gateway/...", []string{"*"}, "the one place that knows concrete drivers and frontends"},
	{"bench/...", []string{"*"}, "measures everything"},
	{"e2e/...", []string{"*"}, "runs everything"},
	{"test/rig", nil, "runs the built program from outside, and knows nothing of what is in it"},
	{"test/clients/examples", []string{"test/rig"}, "types the examples of the documentation, from outside"},
}

// Only these packages may import what is named: a dependency that is costly
// or that decides how the program behaves has one home.
var homes = []struct{ imported, home, why string }{
	{"github.com/nats-io/nats-server", "bus/embedded", "importing it alone wakes the process every second"},
	{"github.com/nats-io/nats.go", "bus bench", "one connection, one place for its options"},
	{"github.com/gofiber/fiber", "api", "hub and model must not know HTTP"},
	{"github.com/valyala/fasthttp", "api bench", "hub and model must not know HTTP"},
	{"net/http/pprof", "internal/ops", "profiles are served on the operations listener alone"},
	{"go.yaml.in/yaml/v4", "internal/config bus device/describe device/serial device/sim device/link api ca cmd/gateway", "types of the configuration with several forms, and their reader"},
	{"github.com/spf13/cobra", "cmd/gateway", "the command line"},
	{"github.com/prometheus/client_golang", "internal/ops cmd/gateway", "parts keep plain counters"},
	{"os/exec", "bench test/rig test/clients", "the gateway starts no programs"},
}

func TestArrowsPointDownwardsOnly(t *testing.T) {
	for dir, imports := range packages(t) {
		r, found := ruleOf(dir)
		if !found {
			t.Errorf("package %q is not in the table of who may import whom", name(dir))
			continue
		}
		for _, imported := range imports {
			ours, isOurs := strings.CutPrefix(imported, module)
			switch ours = strings.TrimPrefix(ours, "/"); {
			case isOurs && !allowed(r, dir, ours):
				t.Errorf("%s imports %s: %s", name(dir), name(ours), r.why)
			case !isOurs && strings.Contains(imported, ".") && pure(dir):
				t.Errorf("%s imports %s: it may import the standard library alone", name(dir), imported)
			}
		}
	}
}

func TestCostlyImportsHaveOneHome(t *testing.T) {
	for dir, imports := range packages(t) {
		for _, imported := range imports {
			for _, h := range homes {
				if imported != h.imported && !strings.HasPrefix(imported, h.imported+"/") {
					continue
				}
				if !atHome(dir, h.home) {
					t.Errorf("%s imports %s, whose home is %s: %s", name(dir), imported, h.home, h.why)
				}
			}
		}
	}
}

func atHome(dir, homes string) bool {
	for home := range strings.FieldsSeq(homes) {
		if dir == home || strings.HasPrefix(dir, home+"/") {
			return true
		}
	}
	return false
}

// pure packages are for others to import, or sit below everything.
func pure(dir string) bool {
	return dir == "" || dir == "device/stream" || dir == "device/modbus/pdu" || strings.HasPrefix(dir, "ca/cawire")
}

func name(dir string) string {
	if dir == "" {
		return "gateway"
	}
	return dir
}

func ruleOf(dir string) (rule, bool) {
	for _, r := range rules {
		if matches(r.pkg, dir) {
			return r, true
		}
	}
	return rule{}, false
}

func allowed(r rule, dir, imported string) bool {
	if base, below := strings.CutSuffix(r.pkg, "/..."); below && (imported == base || strings.HasPrefix(imported, base+"/")) {
		return true
	}
	for _, pattern := range r.may {
		if pattern == "*" || matches(pattern, imported) {
			return true
		}
	}
	return false
}

func matches(pattern, dir string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return dir == base || below && strings.HasPrefix(dir, base+"/")
}

// packages returns the imports of every package of the module, tests left out:
// a test may stand on whatever it tests with.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		base := entry.Name()
		if file != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(file, "go.mod")); file != root && err == nil {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		pkg, err := build.Default.ImportDir(file, 0)
		if err != nil {
			return nil //nolint:nilerr // A folder without Go files is no package.
		}
		if len(pkg.GoFiles) > 0 {
			found[strings.TrimPrefix(path.Clean(filepath.ToSlash(relative)), ".")] = pkg.Imports
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 3 {
		t.Fatalf("found only %d packages below %s", len(found), root)
	}
	return found
}
