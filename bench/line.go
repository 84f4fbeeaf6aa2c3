//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/polygate/gateway/device/link/pty"
)

// samplesPerWindow is how many polled values make one measurement.
const samplesPerWindow = 50

// eventsPerPair is how many unsolicited values of gateway and floor make a pair,
// twice, and pause how long the line rests before each.
const (
	eventsPerPair = 100
	pause         = 2 * time.Millisecond
)

var unsolicitedToSSE = measure{
	name: "line", title: "pseudo-terminal to SSE client, unsolicited values, median latency, over a bare loop",
	target: "", run: func(b *bench) (outcome, error) { return lineRatio(b, 0) },
}

var polledToSSE = measure{
	name: "line-polled", title: "pseudo-terminal to SSE client, polled values, median latency, over a bare loop",
	target: "", run: func(b *bench) (outcome, error) { return lineRatio(b, 5*time.Millisecond) },
}

const lineFile = `
frontends: {rest: {listen: "127.0.0.1:0"}}
ops: {listen: ""}
links: {line1: {port: %q, baud: 115200}}
devices:
  clock:
    driver: serial
    link: line1
    terminator: "\r\n"
    attributes:
      t: {kind: int64, %s}
`

// A clock is an instrument that says its own time, asked or not.
type clock struct {
	pair *pty.Pair
	done sync.WaitGroup
}

// startClock makes an instrument that answers every request.
func startClock() (*clock, error) {
	pair, err := pty.Open()
	if err != nil {
		return nil, err
	}
	c := &clock{pair: pair}
	c.done.Go(func() {
		requests := bufio.NewReader(pair)
		for {
			if _, err := requests.ReadString('\n'); err != nil {
				return
			}
			if c.tell() != nil {
				return
			}
		}
	})
	return c, nil
}

// tell says the time, asked or not.
func (c *clock) tell() error {
	_, err := fmt.Fprintf(c.pair, "T=%d\r\n", time.Now().UnixNano())
	return err
}

func (c *clock) stop() {
	_ = c.pair.Close()
	c.done.Wait()
}

// lineRatio compares latencies from the instrument's clock to the client.
// Gateway and floor have an instrument each. Polled ones run side by side, and
// each is measured while the other one's client does not count; those that
// speak unasked take turns.
func lineRatio(b *bench, poll time.Duration) (outcome, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // Instruments and clients have one core.
	attribute := fmt.Sprintf(`read: "T?", reply: "T=%%d", poll: %v`, poll)
	if poll == 0 {
		attribute = `listen: "T=%d"`
	}
	ours, err := startClock()
	if err != nil {
		return outcome{}, err
	}
	defer ours.stop()
	theirs, err := startClock()
	if err != nil {
		return outcome{}, err
	}
	defer theirs.stop()
	gateway, err := startGateway(b.gateway, fmt.Sprintf(lineFile, ours.pair.Path, attribute))
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	if poll > 0 {
		if err := gateway.waitFor("clock.t"); err != nil {
			return outcome{}, err
		}
	}
	floor, address, err := startFloor("line", theirs.pair.Path, poll.String())
	if err != nil {
		return outcome{}, err
	}
	defer floor.stop()
	stream, err := http.Get(gateway.base + "/api/v1/stream?match=clock.t")
	if err != nil {
		return outcome{}, err
	}
	defer stream.Body.Close()
	bare, err := net.Dial("tcp", address)
	if err != nil {
		return outcome{}, err
	}
	defer bare.Close()

	keep := 0 // Of polled values only those count that somebody waits for.
	if poll == 0 {
		keep = 1
	}
	subject, reference := newLatencies(stream.Body, `"value":`, keep), newLatencies(bare, "T=", keep)
	var r ratio
	if poll > 0 {
		r, err = compare(b.pairs,
			func() (float64, error) { return subject.next(samplesPerWindow) },
			func() (float64, error) { return reference.next(samplesPerWindow) },
		)
	} else {
		r, err = alternate(b.pairs, eventsPerPair, unasked(ours, subject), unasked(theirs, reference))
	}
	if err != nil {
		return outcome{}, err
	}
	note := fmt.Sprintf("%.0f against %.0f µs; 99th percentile %.0f against %.0f µs", r.Subject, r.Reference, subject.p99(), reference.p99())
	return against(r, nil, note), nil
}

// unasked lets the instrument speak, and measures how long that takes to arrive.
func unasked(c *clock, l *latencies) sampler {
	return func() (float64, error) {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		<-timer.C
		if err := c.tell(); err != nil {
			return 0, err
		}
		return l.next(1)
	}
}

// latencies reads events that carry the time at which they were made.
type latencies struct {
	lines chan float64 // µs; what there is no room for does not count
	err   chan error
	all   []float64
}

func newLatencies(r io.Reader, mark string, keep int) *latencies {
	l := &latencies{lines: make(chan float64, keep), err: make(chan error, 1)}
	go func() {
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			arrived := time.Now().UnixNano()
			_, rest, found := bytes.Cut(scanner.Bytes(), []byte(mark))
			if !found || bytes.Contains(scanner.Bytes(), []byte(`"added"`)) {
				continue
			}
			end := 0
			for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
				end++
			}
			made, err := strconv.ParseInt(string(rest[:end]), 10, 64)
			if err != nil {
				l.err <- fmt.Errorf("no time in %q", scanner.Bytes())
				return
			}
			select {
			case l.lines <- float64(arrived-made) / 1e3:
			default:
			}
		}
		l.err <- fmt.Errorf("the stream ended: %w", scanner.Err())
	}()
	return l
}

// next returns the median of the next n.
func (l *latencies) next(n int) (float64, error) {
	values := make([]float64, 0, n)
	for len(values) < n {
		select {
		case v := <-l.lines:
			values = append(values, v)
		case err := <-l.err:
			return 0, err
		case <-time.After(10 * time.Second):
			return 0, fmt.Errorf("nothing comes any more")
		}
	}
	l.all = append(l.all, values...)
	return median(values), nil
}

func (l *latencies) p99() float64 { return quantile(l.all, 0.99) }
