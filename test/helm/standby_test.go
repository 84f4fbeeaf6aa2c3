package helm_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

// natsPod is a NATS with JetStream that is no part of a release.
const natsPod = `
apiVersion: v1
kind: Pod
metadata: {name: nats, labels: {app: nats}}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: nats
      image: nats:2.15.2
      args: [--jetstream, --store_dir, /data]
      ports: [{containerPort: 4222}]
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: v1
kind: Service
metadata: {name: nats}
spec: {selector: {app: nats}, ports: [{port: 4222}]}
`

// handover is how long it may take until another pod has the instruments.
const handover = 10 * time.Second

// demoOverTCP are the values of the demo, with its instrument in instrumentPod.
func demoOverTCP(t *testing.T) string {
	t.Helper()
	demo, err := os.ReadFile(filepath.Join(chart, "examples", "demo.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return file(t, strings.Replace(string(demo), "{sim: temperature-controller}", `{tcp: "instrument:4001"}`, 1))
}

// holder is the pod that holds the lease.
func (c *cluster) holder(component string) string {
	c.t.Helper()
	for _, pod := range strings.Fields(c.k("get", "pods", "--selector", "app.kubernetes.io/component="+component, "--output", "jsonpath={.items[*].metadata.name}")) {
		ops, stop := c.forward("pod/"+pod, 9464)
		status := get("http://" + ops + "/status")
		stop()
		if strings.Contains(status, `"held": true`) {
			return pod
		}
	}
	c.t.Fatal("nobody holds the lease")
	return ""
}

// kill ends the process of a pod at once, if it runs on this machine. From
// elsewhere Kubernetes always tells it to stop first.
func (c *cluster) kill(pod string) {
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
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && in && string(name) == "gateway\n" && syscall.Kill(pid, syscall.SIGKILL) == nil {
			return
		}
	}
	c.t.Log("it runs elsewhere and can only be told to stop")
	c.k("delete", "pod", pod, "--wait=false")
}

// onlyOneWasKilled fails if containers were restarted for anything else, such as
// a lost device or standing by.
func (c *cluster) onlyOneWasKilled() {
	c.t.Helper()
	restarts := c.k("get", "pods", "--output", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
	if n := strings.Count(restarts, "1"); n > 1 || strings.Trim(restarts, "01 ") != "" {
		c.t.Errorf("containers were restarted: %s", restarts)
	}
}

var talks = regexp.MustCompile(`(?m)^(\S+) talks$`)

// talkers are the addresses that the instrument heard, one after the other. Two
// that talk at the same time take turns, many times.
func (c *cluster) talkers() []string {
	c.t.Helper()
	var hosts []string
	for _, line := range talks.FindAllStringSubmatch(c.k("logs", "instrument"), -1) {
		host, _, err := net.SplitHostPort(line[1])
		if err != nil {
			c.t.Fatal(err)
		}
		hosts = append(hosts, host)
	}
	return slices.Compact(hosts)
}

// put writes demo.ramp_rate over REST until that is done.
func (c *cluster) put(rest, value string) {
	c.t.Helper()
	c.await(`"stage":"verified"`, func() string {
		request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, "http://"+rest+"/api/v1/attributes/demo.ramp_rate?budget=1s", strings.NewReader(value))
		if err != nil {
			c.t.Fatal(err)
		}
		return answer(http.DefaultClient.Do(request))
	})
}

func TestClusterStandby(t *testing.T) {
	c := newCluster(t)
	c.apply(fmt.Sprintf(instrumentPod, c.image))
	c.mustRelease("install", example("standby"), demoOverTCP(t))
	feeds := c.feeds(c.forwards(), false)
	for _, f := range feeds {
		f.await(t, f.good)
	}
	before := c.pods("frontends")

	t.Log("the pod that owns the instrument is killed")
	owner := c.holder("drivers")
	killed := time.Now()
	c.kill(owner)
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
	c.k("delete", "pod", c.holder("drivers"), "--wait=false")
	for _, f := range feeds {
		f.await(t, f.lost)
		f.await(t, f.good)
	}
	if after := c.pods("frontends"); after != before {
		t.Errorf("the pods that serve clients were %s and are %s", before, after)
	}
	c.onlyOneWasKilled()
	if heard := c.talkers(); len(heard) > 3 {
		t.Errorf("the instrument was handed over twice and heard %q", heard)
	}
}

// Clients that were connected to the pod that is gone find the other by
// themselves, by the address that they have.
func TestClusterStandbyAllInOne(t *testing.T) {
	c := newCluster(t)
	c.apply(fmt.Sprintf(instrumentPod, c.image))
	c.apply(natsPod)
	install := []string{
		example("standby-all-in-one"), demoOverTCP(t), "--set", "nats.url=nats://nats:4222",
		"--set", "service.type=NodePort", "--set", "frontends.ca.service.type=NodePort",
	}
	// The first has all clients, the second stands by.
	notes := c.mustRelease("install", append(install, "--set", "driverPod.replicas=1")...)
	at := c.nodePorts()
	c.cagetOutside(notes, at)
	feeds := c.feeds(at, true)
	c.put(at.rest, "41.5")
	for _, f := range feeds {
		f.await(t, f.value("41.5"))
	}
	owner := c.holder("gateway")
	c.mustRelease("upgrade", install...)
	if c.holder("gateway") != owner {
		t.Fatal("the pod that has the clients does not own the instrument")
	}

	t.Log("it is killed")
	killed := time.Now()
	c.kill(owner)
	c.put(at.rest, "42.5")
	took := time.Since(killed)
	t.Logf("another owns the instrument after %v", took)
	if took > handover {
		t.Errorf("it took longer than %v", handover)
	}
	for _, f := range feeds {
		f.await(t, broken)
		f.await(t, f.value("42.5"))
		t.Logf("%s sees good values after %v", f.name, time.Since(killed))
	}
	c.onlyOneWasKilled()
	if heard := c.talkers(); len(heard) > 2 {
		t.Errorf("the instrument was handed over once and heard %q", heard)
	}
}
