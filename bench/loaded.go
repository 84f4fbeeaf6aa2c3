//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// The load of HTTP clients: so many, each asking so often.
const (
	loadClients = 9
	loadPeriod  = 10 * time.Millisecond
)

var caGetLoaded = measure{
	name: "ca-get-loaded", title: "Channel Access get, 99th percentile, while 9 HTTP clients read 900 times a second from the gateway, over the same while they read from another server",
	target: "at most 1.5", run: runCAGetLoaded,
}

func runCAGetLoaded(b *bench) (outcome, error) {
	gateway, err := b.startCA(softPV, softDevice(10))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	url := gateway.rest + "/api/v1/attributes/soft.v00000"
	_, body, err := fasthttp.Get(nil, url)
	if err != nil {
		return outcome{}, err
	}
	other, address, err := startFloor(rest, string(body))
	if err != nil {
		return outcome{}, err
	}
	defer other.stop()
	loaded := func(url string) func() ([]float64, error) {
		return func() ([]float64, error) {
			load := startLoad(url)
			latencies, err := gateway.client.latencies("get %s %d", softPV, (2 * b.window).Milliseconds())
			if loadErr := load.stop(); err == nil {
				err = loadErr
			}
			return latencies, err
		}
	}
	const here, elsewhere = "loaded", "loaded elsewhere"
	taken, err := takeRounds(b.pairs, program{here, loaded(url)}, program{elsewhere, loaded("http://" + address + "/")})
	if err != nil {
		return outcome{}, err
	}
	r := taken.compare(p99Latency, here, elsewhere)
	medians := taken.compare(medianLatency, here, elsewhere)
	return against(r, atMost(1.5), fmt.Sprintf("%.0f against %.0f µs; medians %.0f against %.0f µs",
		r.Subject, r.Reference, medians.Subject, medians.Reference)), nil
}

// A load is HTTP clients that ask at a fixed rate.
type load struct {
	cancel  context.CancelFunc
	clients sync.WaitGroup
	failed  chan error
}

func startLoad(url string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, failed: make(chan error, loadClients)}
	for range loadClients {
		l.clients.Go(func() {
			if err := ask(ctx, url); err != nil {
				l.failed <- err
			}
		})
	}
	return l
}

// ask asks on one connection until it is told to stop.
func ask(ctx context.Context, url string) error {
	client := &fasthttp.Client{MaxConnsPerHost: 1}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(loadPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			status, _, err := client.Get(nil, url)
			if err != nil {
				return err
			}
			if status != http.StatusOK {
				return fmt.Errorf("%s: status %d", url, status)
			}
		}
	}
}

func (l *load) stop() error {
	l.cancel()
	l.clients.Wait()
	select {
	case err := <-l.failed:
		return err
	default:
		return nil
	}
}
