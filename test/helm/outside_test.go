package helm_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/polygate/gateway/proto/polygate/v1"
)

var forwarded = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+)`)

// forward makes a port of a service or pod reachable from here, as a user outside
// of the cluster does, until stop is called or the test ends. It is bound to one
// pod.
func (c *cluster) forward(what string, port int) (address string, stop func()) {
	c.t.Helper()
	command := exec.Command(c.kubectl, "--namespace", c.namespace, "port-forward", what, fmt.Sprintf(":%d", port))
	out, err := command.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	var complaint bytes.Buffer
	command.Stderr = &complaint
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}
	c.t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	match := forwarded.FindStringSubmatch(line)
	if match == nil {
		stop()
		c.t.Fatalf("kubectl port-forward says %q %s (%v)", line, complaint.String(), err)
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // Ends with the command.
	return match[1], stop
}

// forwards make all ports of the release reachable, each bound to one pod.
func (c *cluster) forwards() (at addresses) {
	c.t.Helper()
	at.rest, _ = c.forward("service/lab-polygate", 8080)
	at.graphql, _ = c.forward("service/lab-polygate", 8081)
	at.grpc, _ = c.forward("service/lab-polygate", 50051)
	at.ca, _ = c.forward("service/lab-polygate-ca", 5064)
	return at
}

// nodePorts are the ports of the release's services on a node: not bound to one
// pod.
func (c *cluster) nodePorts() (at addresses) {
	c.t.Helper()
	node := c.must(c.kubectl, "get", "nodes", "--output", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`)
	port := func(service, name string) string {
		c.t.Helper()
		n := c.k("get", "service", service, "--output", `jsonpath={.spec.ports[?(@.name=="`+name+`")].nodePort}`)
		return net.JoinHostPort(node, n)
	}
	at = addresses{
		rest: port("lab-polygate", "rest"), graphql: port("lab-polygate", "graphql"),
		grpc: port("lab-polygate", "grpc"), ca: port("lab-polygate-ca", "ca"),
	}
	// The rules of a new service are made a moment after its pods are ready.
	var err error
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-pause.C {
		var conn net.Conn
		if conn, err = net.DialTimeout("tcp", at.rest, 10*time.Second); err == nil {
			_ = conn.Close()
			return at
		}
	}
	if os.Getenv("POLYGATE_REQUIRE") == "1" {
		c.t.Fatalf("ports of the node: %v", err)
	}
	c.t.Skipf("ports of the node are not reachable from here: %v", err)
	return at
}

// get reads a page, or returns the error as text.
func get(url string) string {
	client := http.Client{Timeout: 10 * time.Second}
	return answer(client.Get(url))
}

