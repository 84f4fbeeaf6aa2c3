//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/polygate/gateway/proto/polygate/v1"
)

var memory = measure{
	name: "memory", title: "resident memory with 1,000 attributes at rest, all frontends on",
	target: "at most 60 MB", run: func(b *bench) (outcome, error) {
		gateway, err := b.startWatched(softDevice(1000), "soft.v00999")
		if err != nil {
			return outcome{}, err
		}
		defer gateway.stop()
		bytes, err := residentBytes(gateway.pid)
		if err != nil {
			return outcome{}, err
		}
		return absolute(fmt.Sprintf("%.1f MB", float64(bytes)/1e6), bytes <= 60e6, ""), nil
	},
}

var memoryAttribute = measure{
	name: "memory-attribute", title: "heap of each further attribute, from 10,000 to 100,000, all frontends on",
	target: "at most 1 kB", run: func(b *bench) (outcome, error) {
		few, err := b.heapWith(10_000)
		if err != nil {
			return outcome{}, err
		}
		many, err := b.heapWith(100_000)
		if err != nil {
			return outcome{}, err
		}
		each := (many - few) / 90_000
		return absolute(fmt.Sprintf("%.2f kB", each/1e3), each <= 1e3, fmt.Sprintf("%.1f and %.1f MB", few/1e6, many/1e6)), nil
	},
}

func (b *bench) heapWith(attributes int) (float64, error) {
	gateway, err := b.startWatched(softDevice(attributes), fmt.Sprintf("soft.v%05d", attributes-1))
	if err != nil {
		return 0, err
	}
	defer gateway.stop()
	if err := gateway.waitForPV(fmt.Sprintf("SOFT:V%05d", attributes-1)); err != nil {
		return 0, err
	}
	return gateway.heap()
}

// waitForPV waits until Channel Access, which learns of attributes by itself, has
// a name: until then the heap has what is on its way, and not yet what is made of it.
func (g *watchedGateway) waitForPV(pv string) error {
	for end := time.Now().Add(20 * time.Second); ; {
		circuit, err := openCircuit(g.caPort)
		if err != nil {
			return err
		}
		err = circuit.subscribe(pv)
		circuit.close()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

var memoryClient = measure{
	name: "memory-client", title: "heap and stacks of each idle Channel Access client with one monitor, with 1,000 of them",
	target: "at most 20 kB", run: func(b *bench) (outcome, error) {
		const clients = 1000
		gateway, err := b.startWatched(softDevice(10), "soft.v00009")
		if err != nil {
			return outcome{}, err
		}
		defer gateway.stop()
		before, err := gateway.heap()
		if err != nil {
			return outcome{}, err
		}
		for range clients {
			circuit, err := openCircuit(gateway.caPort)
			if err != nil {
				return outcome{}, err
			}
			defer circuit.close()
			if err := circuit.subscribe(softPV); err != nil {
				return outcome{}, err
			}
			if err := circuit.awaitEvent(); err != nil {
				return outcome{}, err
			}
		}
		after, err := gateway.heap()
		if err != nil {
			return outcome{}, err
		}
		each := (after - before) / clients
		return absolute(fmt.Sprintf("%.1f kB", each/1e3), each <= 20e3, ""), nil
	},
}

var neverRead = measure{
	name: "never-read", title: "resident memory at 100,000 updates/s with a client on each frontend that never reads, after 20 s and after 40 s",
	target: "bounded", run: runNeverRead,
}

func runNeverRead(b *bench) (outcome, error) {
	const counters = 10_000
	gateway, err := b.startWatched(countersDevice(counters, 10), "TEST.CALC09999")
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	without, err := residentBytes(gateway.pid)
	if err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, url := range []string{
		gateway.base + "/api/v1/stream?match=TEST.*",
		gateway.where[graphQL] + "?query=subscription+%7B+updates(match:%22TEST.*%22)+%7B+batch+%7D+%7D",
	} {
		body, err := openStream(ctx, url)
		if err != nil {
			return outcome{}, err
		}
		defer body.Close() //nolint:gocritic // all of them at the end
	}
	conn, err := grpc.NewClient(gateway.where[gRPC], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return outcome{}, err
	}
	defer conn.Close()
	if _, err := pb.NewGatewayServiceClient(conn).Watch(ctx, &pb.WatchRequest{Match: []string{"TEST.*"}}); err != nil {
		return outcome{}, err
	}
	circuit, err := openCircuit(gateway.caPort)
	if err != nil {
		return outcome{}, err
	}
	defer circuit.close()
	pvs := make([]string, counters)
	for i := range pvs {
		pvs[i] = fmt.Sprintf("TEST:CALC%05d", i)
	}
	if err := circuit.subscribe(pvs...); err != nil {
		return outcome{}, err
	}
	<-time.After(20 * time.Second)
	early, err := residentBytes(gateway.pid)
	if err != nil {
		return outcome{}, err
	}
	<-time.After(20 * time.Second)
	late, err := residentBytes(gateway.pid)
	if err != nil {
		return outcome{}, err
	}
	return absolute(fmt.Sprintf("%.0f and %.0f MB", float64(early)/1e6, float64(late)/1e6), float64(late) <= 1.1*float64(early),
		fmt.Sprintf("%.0f MB before they came", float64(without)/1e6)), nil
}

// A watchedGateway has all frontends, and tells of its memory.
type watchedGateway struct {
	*gatewayServer
	caPort int
	ops    string
}

func (b *bench) startWatched(devices, attribute string) (*watchedGateway, error) {
	caPort, err := freePort()
	if err != nil {
		return nil, err
	}
	opsPort, err := freePort()
	if err != nil {
		return nil, err
	}
	ops := fmt.Sprintf("127.0.0.1:%d", opsPort)
	gateway, err := startGateway(b.gateway, everything(caPort, ops)+devices)
	if err != nil {
		return nil, err
	}
	if err := gateway.waitFor(attribute); err != nil {
		gateway.stop()
		return nil, err
	}
	return &watchedGateway{gateway, caPort, "http://" + ops}, nil
}

// heap returns the bytes of objects that are alive, and of stacks.
func (g *watchedGateway) heap() (float64, error) {
	for range 3 { // Pools are emptied by the second collection.
		if _, err := fetch(g.ops + "/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	metrics, err := fetch(g.ops + "/metrics")
	if err != nil {
		return 0, err
	}
	total, found := 0.0, 0
	lines := bufio.NewScanner(strings.NewReader(metrics))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name != "go_memstats_heap_alloc_bytes" && name != "go_memstats_stack_inuse_bytes" {
			continue
		}
		bytes, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		total, found = total+bytes, found+1
	}
	if found != 2 {
		return 0, fmt.Errorf("%s/metrics does not tell of the heap and the stacks", g.ops)
	}
	return total, nil
}

func fetch(url string) (string, error) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, response.Status)
	}
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
