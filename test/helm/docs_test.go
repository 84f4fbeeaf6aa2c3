package helm_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented are the commands of a section of docs/deploy.md, block by block.
func documented(t *testing.T, section string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+section+"\n")
	if !found {
		t.Fatalf("there is no section %s", section)
	}
	depth := section[:strings.Index(section, " ")]
	rest, _, _ = strings.Cut(rest, "\n"+depth+" ")
	var blocks []string
	for _, match := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// A user of the document is in its repository and types slower than a script:
// what is forwarded is there when the next command asks.
const user = `
set -eu
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
there() { until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do sleep 0.1; done; }
curl() { there PORT_REST; command curl --silent --show-error --fail "$@"; }
caget() { there PORT_CA; command caget "$@"; }
`

// TestClusterDocumentation types what the document says, with a namespace and
// local ports of its own.
func TestClusterDocumentation(t *testing.T) {
	c := newCluster(t)
	c.needBash()
	dir := t.TempDir()
	charts, err := filepath.Abs("../../helm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(charts, filepath.Join(dir, "helm")); err != nil {
		t.Fatal(err)
	}
	repository, tag, _ := strings.Cut(c.image, ":")
	freeREST, freeCA := freePort(t), freePort(t)
	own := strings.NewReplacer(
		"--namespace instruments", "--namespace "+c.namespace, "PORT_REST", freeREST, "PORT_CA", freeCA,
		"image.repository=polygate", "image.repository="+repository, "image.tag=dev", "image.tag="+tag,
		"service/lab-polygate 8080", "service/lab-polygate "+freeREST+":8080", "127.0.0.1:8080", "127.0.0.1:"+freeREST,
		"service/lab-polygate-ca 5064", "service/lab-polygate-ca "+freeCA+":5064", "127.0.0.1:5064", "127.0.0.1:"+freeCA,
	)
	path := c.path()
	if python := os.Getenv("POLYGATE_PYTHON"); python != "" {
		path += string(os.PathListSeparator) + filepath.Dir(python)
	}
	run := func(script string) (string, error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		command := exec.CommandContext(ctx, "bash", "-c", own.Replace(user+script))
		command.Dir = dir
		command.Env = append(os.Environ(), "PATH="+path)
		// Not a pipe, which what it leaves running would keep open.
		said, err := os.Create(filepath.Join(dir, "said"))
		if err != nil {
			t.Fatal(err)
		}
		defer said.Close()
		command.Stdout, command.Stderr = said, said
		failed := command.Run()
		out, err := os.ReadFile(said.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(out), failed
	}
	must := func(script string, wants ...string) {
		t.Helper()
		out, err := run(script)
		for _, want := range wants {
			if err != nil || !strings.Contains(out, want) {
				t.Fatalf("%s: got %v %s, want %s", script, err, out, want)
			}
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	first := documented(t, "## Kubernetes")[0]
	if _, err := exec.LookPath(filepath.Join(filepath.Dir(os.Getenv("POLYGATE_PYTHON")), "caget")); err != nil {
		t.Log("Channel Access was not tried: there is no caget beside POLYGATE_PYTHON")
		first, _, _ = strings.Cut(first, "EPICS_CA_NAME_SERVERS")
		must(first, `"demo.ramp_rate"`)
	} else {
		must(first, `"demo.ramp_rate"`, "DEMO:RampRate ")
	}

	instruments := documented(t, "### Instruments")
	write("instruments.yaml", "devices:\n  demo: {driver: soft, count: 1}\n")
	must(instruments[0], "has been upgraded")
	write("instruments.yaml", "devices:\n  demo: {driver: seriel}\n")
	if out, err := run(instruments[0]); err == nil || !strings.Contains(out, "there is no driver") {
		t.Errorf("a mistake in the file: got %v %s", err, out)
	}
	must(instruments[1], "there is no driver")

	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		write(name, "test")
	}
	must(documented(t, "### NATS")[0], "secret/nats-user created", "secret/nats-tls created")

	must(documented(t, "### Uninstall")[0], "uninstalled", "lab-polygate-check", "lab-polygate-test-rest")
	if left := c.k("get", "all,configmaps,serviceaccounts,networkpolicies", "--selector", "app.kubernetes.io/instance=lab", "--output", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// The client in the image, by hand.
func TestClusterDocumentedClient(t *testing.T) {
	c := newCluster(t)
	c.mustRelease("install", example("demo"))
	at := c.forwards()
	block := strings.NewReplacer("HOST:8080", at.rest, "HOST:8081", at.graphql, "HOST:50051", at.grpc, "HOST:5064", at.ca).Replace(documented(t, "### Tests")[0])
	program := filepath.Dir(build(t))
	for line := range strings.Lines(block) {
		command := exec.CommandContext(t.Context(), "sh", "-c", line)
		command.Env = append(os.Environ(), "PATH="+program+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := output(command); err != nil || !strings.Contains(strings.ToLower(out), "ramp") {
			t.Errorf("%s: %v %s", line, err, out)
		}
	}
}

// needBash skips a test without the shell that the document is for.
func (c *cluster) needBash() {
	c.t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		c.t.Skip("bash is missing")
	}
}

// freePort is one that nobody listens on now.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