// answer is what came, or why nothing did.
func answer(response *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// await asks until an answer has the wanted text.
func (c *cluster) await(want string, ask func() string) {
	c.t.Helper()
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	got := ""
	for end := time.Now().Add(limit); time.Now().Before(end); <-pause.C {
		if got = ask(); strings.Contains(got, want) {
			return
		}
	}
	c.t.Fatalf("got %s, want %s", got, want)
}

// readByAllProtocols reads demo.ramp_rate from outside of the cluster.
func (c *cluster) readByAllProtocols() {
	c.t.Helper()
	rest, stop := c.forward("service/lab-polygate", 8080)
	c.await(`"value":`, func() string { return get("http://" + rest + "/api/v1/attributes/demo.ramp_rate") })
	stop()

	graphql, stop := c.forward("service/lab-polygate", 8081)
	response, err := http.Post("http://"+graphql+"/graphql", "application/json", strings.NewReader(`{"query":"{attribute(name:\"demo.ramp_rate\"){name}}"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !strings.Contains(string(body), `{"data":{"attribute":{"name":"demo.ramp_rate"}}}`) {
		c.t.Errorf("GraphQL: got %s (%v)", body, err)
	}
	stop()

	address, stop := c.forward("service/lab-polygate", 50051)
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	if _, err := pb.NewGatewayServiceClient(conn).Get(ctx, &pb.GetRequest{Paths: []string{"demo.ramp_rate"}}); err != nil {
		c.t.Errorf("gRPC: %v", err)
	}
	_ = conn.Close()
	stop()

	address, stop = c.forward("service/lab-polygate-ca", 5064)
	c.caget("EPICS_CA_NAME_SERVERS=" + address + " EPICS_CA_AUTO_ADDR_LIST=NO")
	stop()
}

// caget reads with EPICS's own tool in an environment as the notes print it:
// words of the shell. It is beside POLYGATE_PYTHON.
func (c *cluster) caget(environment string) {
	c.t.Helper()
	tool := filepath.Join(filepath.Dir(os.Getenv("POLYGATE_PYTHON")), "caget")
	if _, err := os.Stat(tool); err != nil {
		c.t.Log("Channel Access was not tried: there is no caget beside POLYGATE_PYTHON")
		return
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", "export "+environment+`; exec "$@"`, "sh", tool, "-w", "20", "DEMO:RampRate")
	command.Env = append(os.Environ(), "PATH="+c.path())
	if out, err := output(command); err != nil || !strings.HasPrefix(out, "DEMO:RampRate ") {
		c.t.Errorf("caget with %s: %v %s", environment, err, out)
	}
}

// path is a PATH with the tools under the names that documents have.
func (c *cluster) path() string {
	c.t.Helper()
	dir := c.t.TempDir()
	for name, tool := range map[string]string{"kubectl": c.kubectl, "helm": c.helm} {
		found, err := exec.LookPath(tool)
		if err != nil {
			c.t.Fatal(err)
		}
		if err := os.Symlink(found, filepath.Join(dir, name)); err != nil {
			c.t.Fatal(err)
		}
	}
	return dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

var (
	insideNotes = regexp.MustCompile(`(?m)^  CA        export (EPICS_CA_NAME_SERVERS=.*)$`)
	nodeNotes   = regexp.MustCompile(`(?m)^  export (EPICS_CA_NAME_SERVERS=NODE:.*)$`)
)

// noted is what the notes of a release say that clients have to set.
func (c *cluster) noted(notes string, line *regexp.Regexp) string {
	c.t.Helper()
	match := line.FindStringSubmatch(notes)
	if match == nil {
		c.t.Fatalf("the notes do not say what clients need: %s", notes)
	}
	return match[1]
}

// cagetOutside reads by a port of the node, as the notes of the release say.
func (c *cluster) cagetOutside(notes string, at addresses) {
	c.t.Helper()
	node, _, err := net.SplitHostPort(at.ca)
	if err != nil {
		c.t.Fatal(err)
	}
	c.caget(strings.Replace(c.noted(notes, nodeNotes), "NODE", node, 1))
}

// cagetPod has EPICS's own tool for its entry point.
const cagetPod = `
apiVersion: v1
kind: Pod
metadata: {name: caget}
spec:
  restartPolicy: Never
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: caget
      image: %s
      args: [-w, "20", DEMO:RampRate]
      env: [%s]
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

// cagetInside reads from another pod, as the notes of the release say. The image
// is POLYGATE_CAGET_IMAGE.
func (c *cluster) cagetInside(notes string) {
	c.t.Helper()
	environment, image := c.noted(notes, insideNotes), os.Getenv("POLYGATE_CAGET_IMAGE")
	if image == "" {
		c.t.Log("caget in a pod was not tried: POLYGATE_CAGET_IMAGE is not set")
		return
	}
	var env []string
	for _, word := range strings.Fields(environment) {
		name, value, _ := strings.Cut(word, "=")
		env = append(env, fmt.Sprintf("{name: %s, value: %q}", name, value))
	}
	c.apply(fmt.Sprintf(cagetPod, image, strings.Join(env, ", ")))
	c.k("wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s", "pod/caget")
	if said := c.k("logs", "caget"); !strings.HasPrefix(said, "DEMO:RampRate ") {
		c.t.Errorf("caget with %s in a pod: %s", environment, said)
	}
}
