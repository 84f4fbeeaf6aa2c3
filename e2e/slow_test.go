package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"

	"github.com/polygate/gateway/e2e/client"
)

// counters is a source of load; each adds 1 at its rate.
const counters = "  TEST: {driver: counters, count: 200, rate: 20}\n"

// smallBuffers makes a connection stall as soon as its client does not read.
func smallBuffers() testcontainers.ContainerCustomizer {
	return testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) {
		hc.Sysctls = map[string]string{"net.ipv4.tcp_rmem": "4096 65536 65536", "net.ipv4.tcp_wmem": "4096 65536 65536"}
	})
}

// Clients that do not read hold nobody up, and when they read again they are shown
// what is true now.
func TestASlowClientHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	instrument := w.instrument("instrument", "-every", "5ms")
	w.gateway("gateway", allFrontends+patient(inst)+counters, smallBuffers())
	slow, fast := w.clients("slow", smallBuffers()), w.clients("fast")
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("TEST.CALC%05d", i))
	}
	last := names[len(names)-1]
	var views []*view
	for _, protocol := range client.Protocols() {
		v := slow.watchOnly(last, protocol, "gateway", names...)
		views = append(views, v)
		v.await(last, readback, "something", func(*client.Event) bool { return true })
	}
	witness := fast.watch(client.GRPC, "gateway", last)
	slow.pause()
	paused := witness.await(last, readback, "something", func(*client.Event) bool { return true })

	// Meanwhile the others get every sample of an instrument that tells 200 a second.
	const count = 800
	var seen map[string][]client.Event
	q := url.Values{"protocol": client.Protocols(), "host": {"gateway"}, "name": {told}, "count": {fmt.Sprint(count)}}
	fast.askJSON(http.MethodGet, controlPort, "/collect?"+q.Encode(), &seen)
	clocks := instrument.tells().Told
	for _, protocol := range client.Protocols() {
		complete(t, "beside a client that does not read", protocol, seen[protocol], count, clocks)
	}

	// 200 times 120 samples are more than a queue and the buffers hold, but on
	// Channel Access, which keeps more and has no count of what it leaves out.
	now := witness.await(last, readback, "much later", func(e *client.Event) bool { return *e.Value > *paused.Value+120 })
	slow.resume()
	resumed := time.Now()
	for _, v := range views {
		v.await(last, readback, "what it is now", func(e *client.Event) bool { return *e.Value >= *now.Value })
		lost, again := uint64(0), false
		for _, e := range v.seen() {
			lost += e.Lost
			again = again || e.Kind == client.Down
		}
		if lost == 0 && !again && v.protocol != client.CA {
			t.Errorf("%s: everything came to a client that did not read: it was not slow enough for this test", v.protocol)
		}
		t.Logf("%s: current %v after it went on; %d of its samples were left out, connected anew: %v", v.protocol, time.Since(resumed).Round(time.Millisecond), lost, again)
	}
}
