package helm_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// limit bounds everything that a cluster is waited for.
const limit = 2 * time.Minute

// A cluster is a namespace of a real one, which is removed when the test ends.
type cluster struct {
	t                    *testing.T
	helm, kubectl, image string
	namespace            string
}

// newCluster needs POLYGATE_KUBECONFIG, which is not KUBECONFIG so that no test
// ever runs on a cluster by accident, and POLYGATE_IMAGE, the name of an image
// that the nodes have or can pull. POLYGATE_KUBECTL is another kubectl.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	kubeconfig, image := os.Getenv("POLYGATE_KUBECONFIG"), os.Getenv("POLYGATE_IMAGE")
	if kubeconfig == "" || image == "" {
		t.Skip("no cluster: POLYGATE_KUBECONFIG and POLYGATE_IMAGE name one and the image to run there")
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	c := &cluster{t: t, helm: tool(t, "helm", "POLYGATE_HELM"), kubectl: os.Getenv("POLYGATE_KUBECTL"), image: image}
	if c.kubectl == "" {
		c.kubectl = "kubectl"
	}
	c.namespace = fmt.Sprintf("polygate-test-%d", time.Now().UnixNano())
	c.must(c.kubectl, "create", "namespace", c.namespace)
	t.Cleanup(func() {
		if t.Failed() {
			c.explain()
		}
		_, _ = c.run(c.kubectl, "delete", "namespace", c.namespace, "--wait=false")
	})
	// The API server itself refuses pods that are not restricted.
	c.must(c.kubectl, "label", "namespace", c.namespace, "pod-security.kubernetes.io/enforce=restricted")
	return c
}

