package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/polygate/gateway/e2e/client"
)

// An outage of the bus shows on every protocol while it lasts, a put meanwhile is
// not done, and afterwards everything is as it was.
func TestNATSGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	views := s.clients.watchAll(frontendsName, polled, held)
	awaitGood(views)
	value := int64(0)
	for _, outage := range []struct {
		what    string
		begin   func()
		end     func()
		silent  bool // nobody is told: hubs find out by themselves
		restart bool
	}{
		{what: "stopped", begin: s.nats.stop, end: s.nats.restart},
		{what: "killed", begin: s.nats.kill, end: s.nats.restart},
		{what: "paused", begin: s.nats.pause, end: s.nats.resume, silent: true},
		{what: "cut off", begin: s.nats.cut, end: s.nats.join, silent: true},
	} {
		began := time.Now()
		outage.begin()
		awaitBad(views, "a bus that is "+outage.what, "COMM", "TIMEOUT")
		t.Logf("a bus that is %s shows everywhere within %v", outage.what, time.Since(began))
		value += 2
		if verdict := s.clients.put(client.SSE, frontendsName, held, value); verdict.OK() {
			t.Errorf("a put without a bus, which is %s, succeeded: %+v", outage.what, verdict)
		}
		outage.end()
		ended := time.Now()
		awaitGood(views)
		t.Logf("all is well %v after the bus was %s", time.Since(ended), outage.what)
		verdict := s.clients.put(client.SSE, frontendsName, held, value+1)
		if outage.silent && verdict.Code == "unknown_outcome" {
			// What comes in is well again; what goes out may still be on a connection
			// that was silent for too long and is about to be given up.
			verdict = s.clients.put(client.SSE, frontendsName, held, value+1)
		}
		if !verdict.OK() {
			t.Errorf("a put after the bus was %s: %+v", outage.what, verdict)
		}
		for _, v := range views {
			v.await(held, readback, "what was put", holds(value+1))
		}
		for _, put := range s.instrument.tells().Held {
			if put.Value == value {
				t.Errorf("a put that failed while the bus was %s was done nevertheless", outage.what)
			}
		}
	}
	for _, v := range views {
		for _, e := range v.seen() {
			if e.Kind == client.Down {
				t.Errorf("%s: an outage of the bus cut a client off: %v", v.protocol, &e)
			}
		}
	}
}

// One of three nodes may be lost at any time, whichever it is.
func TestAClusterLosesANode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nodes := make([]*box, 3)
	for i := range nodes {
		name := fmt.Sprintf("nats%d", i)
		nodes[i] = w.nats(name, "--name", name, "--cluster_name", "polygate", "--cluster", "nats://0.0.0.0:6222",
			"--routes", "nats://nats0:6222,nats://nats1:6222,nats://nats2:6222")
	}
	const bus = "bus: {url: \"nats://nats0:4222,nats://nats1:4222,nats://nats2:4222\"}\n"
	w.instrument("instrument")
	w.gateway(frontendsName, bus+allFrontends)
	w.gateway("drivers", bus+noFrontends+inst)
	c := w.clients("clients")
	views := c.watchAll(frontendsName, polled, held)
	awaitGood(views)
	for i, node := range nodes {
		node.kill()
		awaitGood(views)
		if verdict := c.put(client.GRPC, frontendsName, held, int64(i+1)); !verdict.OK() {
			t.Errorf("a put without node %d: %+v", i, verdict)
		}
		for _, v := range views {
			v.await(held, readback, "what was put", holds(int64(i+1)))
		}
		node.restart()
		if err := awaitLog(node, "Server is ready", 2); err != nil {
			t.Fatal(err)
		}
	}
}
