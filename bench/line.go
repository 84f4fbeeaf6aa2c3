//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
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
	target: "", run: func(b *bench) (outcome, error) { return lineRatio(b, 0, followSSE) },
}

var polledToSSE = measure{
	name: "line-polled", title: "the same for polled values",
	target: "", run: func(b *bench) (outcome, error) { return lineRatio(b, pollPeriod, followSSE) },
}

var unsolicitedToCA = measure{
	name: "line-ca", title: "pseudo-terminal to Channel Access monitor, unsolicited values, median latency, over a bare loop",
	target: "", run: func(b *bench) (outcome, error) { return lineRatio(b, 0, followCA) },
}

var polledToCA = measure{
	name: "line-ca-polled", title: "the same for polled values",
	target: "", run: func(b *bench) (outcome, error) { return lineRatio(b, pollPeriod, followCA) },
}

const pollPeriod = 5 * time.Millisecond

const lineDevice = `
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
func lineRatio(b *bench, poll time.Duration, follow follow) (outcome, error) {
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
	keep := 0 // Of polled values only those count that somebody waits for.
	if poll == 0 {
		keep = 1
	}
	subject, stop, err := follow(b, fmt.Sprintf(lineDevice, ours.pair.Path, attribute), keep)
	if err != nil {
		return outcome{}, err
	}
	defer stop()
	floor, address, err := startFloor("line", theirs.pair.Path, poll.String())
	if err != nil {
		return outcome{}, err
	}
	defer floor.stop()
	bare, err := net.Dial("tcp", address)
	if err != nil {
		return outcome{}, err
	}
	defer bare.Close()

	reference := newLatencies(bare, "T=", keep)
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

// follow starts a gateway with a device and a client that tells how old the clock's
// times are when they come. Of those that nobody waits for it keeps so many.
type follow func(b *bench, device string, keep int) (l *latencies, stop func(), err error)

func followSSE(b *bench, device string, keep int) (*latencies, func(), error) {
	gateway, err := startGateway(b.gateway, restOnly+device)
	if err != nil {
		return nil, nil, err
	}
	stream, err := openStream(context.Background(), gateway.base+"/api/v1/stream?match=clock.t")
	if err != nil {
		gateway.stop()
		return nil, nil, err
	}
	return newLatencies(stream, `"value":`, keep), func() { _ = stream.Close(); gateway.stop() }, nil
}

func followCA(b *bench, device string, keep int) (*latencies, func(), error) {
	gateway, err := b.startCA("CLOCK:T", device)
	if err != nil {
		return nil, nil, err
	}
	if _, err := gateway.client.ask("follow CLOCK:T"); err != nil {
		gateway.stop()
		return nil, nil, err
	}
	l := &latencies{lines: make(chan float64, keep), err: make(chan error, 1)}
	go func() {
		for {
			age, err := gateway.client.answer()
			if err != nil {
				l.err <- err
				return
			}
			l.add(age[0] / 1e3)
		}
	}()
	return l, gateway.stop, nil
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
			l.add(float64(arrived-made) / 1e3)
		}
		l.err <- fmt.Errorf("the stream ended: %w", scanner.Err())
	}()
	return l
}

func (l *latencies) add(age float64) {
	select {
	case l.lines <- age:
	default:
	}
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
