package helm_test

import (
	"strings"
	"testing"
)

const serialPort = `
config: |
  links:
    line1: {port: /dev/ttyUSB0}
`

// What is refused is refused before anything is sent to a cluster, with words
// that name the value.
func TestBadValuesAreRefusedByName(t *testing.T) {
	tests := []struct{ name, values, want string }{
		{"misspelt", "frontend: {}", "additional properties 'frontend' not allowed"},
		{"misspelt below", "frontends: {rest: {prot: 80}}", "at '/frontends/rest': additional properties 'prot' not allowed"},
		{"no such mode", "mode: both", "at '/mode': value must be one of 'allInOne', 'split'"},
		{"not a port", "frontends: {grpc: {port: 70000}}", "at '/frontends/grpc/port'"},
		{"config as nested values", "config: {links: {}}", "at '/config': got object, want string"},
		{"port as text", `frontends: {rest: {port: "8080"}}`, "at '/frontends/rest/port': got string, want integer"},
		{"no URL", "nats: {mode: external, url: localhost}", "at '/nats/url'"},
		{"no IPv4 address", "frontends: {ca: {expose: loadBalancer, advertise: gateway.example.org}}", "at '/frontends/ca/advertise'"},
		{"host without a name", "ingress: {enabled: true, hosts: [{path: /}]}", "at '/ingress/hosts/0'"},

		{"two owners of a port", "driverPod: {replicas: 2}", "driverPod.lease: 2 pods (driverPod.replicas) would talk to one instrument"},
		{"lease in one pod", "driverPod: {replicas: 2, lease: true}", "driverPod.lease: it is kept in a NATS that all pods reach"},
		{"owners on nodes without the port", "driverPod: {replicas: 2, lease: true}\nnats: {mode: chart}\nserial: {access: hostPath}", "driverPod.nodeSelector: with serial.access: hostPath"},
		{"user without a password", "nats: {mode: external, url: nats://n:4222, user: anna}", "nats.user: it and nats.passwordSecret go together"},
		{"user and nkey", "nats: {mode: external, url: nats://n:4222, user: anna, passwordSecret: {name: x}, nkeySecret: {name: seed}}", "nats.passwordSecret: nats.nkeySecret is set, too"},
		{"client certificate from nowhere", "nats: {mode: external, url: tls://n:4222, tlsSecret: {clientCertificate: true}}", "nats.tlsSecret.clientCertificate: it is in nats.tlsSecret"},
		{"no owner of a port", "driverPod: {replicas: 0}", "driverPod.replicas: it has to be 1"},
		{"split without a bus", "mode: split", "nats.mode: embedded is within one pod"},
		{"external without an address", "nats: {mode: external}", "nats.url: nats.mode: external needs it"},
		{"address that is not used", "nats: {url: nats://nats:4222}", "nats.url: nats.mode: embedded does not use it"},
		{"secret that is not used", "nats: {tlsSecret: {name: x}}", "nats.tlsSecret: it is for nats.mode: external"},
		{"two identities", "nats: {mode: external, url: nats://n:4222, credentialsSecret: {name: x}, nkeySecret: {name: seed}}", "nats.nkeySecret: nats.credentialsSecret is set, too"},
		{"serial port out of reach", serialPort, `serial.access: the link "line1" in config uses the port /dev/ttyUSB0`},
		{"device plugin without a resource", "serial: {access: devicePlugin}", "serial.resource: serial.access: devicePlugin needs"},
		{"resource that is not used", "serial: {resource: squat.ai/serial}", "serial.resource: it is for serial.access: devicePlugin"},
		{"section of the chart", "config: |\n  bus: {url: nats://n:4222}", `config: its section "bus" is written by the chart; set nats`},
		{"one port for two", "frontends: {rest: {port: 8081}}", "frontends.rest.port: 8081 is that of frontends.graphql, too"},
		{"port of operations", "frontends: {rest: {port: 9464}}", "frontends.rest.port: 9464 is that of health checks"},
		{"nobody served", "frontends: {rest: {enabled: false}, graphql: {enabled: false}, grpc: {enabled: false}, ca: {enabled: false}}", "frontends: none is enabled"},
		{"nothing runs", "mode: split\nnats: {mode: chart}\ndriverPod: {enabled: false}\nfrontendPods: {enabled: false}", "driverPod.enabled: both it and"},
		{"config for nobody", "mode: split\nnats: {mode: chart}\ndriverPod: {enabled: false}\nconfig: 'devices: {}'", "config: without driverPod.enabled"},
		{"limits of the autoscaler", "mode: split\nnats: {mode: chart}\nfrontendPods: {autoscaling: {enabled: true, minReplicas: 7}}", "frontendPods.autoscaling.minReplicas: 7 is more than maxReplicas, 6"},
		{"node port that is not used", "frontends: {ca: {service: {nodePort: 30064}}}", "frontends.ca.service.nodePort: it is for"},
		{"advertised over TCP", "frontends: {ca: {advertise: 192.0.2.1}}", "frontends.ca.advertise: searches over TCP"},
		{"ingress without hosts", "ingress: {enabled: true}", "ingress.hosts: ingress.enabled needs"},
		{"ingress without REST", "ingress: {enabled: true, hosts: [{host: a.example.org}]}\nfrontends: {rest: {enabled: false}}", "ingress.enabled: it is for REST"},
		{"route without a gateway", "grpcRoute: {enabled: true}", "grpcRoute.parentRefs: grpcRoute.enabled needs"},
		{"name that a Service cannot have", "fullnameOverride: Oven_1", `fullnameOverride: "Oven_1" cannot be the name of a Service`},
		{"device for tests in a line", "test: {softAttribute: true}\nconfig: 'devices: {a: {driver: soft, count: 1}}'", "test.softAttribute: the section devices of config"},
	}
	h := newHelm(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := h.with(t).render(file(t, test.values))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Rendered in every way that values can be combined, pods are "restricted"
// except where a device of the node or its network is asked for.
func TestPodsAreRestrictedExceptWhereTheNodeIsAskedFor(t *testing.T) {
	const split = "mode: split\nnats: {mode: chart}\n"
	tests := []struct{ name, values, want string }{
		{"defaults", "", "lab-polygate restricted"},
		{"all in one with NATS beside it", "nats: {mode: chart}", "lab-polygate restricted, lab-polygate-nats restricted"},
		{"split", split, "lab-polygate-drivers restricted, lab-polygate-frontends restricted, lab-polygate-nats restricted"},
		{"instruments alone", split + "frontendPods: {enabled: false}", "lab-polygate-drivers restricted, lab-polygate-nats restricted"},
		{"clients alone", split + "driverPod: {enabled: false}", "lab-polygate-frontends restricted, lab-polygate-nats restricted"},
		{"device plugin", split + "serial: {access: devicePlugin, resource: squat.ai/serial}", "lab-polygate-drivers restricted, lab-polygate-frontends restricted, lab-polygate-nats restricted"},
		{"device of the node", "serial: {access: hostPath}", "lab-polygate privileged"},
		{"device of the node, split", split + "serial: {access: hostPath}", "lab-polygate-drivers privileged, lab-polygate-frontends restricted, lab-polygate-nats restricted"},
		{"network of the node", "frontends: {ca: {expose: hostNetwork}}", "lab-polygate privileged"},
		{"network of the node, split", split + "frontends: {ca: {expose: hostNetwork}}", "lab-polygate-drivers restricted, lab-polygate-frontends privileged, lab-polygate-nats restricted"},
		{"load balancer", "frontends: {ca: {expose: loadBalancer}}", "lab-polygate restricted"},
		{"one protocol", "frontends: {rest: {enabled: false}, graphql: {enabled: false}, grpc: {enabled: false}}", "lab-polygate restricted"},
	}
	h := newHelm(t)
	tool(t, "manifests", "POLYGATE_MANIFESTS") // built once, before all ask for it
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var deployments []string
			for line := range strings.Lines(manifests(t, h.with(t).mustRender(file(t, test.values)))) {
				line = strings.TrimSpace(line)
				if deployment, found := strings.CutPrefix(line, "Deployment "); found {
					deployments = append(deployments, deployment)
				} else if strings.HasPrefix(line, "Job ") || strings.HasPrefix(line, "Pod ") {
					if !strings.HasSuffix(line, " restricted") {
						t.Errorf("%s", line)
					}
				}
			}
			if got := strings.Join(deployments, ", "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
