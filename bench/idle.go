//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/polygate/gateway/bus/embedded"
)

var idleWithBroker = measure{
	name: "idle", title: "voluntary context switches in 10 s, all frontends on, with the broker and an idle client on each",
	target: "at most 160", run: func(b *bench) (outcome, error) {
		own, _, err := switches(b, b.gateway, softDevice(10), softPV, nil)
		if err != nil {
			return outcome{}, err
		}
		return absolute(fmt.Sprintf("%.0f", own), own <= 160, "mean of 30 s; its keep-alives included"), nil
	},
}

var idleWithout = measure{
	name: "idle-nobroker", title: "the same in a build without the broker, on a NATS outside (no driver, so no heartbeats), beyond those of a bare Go program with the same keep-alives",
	target: "at most 5, keep-alives counted apart", run: func(b *bench) (outcome, error) {
		broker, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0"})
		if err != nil {
			return outcome{}, err
		}
		defer broker.Shutdown()
		floor, err := startIdleFloor(b.keepAlive, broker.URL(), len(followers))
		if err != nil {
			return outcome{}, err
		}
		defer floor.stop()
		own, keepAlives, err := switches(b, b.nobroker, fmt.Sprintf("bus: {url: %q}\n", broker.URL()), "", floor)
		if err != nil {
			return outcome{}, err
		}
		note := fmt.Sprintf("%.1f of the gateway, %.1f of the bare program; means of 30 s", own, keepAlives)
		if keepAlives-own > 5 { // a busy machine makes any program wake more often
			return outcome{Value: "not measurable here", Note: note}, nil
		}
		return absolute(fmt.Sprintf("%.1f", own-keepAlives), own-keepAlives <= 5, note), nil
	},
}

// everything has all frontends, and no device: without a driver nobody sends
// heartbeats.
func everything(caPort int, ops string) string {
	return fmt.Sprintf(`
frontends: {rest: {listen: "127.0.0.1:0"}, graphql: {listen: "127.0.0.1:0"}, grpc: {listen: "127.0.0.1:0"}, ca: {listen: "127.0.0.1:%d"}}
ops: {listen: %q}
`, caPort, ops)
}

// idleWindow is how long one look at an idle process lasts: twice the longest time
// between keep-alives. Beforehand beacons have to become rare: the first ones come
// within milliseconds, later each 15 s.
const (
	idleWindow = 2 * quietSign
	settling   = 25 * time.Second
)

// switches counts the voluntary context switches of an idle gateway in 10 s, and
// those of the floor in the same time, unless that is nil.
func switches(b *bench, binary, file, pv string, floor *server) (own, keepAlives float64, err error) {
	port, err := freePort()
	if err != nil {
		return 0, 0, err
	}
	gateway, err := startGateway(binary, everything(port, "")+file)
	if err != nil {
		return 0, 0, err
	}
	defer gateway.stop()
	closeCircuit, err := b.idleCircuit(port, pv)
	if err != nil {
		return 0, 0, err
	}
	defer closeCircuit()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, len(followers))
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	for frontend, follow := range followers {
		clients.Go(func() {
			err := follow(ctx, gateway.where[frontend], "soft.v00000", func(string, float64) bool { return true })
			ended <- fmt.Errorf("the idle client of %s: %w", frontend, err)
		})
	}
	select {
	case err := <-ended:
		return 0, 0, err
	case <-time.After(settling):
	}
	counts := func() (own, keepAlives int) {
		if own, err = voluntarySwitches(gateway.pid); err == nil && floor != nil {
			keepAlives, err = voluntarySwitches(floor.pid)
		}
		return own, keepAlives
	}
	ownBefore, keepAlivesBefore := counts()
	if err != nil {
		return 0, 0, err
	}
	<-time.After(idleWindow)
	ownAfter, keepAlivesAfter := counts()
	tens := idleWindow.Seconds() / 10
	return float64(ownAfter-ownBefore) / tens, float64(keepAlivesAfter-keepAlivesBefore) / tens, err
}

// idleCircuit has a client subscribe to a process variable. Where there is none it
// only connects.
func (b *bench) idleCircuit(port int, pv string) (stop func(), err error) {
	if pv == "" {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return nil, err
		}
		return func() { _ = conn.Close() }, nil
	}
	e, err := b.epics()
	if err != nil {
		return nil, err
	}
	client, err := e.connect(port)
	if err != nil {
		return nil, err
	}
	if _, err := client.ask("watch %s", pv); err != nil {
		client.stop()
		return nil, err
	}
	return client.stop, nil
}
