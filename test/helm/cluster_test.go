package helm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// apply makes the objects of a manifest.
func (c *cluster) apply(manifest string) {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.k("apply", "--filename", path)
}

// explain shows what a failed test leaves behind.
func (c *cluster) explain() {
	for _, args := range [][]string{{"get", "all"}, {"get", "events", "--sort-by=.lastTimestamp"}, {"logs", "--selector", "app.kubernetes.io/instance=lab", "--prefix", "--tail=30"}} {
		out, _ := c.run(c.kubectl, append([]string{"--namespace", c.namespace}, args...)...)
		c.t.Logf("%s:\n%s", strings.Join(args, " "), out)
	}
}

func TestClusterAllInOne(t *testing.T) {
	c := newCluster(t)
	notes := c.mustRelease("install", example("demo"))
	c.cagetInside(notes)
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
