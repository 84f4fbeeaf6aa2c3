//go:build linux

package main

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

var restGet = measure{
	name: "rest", title: "REST get, requests a second over 16 connections, over a bare fasthttp handler with the same bytes",
	target: "at least 0.8", run: func(b *bench) (outcome, error) { return restRatio(b, 16, atLeast(0.8)) },
}

var restGetOne = measure{
	name: "rest-one", title: "the same over one connection (a median of latency, in effect)",
	target: "", run: func(b *bench) (outcome, error) { return restRatio(b, 1, nil) },
}

// softDevice is a device whose attributes take any value.
func softDevice(count int) string {
	return fmt.Sprintf("devices: {soft: {driver: soft, count: %d}}\n", count)
}

// countersDevice is a source of load.
func countersDevice(count int, rate float64) string {
	return fmt.Sprintf("devices: {TEST: {driver: counters, count: %d, rate: %g}}\n", count, rate)
}

var restGetFastCS = measure{
	name: "rest-get-fastcs", title: "REST get, requests a second over 16 connections, over FastCS",
	target: "at least 20", run: func(b *bench) (outcome, error) { return restOverFastCS(b, fasthttp.MethodGet, "", atLeast(20)) },
}

var restPutFastCS = measure{
	name: "rest-put-fastcs", title: "the same for puts, each answered when the device has the value",
	target: "", run: func(b *bench) (outcome, error) {
		return restOverFastCS(b, fasthttp.MethodPut, `{"value":1.5}`, nil)
	},
}

func restOverFastCS(b *bench, method, body string, target *bound) (outcome, error) {
	const connections = 16
	gateway, err := startGateway(b.gateway, restOnly+softDevice(1))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	if err := gateway.waitFor("soft.v00000"); err != nil {
		return outcome{}, err
	}
	peer, err := b.startFastCS()
	if err != nil {
		return outcome{}, err
	}
	defer peer.stop()
	rate := func(url string) sampler {
		return func() (float64, error) { return requestRate(call{method, url, body}, connections, b.window) }
	}
	r, err := compare(b.pairs, rate(gateway.base+"/api/v1/attributes/soft.v00000"), rate(peer.rest))
	if err != nil {
		return outcome{}, err
	}
	return against(r, target, fmt.Sprintf("%.0f against %.0f requests/s, one server core", r.Subject, r.Reference)), nil
}

func restRatio(b *bench, connections int, target *bound) (outcome, error) {
	gateway, err := startGateway(b.gateway, restOnly+softDevice(1000))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	if err := gateway.waitFor("soft.v00000"); err != nil {
		return outcome{}, err
	}
	url := gateway.base + "/api/v1/attributes/soft.v00000"
	_, body, err := fasthttp.Get(nil, url)
	if err != nil {
		return outcome{}, err
	}
	floor, address, err := startFloor(rest, string(body))
	if err != nil {
		return outcome{}, err
	}
	defer floor.stop()
	r, err := compare(b.pairs,
		func() (float64, error) { return requestRate(get(url), connections, b.window) },
		func() (float64, error) { return requestRate(get("http://"+address+"/"), connections, b.window) },
	)
	if err != nil {
		return outcome{}, err
	}
	return against(r, target, fmt.Sprintf("%.0f of %.0f requests/s, one server core", r.Subject, r.Reference)), nil
}

// A call is an HTTP request. A body is JSON.
type call struct{ method, url, body string }

func get(url string) call { return call{method: fasthttp.MethodGet, url: url} }

// requestRate counts the requests that are answered in a window.
func requestRate(c call, connections int, window time.Duration) (float64, error) {
	host := strings.TrimPrefix(c.url, "http://")
	host, _, _ = strings.Cut(host, "/")
	client := &fasthttp.HostClient{Addr: host, MaxConns: connections}
	defer client.CloseIdleConnections()
	counts, errs := make([]int, connections), make([]error, connections)
	start := time.Now()
	end := start.Add(window)
	var workers sync.WaitGroup
	for i := range connections {
		workers.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(request)
			defer fasthttp.ReleaseResponse(response)
			request.SetRequestURI(c.url)
			request.Header.SetMethod(c.method)
			if c.body != "" {
				request.Header.SetContentType("application/json")
				request.SetBodyString(c.body)
			}
			for time.Now().Before(end) {
				if err := client.Do(request, response); err != nil {
					errs[i] = err
					return
				}
				if status := response.StatusCode(); status != fasthttp.StatusOK && status != fasthttp.StatusNoContent {
					errs[i] = fmt.Errorf("%s %s: status %d", c.method, c.url, status)
					return
				}
				counts[i]++
			}
		})
	}
	workers.Wait()
	total := 0
	for i, n := range counts {
		if errs[i] != nil {
			return 0, errs[i]
		}
		total += n
	}
	return float64(total) / time.Since(start).Seconds(), nil
}

// floorREST answers everything with the same bytes, those of the head included.
func floorREST(listener net.Listener, body string) error {
	answer := []byte(body)
	server := &fasthttp.Server{
		NoDefaultDate: true, NoDefaultServerHeader: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/json")
			ctx.Response.Header.SetCanonical([]byte("X-Content-Type-Options"), []byte("nosniff"))
			ctx.Response.Header.SetCanonical([]byte("Cache-Control"), []byte("no-store"))
			ctx.Response.SetBodyRaw(answer)
		},
	}
	return server.Serve(listener)
}
