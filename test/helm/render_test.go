package helm_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "write what is rendered to testdata")

var examples = []string{"demo", "serial", "site", "split", "standby", "standby-all-in-one"}

func TestLint(t *testing.T) {
	h := newHelm(t)
	for _, name := range examples {
		if out, err := h.run("lint", "--strict", "--kube-version", "1.34", chart, example(name)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestExamplesAreAllTested(t *testing.T) {
	files, err := filepath.Glob(chart + "/examples/*.yaml")
	if err != nil || len(files) != len(examples) {
		t.Errorf("got %d files, want those of %q (%v)", len(files), examples, err)
	}
}

// Golden files are to be read: they are what is sent to a cluster.
func TestManifests(t *testing.T) {
	h := newHelm(t)
	for _, name := range examples {
		t.Run(name, func(t *testing.T) {
			args := []string{example(name)}
			switch name { // as another, but for these
			case "serial":
				args = append(args, "--show-only", "templates/deployment.yaml")
			case "standby-all-in-one":
				args = append(args, "--show-only", "templates/config.yaml", "--show-only", "templates/deployment.yaml")
			case "standby":
				args = append(args, "--show-only", "templates/config.yaml", "--show-only", "templates/deployment.yaml", "--show-only", "templates/nats.yaml")
			}
			rendered := h.with(t).mustRender(args...)
			manifests(t, rendered)
			golden := filepath.Join("testdata", name+".yaml")
			got := tidy(rendered)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got; go test ./test/helm -update writes it):\n%s", golden, diff)
			}
		})
	}
}

// tidy drops what templates leave: empty lines, and the text of the dashboard.
func tidy(rendered string) string {
	rendered, _, _ = strings.Cut(rendered, "\n---\n# Source: polygate/templates/check.yaml") // the hooks come last
	var out strings.Builder
	in := false
	for line := range strings.Lines(rendered) {
		if in && !strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != "" {
			in = false
		}
		if strings.TrimSpace(line) != "" && !in {
			out.WriteString(line)
		}
		if strings.HasPrefix(line, "  polygate.json: |") {
			in = true
		}
	}
	return out.String()
}

// object finds a rendered object.
func object(t *testing.T, rendered, kind, name string) map[string]any {
	t.Helper()
	for _, text := range strings.Split(rendered, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if meta, ok := o["metadata"].(map[string]any); ok && o["kind"] == kind && meta["name"] == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// files are the configuration files in a ConfigMap.
func files(t *testing.T, rendered, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for key, text := range object(t, rendered, "ConfigMap", name)["data"].(map[string]any) {
		found[key] = text.(string)
	}
	return found
}

// What is checked before an upgrade is what the pods get, and the program takes it.
func TestRenderedFilesPassTheCheck(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		values string
		want   map[string]string
	}{
		{"defaults", nil, "", map[string]string{"gateway.yaml": "0 links, 0 devices, 4 frontends"}},
		{"demo with the device for tests", []string{example("demo")}, "", map[string]string{"gateway.yaml": "1 links, 2 devices, 4 frontends"}},
		{"device for tests alone", nil, "test: {softAttribute: true}", map[string]string{"gateway.yaml": "0 links, 1 devices, 4 frontends"}},
		{
			"device for tests at the others' indentation", nil,
			"test: {softAttribute: true}\nconfig: |\n  # A file.\n  devices: # here\n\n      # The first.\n      one: {driver: soft, count: 1}\n      two: {driver: soft, count: 1}\n",
			map[string]string{"gateway.yaml": "0 links, 3 devices, 4 frontends"},
		},
		{"split", []string{example("split"), example("demo")}, "", map[string]string{"drivers.yaml": "1 links, 2 devices, 0 frontends", "frontends.yaml": "0 links, 0 devices, 4 frontends"}},
		{"serial", []string{example("serial")}, "", map[string]string{"gateway.yaml": "1 links, 1 devices, 4 frontends"}},
		{"site", []string{example("site")}, "", map[string]string{"drivers.yaml": "0 links, 0 devices, 0 frontends", "frontends.yaml": "0 links, 0 devices, 4 frontends"}},
		{"standby", []string{example("standby"), example("demo")}, "", map[string]string{"drivers.yaml": "1 links, 2 devices, 0 frontends", "frontends.yaml": "0 links, 0 devices, 4 frontends"}},
		{"standby all in one", []string{example("standby-all-in-one"), example("demo")}, "", map[string]string{"gateway.yaml": "1 links, 2 devices, 4 frontends"}},
		{
			"secrets of NATS", nil, "nats: {mode: external, url: tls://n:4222, user: anna, passwordSecret: {name: a}, tlsSecret: {name: b, clientCertificate: true}}",
			map[string]string{"gateway.yaml": "0 links, 0 devices, 4 frontends"},
		},
		{"settings", nil, "frontends: {rest: {settings: {max_body: 1000000, origins: ['*']}}, ca: {settings: {circuits: 10}, expose: loadBalancer, advertise: '192.0.2.1:5064'}}", map[string]string{"gateway.yaml": "0 links, 0 devices, 4 frontends"}},
	}
	h := newHelm(t)
	check := gateway(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rendered := h.with(t).mustRender(append(test.args, file(t, test.values))...)
			got := files(t, rendered, "lab-polygate")
			if diff := cmp.Diff(files(t, rendered, "lab-polygate-check"), got); diff != "" {
				t.Errorf("the check gets another file (-check +pods):\n%s", diff)
			}
			for name, want := range test.want {
				path := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(path, []byte(got[name]), 0o600); err != nil {
					t.Fatal(err)
				}
				out, err := check(t.Context(), "check", "-c", path)
				if err != nil || !strings.Contains(out, want) {
					t.Errorf("%s: got %s %v, want %s, of:\n%s", name, out, err, want, got[name])
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("got %d files, want %d", len(got), len(test.want))
			}
		})
	}
}

// A state named Off stays a text: the file is passed on as it was written.
func TestTheFileIsPassedOnWordForWord(t *testing.T) {
	const text = "---\ndevices:\n  # {{ not a template }}\n  a: {driver: soft, attributes: {x: {kind: enum, states: [Off, On], access: rw}}}\n"
	path := filepath.Join(t.TempDir(), "instruments.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rendered := newHelm(t).mustRender("--set-file", "config="+path)
	// It comes first, so that a line in a message is that line of the file.
	if got := files(t, rendered, "lab-polygate")["gateway.yaml"]; !strings.HasPrefix(got, text+"ops:") {
		t.Errorf("got %s", got)
	}
}

func TestPodsRollOutWhenTheirFileChanges(t *testing.T) {
	h := newHelm(t)
	checksum := func(name string, args ...string) any {
		spec := object(t, h.mustRender(args...), "Deployment", name)["spec"].(map[string]any)
		return spec["template"].(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)["checksum/config"]
	}
	before := []string{example("split")}
	after := []string{example("split"), file(t, "config: 'devices: {}'")}
	if checksum("lab-polygate-drivers", before...) == checksum("lab-polygate-drivers", after...) {
		t.Error("the pod that owns the instruments is not replaced")
	}
	if checksum("lab-polygate-frontends", before...) != checksum("lab-polygate-frontends", after...) {
		t.Error("pods that serve clients are replaced although nothing of theirs changed")
	}
}

// OPS-07: the new pod could not lock the port while the old one holds it.
func TestOPS07OwnersOfPortsAreNeverTwo(t *testing.T) {
	h := newHelm(t)
	for name, args := range map[string][]string{
		"lab-polygate":         {example("serial")},
		"lab-polygate-drivers": {example("split")},
	} {
		spec := object(t, h.mustRender(args...), "Deployment", name)["spec"].(map[string]any)
		if strategy := spec["strategy"].(map[string]any)["type"]; strategy != "Recreate" || spec["replicas"] != 1 {
			t.Errorf("%s: got %v replicas and %v", name, spec["replicas"], strategy)
		}
	}
}

// Whoever sees the manifests of a release must not see the secrets.
func TestSecretsAreMountedAndNeverRendered(t *testing.T) {
	h := newHelm(t)
	rendered := h.mustRender(file(t, "nats: {mode: external, url: tls://n:4222, user: anna, passwordSecret: {name: a, key: pw}, tlsSecret: {name: b, clientCertificate: true}}"))
	config := files(t, rendered, "lab-polygate")["gateway.yaml"]
	for _, want := range []string{"user: anna", "password_file: /etc/nats/password/pw", "ca: /etc/nats/tls/ca.crt", "cert: /etc/nats/tls/tls.crt", "key: /etc/nats/tls/tls.key"} {
		if !strings.Contains(config, want) {
			t.Errorf("got %s, want %s", config, want)
		}
	}
	for _, want := range []string{"secret: {secretName: a}", "secret: {secretName: b}", "mountPath: /etc/nats/password", "mountPath: /etc/nats/tls"} {
		if !strings.Contains(rendered, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

// Without its NATS nothing that is installed would serve.
func TestTheCheckConnectsToAnExternalNATS(t *testing.T) {
	const secrets = "nats: {mode: external, url: tls://n:4222, user: anna, passwordSecret: {name: a}, tlsSecret: {name: b}}"
	tests := []struct {
		name, values, wantArgs string
		wantVolumes            int
	}{
		{"embedded", "", "[check -c /etc/polygate/gateway.yaml]", 1},
		{"of the chart and not there yet", "nats: {mode: chart}", "[check -c /etc/polygate/gateway.yaml]", 1},
		{"external", secrets, "[check -c /etc/polygate/gateway.yaml --connect]", 3},
	}
	h := newHelm(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := object(t, h.with(t).mustRender(file(t, test.values)), "Job", "lab-polygate-check")["spec"].(map[string]any)
			pod := job["template"].(map[string]any)["spec"].(map[string]any)
			container := pod["containers"].([]any)[0].(map[string]any)
			mounts, volumes := len(container["volumeMounts"].([]any)), len(pod["volumes"].([]any))
			if args := fmt.Sprint(container["args"]); args != test.wantArgs || mounts != test.wantVolumes || volumes != test.wantVolumes {
				t.Errorf("got %s, %d mounts and %d volumes, want %s and %d", args, mounts, volumes, test.wantArgs, test.wantVolumes)
			}
		})
	}
}

// OPS-06: what restarts a pod must not depend on instruments or NATS.
func TestOPS06NothingIsRestartedForALostDevice(t *testing.T) {
	rendered := newHelm(t).mustRender(example("split"))
	for _, name := range []string{"lab-polygate-drivers", "lab-polygate-frontends"} {
		template := object(t, rendered, "Deployment", name)["spec"].(map[string]any)["template"].(map[string]any)
		container := template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		for probe, want := range map[string]string{"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"} {
			if got := container[probe].(map[string]any)["httpGet"].(map[string]any)["path"]; got != want {
				t.Errorf("%s: %s asks %v", name, probe, got)
			}
		}
	}
}

// OPS-01: the address that Channel Access clients are given is a service's, and
// the notes say what they have to set.
func TestOPS01NotesTellClientsWhatToSet(t *testing.T) {
	tests := []struct{ values, want string }{
		{"", "EPICS_CA_NAME_SERVERS=lab-polygate-ca.instruments EPICS_CA_AUTO_ADDR_LIST=NO"},
		{"frontends: {ca: {port: 5070}}", "EPICS_CA_NAME_SERVERS=lab-polygate-ca.instruments EPICS_CA_SERVER_PORT=5070 EPICS_CA_AUTO_ADDR_LIST=NO"},
		{"frontends: {ca: {service: {type: NodePort}}}", "EPICS_CA_NAME_SERVERS=NODE:$(kubectl -n instruments get service lab-polygate-ca"},
		{"frontends: {ca: {expose: loadBalancer}}", "EPICS_CA_ADDR_LIST=ADDRESS"},
		{"frontends: {ca: {expose: hostNetwork}}", "clients there need no settings"},
		{"mode: split\nnats: {mode: chart}", "http://lab-polygate.instruments:8080"},
	}
	// Notes are shown by an install alone, so this copy has them in a ConfigMap.
	dir := filepath.Join(t.TempDir(), "polygate")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	const notes = `{apiVersion: v1, kind: ConfigMap, metadata: {name: notes}, data: {notes: {{ include (print .Template.BasePath "/NOTES.txt") . | toJson }}}}`
	if err := os.WriteFile(filepath.Join(dir, "templates", "notes.yaml"), []byte(notes), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHelm(t)
	h.chart = dir
	for _, test := range tests {
		got := files(t, h.mustRender(file(t, test.values)), "notes")["notes"]
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: got\n%s", test.values, got)
		}
	}
}

// A new pod that waits for the ports of the old one would wait for ever.
func TestARollOutOnTheNodesNetworkFreesThePortsFirst(t *testing.T) {
	const split = "mode: split\nnats: {mode: chart}\n"
	h := newHelm(t)
	for values, want := range map[string]string{split: "<nil>", split + "frontends: {ca: {expose: hostNetwork}}": "map[rollingUpdate:map[maxSurge:0 maxUnavailable:1]]"} {
		spec := object(t, h.mustRender(file(t, values)), "Deployment", "lab-polygate-frontends")["spec"].(map[string]any)
		if got := fmt.Sprint(spec["strategy"]); got != want {
			t.Errorf("%s: got %s, want %s", values, got, want)
		}
	}
}

// Who may be a client is said in values, and helm test is one in any case.
func TestTheTestsAreLetThroughWhereClientsAreNamed(t *testing.T) {
	rendered := newHelm(t).mustRender(file(t, "test: {softAttribute: true}\nfrontends: {ca: {expose: hostNetwork}}\nnetworkPolicy: {from: [{ipBlock: {cidr: 192.0.2.0/24}}]}"))
	spec := object(t, rendered, "NetworkPolicy", "lab-polygate")["spec"].(map[string]any)
	from := fmt.Sprint(spec["ingress"].([]any)[0].(map[string]any)["from"])
	labels := object(t, rendered, "Pod", "lab-polygate-test-ca")["metadata"].(map[string]any)["labels"]
	if want := fmt.Sprintf("[map[podSelector:map[matchLabels:%v]] map[ipBlock:map[cidr:192.0.2.0/24]]]", labels); from != want {
		t.Errorf("got %s, want %s", from, want)
	}
}