func (c *cluster) run(name string, args ...string) (string, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit) // cleanup runs when the test's context has ended
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (c *cluster) must(name string, args ...string) string {
	c.t.Helper()
	out, err := c.run(name, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *cluster) k(args ...string) string {
	c.t.Helper()
	return c.must(c.kubectl, append([]string{"--namespace", c.namespace}, args...)...)
}

// release runs helm install or upgrade and waits until all is ready.
func (c *cluster) release(verb string, args ...string) (string, error) {
	c.t.Helper()
	repository, tag, _ := strings.Cut(c.image, ":")
	return c.run(c.helm, append([]string{
		verb, "lab", chart, "--namespace", c.namespace, "--wait", "--timeout", "90s",
		"--set", "image.repository=" + repository, "--set-string", "image.tag=" + tag,
	}, args...)...)
}

func (c *cluster) mustRelease(verb string, args ...string) string {
	c.t.Helper()
	out, err := c.release(verb, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// pods are the names of the pods of a component.
func (c *cluster) pods(component string) string {
	c.t.Helper()
	return c.k("get", "pods", "--selector", "app.kubernetes.io/component="+component, "--output", "jsonpath={.items[*].metadata.uid}")
}

// explain shows what a failed test leaves behind.
func (c *cluster) explain() {
	for _, args := range [][]string{{"get", "all"}, {"get", "events", "--sort-by=.lastTimestamp"}, {"logs", "--selector", "app.kubernetes.io/instance=lab", "--prefix", "--tail=30"}} {
		out, _ := c.run(c.kubectl, append([]string{"--namespace", c.namespace}, args...)...)
		c.t.Logf("%s:\n%s", strings.Join(args, " "), out)
	}
}

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
		c.t.Fatalf("kubectl port-forward says %q (%v)", line, err)
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // Ends with the command.
	return match[1], stop
}

// get reads a page, or returns the error as text.
func get(url string) string {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
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

	c.caget()
}

// caget reads by TCP name server, which is all that a client outside needs.
func (c *cluster) caget() {
	c.t.Helper()
	python := os.Getenv("POLYGATE_PYTHON")
	if python == "" {
		c.t.Log("Channel Access was not tried: POLYGATE_PYTHON is not set")
		return
	}
	address, stop := c.forward("service/lab-polygate-ca", 5064)
	defer stop()
	ctx, cancel := context.WithTimeout(c.t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, python, "-c", "import epics; print(epics.caget('DEMO:RampRate', timeout=20))")
	command.Env = append(os.Environ(), "EPICS_CA_NAME_SERVERS="+address, "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_ADDR_LIST=")
	out, err := command.CombinedOutput()
	if err != nil || strings.Contains(string(out), "None") {
		c.t.Errorf("caget: %v %s", err, out)
	}
}

func TestClusterAllInOne(t *testing.T) {
	c := newCluster(t)
	notes := c.mustRelease("install", example("demo"))
	if !strings.Contains(notes, "EPICS_CA_NAME_SERVERS=lab-polygate-ca") {
		t.Errorf("the notes do not say what clients need: %s", notes)
	}
	said := c.must(c.helm, "test", "lab", "--namespace", c.namespace, "--logs")
	// REST; the put; Channel Access, which reads the same.
	for _, want := range []string{"demo.ramp_rate", "polygate-test.value: ", "POLYGATE-TEST:Value", `"path":"demo.ramp_rate"`} {
		if !strings.Contains(said, want) {
			t.Errorf("helm test: got %s, want %s", said, want)
		}
	}
	c.readByAllProtocols()

	t.Log("an upgrade that the check refuses touches nothing")
	before, data := c.pods("gateway"), c.k("get", "configmap", "lab-polygate", "--output", "jsonpath={.data}")
	_, err := c.release("upgrade", file(t, "config: |\n  devices:\n    demo: {driver: seriel}"))
	if err == nil || !strings.Contains(err.Error(), "gateway.yaml:2:18: there is no driver") {
		t.Errorf("got %v, want line and column of the driver", err)
	}
	if c.pods("gateway") != before || c.k("get", "configmap", "lab-polygate", "--output", "jsonpath={.data}") != data {
		t.Error("the running pod or its file was touched")
	}
	c.readByAllProtocols()

	t.Log("a changed file is rolled out, and back")
	c.mustRelease("upgrade", example("demo"), "--set", "test.softAttribute=false")
	if c.pods("gateway") == before {
		t.Error("the pod is still the old one")
	}
	rest, stop := c.forward("service/lab-polygate", 8080)
	c.await("not_found", func() string { return get("http://" + rest + "/api/v1/attributes/polygate-test.value") })
	stop()
	c.must(c.helm, "rollback", "lab", "1", "--namespace", c.namespace, "--wait", "--timeout", "90s")
	rest, stop = c.forward("service/lab-polygate", 8080)
	c.await(`"polygate-test.value"`, func() string { return get("http://" + rest + "/api/v1/attributes/polygate-test.value") })
	stop()

	t.Log("another pod takes the place of one that is gone")
	c.k("delete", "pod", "--selector", "app.kubernetes.io/component=gateway", "--wait=true")
	c.k("rollout", "status", "deployment/lab-polygate", "--timeout=90s")
	c.readByAllProtocols()

	c.must(c.helm, "uninstall", "lab", "--namespace", c.namespace, "--wait", "--timeout", "90s")
	if left := c.k("get", "deployments,services,configmaps,serviceaccounts", "--selector", "app.kubernetes.io/instance=lab,app.kubernetes.io/managed-by=Helm", "--output", "name"); left != "" {
		t.Logf("left behind, as hooks of Helm are: %s", left)
	}
}

// instrumentPod is an instrument that each pod reaches over TCP.
const instrumentPod = `
apiVersion: v1
kind: Pod
metadata: {name: instrument, labels: {app: instrument}}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: instrument
      image: %s
      args: [instrument, --listen, ":4001"]
      ports: [{containerPort: 4001}]
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: instrument}
spec: {selector: {app: instrument}, ports: [{port: 4001}]}
`

func (c *cluster) apply(manifest string) {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.k("apply", "--filename", path)
}

// holder is the pod that holds the lease, or empty.
func (c *cluster) holder() string {
	c.t.Helper()
	for _, pod := range strings.Fields(c.k("get", "pods", "--selector", "app.kubernetes.io/component=drivers", "--output", "jsonpath={.items[*].metadata.name}")) {
		ops, stop := c.forward("pod/"+pod, 9464)
		status := get("http://" + ops + "/status")
		stop()
		if strings.Contains(status, `"held": true`) {
			return pod
		}
	}
	return ""
}

// kill ends the process of a pod at once, if it runs on this machine. From
// elsewhere Kubernetes always tells it to stop first.
func (c *cluster) kill(pod string) (killed bool) {
	c.t.Helper()
	uid := c.k("get", "pod", pod, "--output", "jsonpath={.metadata.uid}")
	cgroups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range cgroups {
		text, _ := os.ReadFile(path) // it may have ended
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		in := strings.Contains(string(text), uid) || strings.Contains(string(text), strings.ReplaceAll(uid, "-", "_"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && in && string(name) == "gateway\n" {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}

// handover is how long it may take until another pod has the instruments.
const handover = 10 * time.Second

func TestClusterStandby(t *testing.T) {
	c := newCluster(t)
	c.apply(fmt.Sprintf(instrumentPod, c.image))
	demo, err := os.ReadFile(filepath.Join(chart, "examples", "demo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	overTCP := strings.Replace(string(demo), "{sim: temperature-controller}", `{tcp: "instrument:4001"}`, 1)
	c.mustRelease("install", example("standby"), file(t, overTCP))
	feeds := c.feeds()
	for _, f := range feeds {
		f.await(t, f.good)
	}
	before := c.pods("frontends")

	t.Log("the pod that owns the instrument is killed")
	owner := c.holder()
	if owner == "" {
		t.Fatal("nobody holds the lease")
	}
	killed := time.Now()
	if !c.kill(owner) {
		t.Log("it runs elsewhere and can only be told to stop")
		c.k("delete", "pod", owner, "--wait=false")
	}
	for _, f := range feeds {
		f.await(t, f.lost)
		f.await(t, f.good)
	}
	took := time.Since(killed)
	t.Logf("another owns it after %v", took)
	if took > handover {
		t.Errorf("it took longer than %v", handover)
	}

	t.Log("and the next is told to stop")
	c.k("rollout", "status", "deployment/lab-polygate-drivers", "--timeout=90s")
	if owner = c.holder(); owner == "" {
		t.Fatal("nobody holds the lease")
	}
	c.k("delete", "pod", owner, "--wait=false")
	for _, f := range feeds {
		f.await(t, f.lost)
		f.await(t, f.good)
	}
	if after := c.pods("frontends"); after != before {
		t.Errorf("the pods that serve clients were %s and are %s", before, after)
	}
	// Neither for the lost device nor for standing by; but one was killed.
	restarts := c.k("get", "pods", "--output", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
	if n := strings.Count(restarts, "1"); n > 1 || strings.Trim(restarts, "01 ") != "" {
		t.Errorf("containers were restarted: %s", restarts)
	}
}

func TestClusterSplit(t *testing.T) {
	c := newCluster(t)
	c.mustRelease("install", example("split"), example("demo"), "--set", "frontendPods.autoscaling.enabled=false")
	c.must(c.helm, "test", "lab", "--namespace", c.namespace)
	c.readByAllProtocols()

	t.Log("clients see the device as lost while its pod is replaced, and are not restarted themselves")
	before := c.pods("frontends")
	rest, _ := c.forward("service/lab-polygate", 8080)
	state := func() string { return get("http://" + rest + "/api/v1/attributes/demo.ramp_rate") }
	c.await(`"state":"connected"`, state)
	c.k("scale", "deployment/lab-polygate-drivers", "--replicas=0")
	c.await(`"state":"driver_lost"`, state)
	c.k("scale", "deployment/lab-polygate-drivers", "--replicas=1")
	c.await(`"state":"connected"`, state)
	if after := c.pods("frontends"); after != before {
		t.Errorf("the pods that serve clients were %s and are %s", before, after)
	}

	t.Log("NATS that goes away restarts nothing")
	c.k("delete", "pod", "--selector", "app.kubernetes.io/name=polygate-nats", "--wait=true")
	c.k("rollout", "status", "deployment/lab-polygate-nats", "--timeout=90s")
	c.await(`"state":"connected"`, state)
	restarts := c.k("get", "pods", "--output", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
	if strings.Trim(restarts, "0 ") != "" || c.pods("frontends") != before {
		t.Errorf("containers were restarted: %s", restarts)
	}
}
