//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/polygate/gateway/bus/embedded"
)

var idleWithBroker = measure{
	name: "idle", title: "voluntary context switches in 10 s, all frontends but Channel Access on, with the broker and one idle SSE client",
	target: "at most 160", run: func(b *bench) (outcome, error) {
		return idle(b.gateway, everything+softDevice(10), 160)
	},
}

var idleWithout = measure{
	name: "idle-nobroker", title: "the same in a build without the broker, on a NATS outside (no driver, so no heartbeats)",
	target: "at most 5, keep-alives counted apart", run: func(b *bench) (outcome, error) {
		broker, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0"})
		if err != nil {
			return outcome{}, err
		}
		defer broker.Shutdown()
		return idle(b.nobroker, fmt.Sprintf("bus: {url: %q}\n", broker.URL())+everything, 5)
	},
}

// everything has all frontends, and no device: without a driver nobody sends
// heartbeats.
const everything = `
frontends: {rest: {listen: "127.0.0.1:0"}, graphql: {listen: "127.0.0.1:0"}, grpc: {listen: "127.0.0.1:0"}}
ops: {listen: ""}
`

// idleWindow is how long one look at an idle process lasts.
const idleWindow = 10 * time.Second

func idle(binary, file string, most int) (outcome, error) {
	gateway, err := startGateway(binary, file)
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, gateway.base+"/api/v1/stream", nil)
	if err != nil {
		return outcome{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return outcome{}, err
	}
	defer response.Body.Close()
	<-time.After(2 * time.Second) // what starting has left to do
	var counts []float64
	for range 3 {
		before, err := voluntarySwitches(gateway.pid)
		if err != nil {
			return outcome{}, err
		}
		<-time.After(idleWindow)
		after, err := voluntarySwitches(gateway.pid)
		if err != nil {
			return outcome{}, err
		}
		counts = append(counts, float64(after-before))
	}
	return absolute(fmt.Sprintf("%.0f", median(counts)), median(counts) <= float64(most),
		fmt.Sprintf("three windows: %.0f", counts)), nil
}

var memory = measure{
	name: "memory", title: "resident memory with 1,000 attributes at rest, all frontends but Channel Access on",
	target: "at most 60 MB", run: func(b *bench) (outcome, error) {
		gateway, err := startGateway(b.gateway, everything+softDevice(1000))
		if err != nil {
			return outcome{}, err
		}
		defer gateway.stop()
		if err := gateway.waitFor("soft.v00999"); err != nil {
			return outcome{}, err
		}
		bytes, err := residentBytes(gateway.pid)
		if err != nil {
			return outcome{}, err
		}
		return absolute(fmt.Sprintf("%.1f MB", float64(bytes)/1e6), bytes <= 60e6, ""), nil
	},
}
