package main

import (
	"strings"
	"testing"
)

const good = `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - {name: c, image: i, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
`

func TestCheck(t *testing.T) {
	tests := []struct{ name, in, out, err string }{
		{"nothing", "# a comment\n---\n", "", ""},
		{"restricted", good, "Pod a restricted\n", ""},
		{"baseline", strings.Replace(good, "runAsNonRoot: true", "runAsNonRoot: false", 1), "Pod a baseline\n", ""},
		{"privileged", strings.Replace(good, "spec:", "spec:\n  hostNetwork: true", 1), "Pod a privileged\n", ""},
		{"two", good + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", "Pod a restricted\nConfigMap b\n", ""},
		{"misspelt", strings.Replace(good, "image: i", "imege: i", 1), "", `unknown field "spec.containers[0].imege"`},
		{"of another type", strings.Replace(good, "image: i", "image: [i]", 1), "", "cannot unmarshal array"},
		{"no such kind", "apiVersion: v1\nkind: Pot\n", "", `no kind "Pot"`},
		{"monitor", "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\nspec: {endpints: []}\n", "", `unknown field "spec.endpints"`},
		{"route", "apiVersion: gateway.networking.k8s.io/v1\nkind: GRPCRoute\nmetadata: {name: g}\n", "GRPCRoute g\n", ""},
		{"long", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l}\ndata: {a: " + strings.Repeat("x", 1<<20) + "}\n", "ConfigMap l\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			err := check(strings.NewReader(test.in), &out)
			if out.String() != test.out || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %q, %v; want %q, %s", out.String(), err, test.out, test.err)
			}
		})
	}
}
