//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

var fanOut = measure{
	name: "fan-out", title: "processor time per subscriber of one update, sockets included: 1,000 SSE subscribers over 10",
	target: "at most 1.2", run: runFanOut,
}

// runFanOut compares what one delivery costs the gateway: a counter at 10 Hz to
// 1,000 streams, and one at 1,000 Hz to 10. Both make as many deliveries a
// second, one event each. What the driver, the bus and the hub take without any
// subscriber differs between the two and is measured first and subtracted.
func runFanOut(b *bench) (outcome, error) {
	many, err := deliveryCosts(b, 1000, 10)
	if err != nil {
		return outcome{}, err
	}
	few, err := deliveryCosts(b, 10, 1000)
	if err != nil {
		return outcome{}, err
	}
	quotient := median(many) / median(few)
	return absolute(fmt.Sprintf("%.2f", quotient), quotient <= 1.2,
		fmt.Sprintf("%.1f against %.1f µs of processor time; measured one after the other, since open streams cannot be put aside", median(many), median(few))), nil
}

// deliveryCosts measures the gateway's processor time per delivery in windows of
// a second.
func deliveryCosts(b *bench, clients int, rate float64) ([]float64, error) {
	gateway, err := startGateway(b.gateway, restOnly+countersDevice(1, rate))
	if err != nil {
		return nil, err
	}
	defer gateway.stop()
	if err := gateway.waitFor("TEST.CALC00000"); err != nil {
		return nil, err
	}
	idle, err := processorShare(gateway.pid, 5*time.Second)
	if err != nil {
		return nil, err
	}
	s, err := openStreams(gateway, clients, "TEST.CALC00000")
	if err != nil {
		return nil, err
	}
	defer s.close()
	costs := make([]float64, b.pairs)
	for i := range costs {
		if costs[i], err = s.cost(gateway.pid, time.Second, idle); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// streams are many SSE clients that count what they get.
type streams struct {
	cancel context.CancelFunc
	counts []chan int
}

func openStreams(g *gatewayServer, n int, match string) (*streams, error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &streams{cancel: cancel}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range n {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/api/v1/stream?match="+match, nil)
		if err != nil {
			return nil, err
		}
		response, err := client.Do(request)
		if err != nil {
			cancel()
			return nil, err
		}
		counts := make(chan int, 1)
		counts <- 0
		s.counts = append(s.counts, counts)
		go func() {
			defer response.Body.Close()
			scanner := bufio.NewScanner(response.Body)
			for scanner.Scan() {
				if bytes.HasPrefix(scanner.Bytes(), []byte("data: ")) {
					counts <- <-counts + 1
				}
			}
		}()
	}
	return s, nil
}

func (s *streams) total() int {
	total := 0
	for _, c := range s.counts {
		n := <-c
		c <- n
		total += n
	}
	return total
}

// processorShare is the part of a processor that a process uses.
func processorShare(pid int, window time.Duration) (float64, error) {
	before, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	<-time.After(window)
	after, err := cpuTime(pid)
	return float64(after-before) / float64(time.Since(start)), err
}

// cost is the processor time of the process per delivery, in µs, without the
// share that it uses anyway.
func (s *streams) cost(pid int, window time.Duration, idle float64) (float64, error) {
	before, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	delivered, start := s.total(), time.Now()
	<-time.After(window)
	after, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	delivered = s.total() - delivered
	if delivered == 0 {
		return 0, fmt.Errorf("nothing was delivered")
	}
	used := float64(after-before) - idle*float64(elapsed)
	return used / 1e3 / float64(delivered), nil
}

func (s *streams) close() { s.cancel() }

var fullRate = measure{
	name: "full-rate", title: "10,000 counters at 10 Hz (100,000 updates/s) to one SSE client for 10 s",
	target: "none missing, at most one core", run: func(b *bench) (outcome, error) { return runFullRate(b, rest) },
}

// runFullRate checks every sample of every counter.
func runFullRate(b *bench, frontend string) (outcome, error) {
	const counters, seconds = 10_000, 10
	gateway, err := startGateway(b.gateway, also(frontend)+countersDevice(counters, 10))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	if err := gateway.waitFor("TEST.CALC09999"); err != nil {
		return outcome{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*seconds*time.Second)
	defer cancel()
	last := make(map[string]float64, counters)
	missing, samples := 0, 0
	var start time.Time
	var before, after, elapsed time.Duration
	var cpuErr error
	err = followers[frontend](ctx, gateway.where[frontend], "TEST.*", func(name string, value float64) bool {
		if known, seen := last[name]; seen {
			missing += int(value - known - 1)
			samples++
		}
		last[name] = value
		switch {
		case len(last) < counters:
		case start.IsZero():
			start, samples, missing = time.Now(), 0, 0
			before, cpuErr = cpuTime(gateway.pid)
		case samples%1000 == 0 && time.Since(start) >= seconds*time.Second:
			elapsed = time.Since(start)
			after, cpuErr = cpuTime(gateway.pid)
			return false
		}
		return cpuErr == nil
	})
	if err == nil {
		err = cpuErr
	}
	if err != nil {
		return outcome{}, err
	}
	cores := float64(after-before) / float64(elapsed)
	return absolute(fmt.Sprintf("%d missing, %.2f cores", missing, cores), missing == 0 && cores <= 1,
		fmt.Sprintf("%d samples, %.0f a second", samples, float64(samples)/elapsed.Seconds())), nil
}

// openStream opens an event stream.
func openStream(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return response.Body, nil
}

// counterOf reads name and value out of an event without decoding all of it:
// the client must not be what is measured.
func counterOf(line []byte) (name string, value float64, ok bool) {
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	if !ok {
		return "", 0, false
	}
	return namedValue(data)
}

// namedValue finds the name and the value that follows it.
func namedValue(data []byte) (name string, value float64, ok bool) {
	_, after, ok := bytes.Cut(data, []byte(`"name":"`))
	if !ok {
		return "", 0, false
	}
	text, after, _ := bytes.Cut(after, []byte(`"`))
	_, after, ok = bytes.Cut(after, []byte(`"value":`))
	if !ok {
		return "", 0, false
	}
	number, _, _ := bytes.Cut(after, []byte(","))
	return string(text), value, json.Unmarshal(number, &value) == nil
}
