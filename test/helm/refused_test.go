package helm_test

import (
	"strings"
	"testing"
)

// Values that contradict each other are in TestBadValuesAreRefusedByName, and a
// file that the check refuses is in TestClusterAllInOne.

func TestClusterWithoutNATS(t *testing.T) {
	c := newCluster(t)
	_, err := c.release("install", example("demo"), "--set", "nats.mode=external", "--set", "nats.url=nats://nowhere:4222")
	const want = "bus.url: there is no NATS at nats://nowhere:4222: "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if left := c.k("get", "deployments,services", "--output", "name"); left != "" {
		t.Errorf("all the same there are: %s", left)
	}
}

const portThatIsNotThere = `
serial: {access: hostPath}
config: |
  links:
    line1: {port: /dev/serial/by-id/usb-nobody-has-this-one}
  devices:
    demo:
      driver: serial
      link: line1
      terminator: "\r\n"
      attributes:
        ramp_rate: {kind: float64, read: "R?", reply: "%f", poll: 200ms}
`

// It may be plugged in later, so the pod waits for it and says so.
func TestClusterPortThatIsNotThere(t *testing.T) {
	c := newCluster(t)
	c.k("label", "namespace", c.namespace, "--overwrite", "pod-security.kubernetes.io/enforce=privileged")
	c.mustRelease("install", file(t, portThatIsNotThere))
	ops, _ := c.forward("deployment/lab-polygate", 9464)
	c.await("/dev/serial/by-id/usb-nobody-has-this-one: no such file or directory", func() string { return get("http://" + ops + "/readyz") })
	rest, _ := c.forward("service/lab-polygate", 8080)
	c.await(`"INVALID"`, func() string { return get("http://" + rest + "/api/v1/attributes/demo.ramp_rate") })
	if restarts := c.k("get", "pods", "--output", "jsonpath={.items[*].status.containerStatuses[*].restartCount}"); restarts != "0" {
		t.Errorf("containers were restarted: %s", restarts)
	}
}
