package e2e

import (
	"strings"
	"testing"
)

// The parts of a gateway's file.
const (
	allFrontends = `
frontends:
  rest: {listen: "0.0.0.0:8080"}
  graphql: {listen: "0.0.0.0:8081"}
  grpc: {listen: "0.0.0.0:50051"}
  ca: {listen: "0.0.0.0"}
`
	noFrontends = `
frontends: {}
`
	natsOutside = `
bus: {url: "nats://nats:4222"}
`
	// inst is the simulated instrument; cmd/instrument tells what it says.
	inst = `
links: {line1: {tcp: "instrument:7000"}}
devices:
  inst:
    driver: serial
    link: line1
    terminator: "\r\n"
    reply_timeout: 500ms
    attributes:
      polled: {kind: int64, read: "P?", reply: "P=%d", poll: 100ms}
      held: {kind: int64, access: rw, read: "H?", reply: "H=%d", write: "H=%d", poll: 100ms}
      told: {kind: int64, listen: "T=%d"}
`
)

// patient is a file in which no reply is ever late, for tests that want every
// sample on a machine that may be busy with other things.
func patient(file string) string {
	return strings.ReplaceAll(file, "reply_timeout: 500ms", "reply_timeout: 20s")
}

// The names of its attributes, and the roles.
const (
	polled = "inst.polled"
	told   = "inst.told"
	held   = "inst.held"

	readback = "readback"
	setpoint = "setpoint"
)

// A site is NATS, drivers and frontends in boxes of their own, an instrument and
// clients: what most tests begin with.
type site struct {
	*world
	nats, instrument, drivers, frontends *box
	clients                              *clients
}

// frontendsName is the name under which clients find the frontends of a site.
const frontendsName = "frontends"

// newSite starts a site. What it shows is waited for by the test.
func newSite(t *testing.T, instrumentArgs ...string) *site {
	t.Helper()
	w := newWorld(t)
	s := &site{world: w}
	s.nats = w.nats("nats")
	s.instrument = w.instrument("instrument", instrumentArgs...)
	s.frontends = w.gateway(frontendsName, natsOutside+allFrontends)
	s.drivers = w.gateway("drivers", natsOutside+noFrontends+inst)
	s.clients = w.clients("clients")
	return s
}
