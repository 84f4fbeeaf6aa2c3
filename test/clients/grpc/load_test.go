//go:build linux

package grpc

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

// TestLoad has ghz send many calls at a time, each of which has to succeed.
func TestLoad(t *testing.T) {
	ghz := rig.Tool(t, root, "ghz")
	address := start(t, "devices: {soft: {driver: soft, count: 30}}\n", "soft.v00029")
	for _, c := range []struct {
		call, request     string
		calls, concurrent int
	}{
		{"Get", `{"paths": ["soft.v00000", "soft.v00029"]}`, 5000, 50},
		{"Get", `{"match": "soft.>"}`, 500, 50},
		{"Describe", `{}`, 1000, 50},
		{"Put", `{"path": "soft.v00000", "text": "{{.RequestNumber}}.5"}`, 1000, 20},
	} {
		t.Run(c.call+" "+c.request, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 4*rig.Limit)
			defer cancel()
			run := exec.CommandContext(ctx, ghz, "--insecure", "--call", "polygate.v1.GatewayService."+c.call, "--data", c.request,
				"--total", fmt.Sprint(c.calls), "--concurrency", fmt.Sprint(c.concurrent), "--connections", "4", "--timeout", "30s",
				"--format", "json", address)
			text, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			var report struct {
				Count                  int
				StatusCodeDistribution map[string]int
				ErrorDistribution      map[string]int
			}
			if err := json.Unmarshal(text, &report); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if report.Count != c.calls || report.StatusCodeDistribution["OK"] != c.calls {
				t.Errorf("of %d calls %d ended: %v %v", c.calls, report.Count, report.StatusCodeDistribution, report.ErrorDistribution)
			}
		})
	}
}
