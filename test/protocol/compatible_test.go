//go:build unix

// Package protocol checks the check of the .proto files: that what would break
// an old client is found, and that what would not is allowed.
package protocol

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

const root = "../.."

func TestChangesOfTheProtocol(t *testing.T) {
	buf := rig.Tool(t, root, "buf")
	for _, c := range []struct {
		change   string
		file     string
		old, new string
		want     string // what is said; empty if the change is compatible
	}{
		{"nothing", "gateway", "", "", ""},
		{"a new field", "gateway", "  bool urgent = 6;\n", "  bool urgent = 6;\n  string note = 100;\n", ""},
		{"a new call", "gateway", "  rpc Get(", "  rpc Look(GetRequest) returns (GetResponse);\n  rpc Get(", ""},
		{"a new number", "gateway", "bool urgent = 6;", "bool urgent = 100;", `field "6" with name "urgent"`},
		{"a new kind", "gateway", "bool urgent = 6;", "string urgent = 6;", `changed type from "bool" to "string"`},
		{"a field that is gone", "gateway", "  bool urgent = 6;\n", "", `field "6" with name "urgent"`},
		{"a call that is gone", "gateway", "  rpc Get(GetRequest) returns (GetResponse);\n", "", `RPC "Get" on service "GatewayService" was deleted`},
		{"a state's new number", "model", "STAGE_SENT = 4;", "STAGE_SENT = 100;", `value "4" on enum "Stage"`},
		{"a message between processes", "bus", "uint64 term = 3;", "int32 term = 3;", `changed type from "uint64" to "int32"`},
	} {
		t.Run(c.change, func(t *testing.T) {
			module := t.TempDir()
			if err := os.CopyFS(module+"/proto", os.DirFS(root+"/proto")); err != nil {
				t.Fatal(err)
			}
			settings, err := os.ReadFile(root + "/buf.yaml")
			if err != nil {
				t.Fatal(err)
			}
			path := module + "/proto/polygate/v1/" + c.file + ".proto"
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("%s.proto does not hold %q", c.file, c.old)
			}
			changed := strings.Replace(string(text), c.old, c.new, 1)
			for name, data := range map[string]string{path: changed, module + "/buf.yaml": string(settings)} {
				if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			check := exec.CommandContext(t.Context(), buf, "breaking", "--against", filepath.Join("proto", "baseline.binpb"))
			check.Dir = module
			said, err := check.CombinedOutput()
			if c.want == "" && err != nil {
				t.Errorf("it is refused: %v\n%s", err, said)
			}
			if c.want != "" && (err == nil || !strings.Contains(string(said), c.want)) {
				t.Errorf("got %v, want %q\n%s", err, c.want, said)
			}
		})
	}
}
