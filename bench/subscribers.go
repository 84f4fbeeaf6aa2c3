//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	subscribersREST    = subscribers(rest, "SSE subscriber")
	subscribersGraphQL = subscribers(graphQL, "GraphQL subscription of ready-made batches over SSE")
	subscribersGRPC    = subscribers(gRPC, "gRPC Watch, each on a connection of its own")
)

func subscribers(frontend, what string) measure {
	return measure{
		name:   "subscribers-" + frontend,
		title:  "processor time per update and " + what + ": with 1, 10, 100 and 1,000 of them, over that with 10",
		target: "with 1,000 at most 1.2, none missing",
		run:    func(b *bench) (outcome, error) { return runSubscribers(b, frontend) },
	}
}

// crowds are how many subscribers there are at a time, and which counter all of
// them follow: so that the gateway has about as much to deliver in each second,
// and more than its own noise for one subscriber. The second is one that all
// are compared with.
var crowds = [4]struct {
	subscribers int
	counter     string
	window      time.Duration
}{
	{1, "FAST.CALC00000", 400 * time.Millisecond},
	{10, "FAST.CALC00000", 400 * time.Millisecond},
	{100, "MEDIUM.CALC00000", 400 * time.Millisecond},
	{1000, "SLOW.CALC00000", time.Second},
}

const (
	threeCounters = "devices: {FAST: {driver: counters, count: 1, rate: 1000}, " +
		"MEDIUM: {driver: counters, count: 1, rate: 100}, SLOW: {driver: counters, count: 1, rate: 10}}\n"
	// subscriberRounds is less than a ratio's pairs, since the streams of each
	// round have to be opened anew.
	subscriberRounds = 5
)

// runSubscribers measures all crowds in turn, each beside what the gateway takes
// without any, which is subtracted. Beside event streams runs their floor.
func runSubscribers(b *bench, frontend string) (outcome, error) {
	gateway, err := startGateway(b.gateway, also(frontend)+threeCounters)
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	for _, c := range crowds {
		if err := gateway.waitFor(c.counter); err != nil {
			return outcome{}, err
		}
	}
	ours, err := newDeliveries(gateway.pid, gateway.where[frontend], followers[frontend])
	if err != nil {
		return outcome{}, err
	}
	all := []*deliveries{ours}
	if frontend == rest {
		floor, address, err := startFloor("streams")
		if err != nil {
			return outcome{}, err
		}
		defer floor.stop()
		bare, err := newDeliveries(floor.pid, "http://"+address, followREST)
		if err != nil {
			return outcome{}, err
		}
		all = append(all, bare)
	}
	for range subscriberRounds {
		for _, d := range all {
			if err := d.round(); err != nil {
				return outcome{}, err
			}
		}
	}
	note := fmt.Sprintf("%s µs; medians of %d rounds of all four", medians(ours.costs, "%.1f"), subscriberRounds)
	if len(all) > 1 {
		note += fmt.Sprintf("; of a bare loop that writes the same bytes %s: %s µs", medians(all[1].quotients, "%.2f"), medians(all[1].costs, "%.1f"))
	}
	met := median(ours.quotients[3]) <= 1.2 && ours.missing == 0
	return absolute(fmt.Sprintf("%s; %d missing", medians(ours.quotients, "%.2f"), ours.missing), met, note), nil
}

func medians(of [4][]float64, format string) string {
	var texts [4]string
	for i, figures := range of {
		texts[i] = fmt.Sprintf(format, median(figures))
	}
	return strings.Join(texts[:], ", ")
}

// deliveries are what a server takes for each crowd.
type deliveries struct {
	pid    int
	where  string
	follow follower
	files  int // that are open without a crowd

	costs, quotients [4][]float64 // of each crowd
	missing          int
}

func newDeliveries(pid int, where string, follow follower) (*deliveries, error) {
	files, err := openFiles(pid)
	return &deliveries{pid: pid, where: where, follow: follow, files: files}, err
}

// round measures each crowd once.
func (d *deliveries) round() error {
	var round [4]float64
	for i, c := range crowds {
		if err := waitForFiles(d.pid, d.files); err != nil {
			return err
		}
		idle, err := processorShare(d.pid, 400*time.Millisecond)
		if err != nil {
			return err
		}
		s, err := subscribe(d.where, d.follow, c.subscribers, c.counter)
		if err != nil {
			return err
		}
		round[i], err = costPerDelivery(d.pid, s, c.window, idle)
		d.missing += s.close()
		if err != nil {
			return err
		}
	}
	for i, cost := range round {
		d.costs[i] = append(d.costs[i], cost)
		d.quotients[i] = append(d.quotients[i], cost/round[1])
	}
	return nil
}

// openFiles counts what a process has open, its connections among it.
func openFiles(pid int) (int, error) {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(files), err
}

// waitForFiles waits until a process has closed all that clients have left.
func waitForFiles(pid, want int) error {
	for limit := time.Now().Add(20 * time.Second); ; {
		n, err := openFiles(pid)
		if err != nil || n <= want {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the gateway still has %d files open, and had %d", n, want)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// costPerDelivery is the processor time that a process takes for each delivery,
// in µs, without the share that it uses anyway.
func costPerDelivery(pid int, c *crowd, window time.Duration, idle float64) (float64, error) {
	before, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	delivered, start := c.delivered.Load(), time.Now()
	<-time.After(window)
	after, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	elapsed := time.Since(start)
	if delivered = c.delivered.Load() - delivered; delivered == 0 {
		return 0, errors.New("nothing was delivered")
	}
	used := float64(after-before) - idle*float64(elapsed)
	return used / 1e3 / float64(delivered), nil
}

// A crowd is many subscribers that follow the same counter and miss nothing.
type crowd struct {
	cancel    context.CancelFunc
	done      sync.WaitGroup
	delivered atomic.Int64
	missing   atomic.Int64
}

// subscribe starts n subscribers and returns when each has got something.
func subscribe(where string, follow follower, n int, counter string) (*crowd, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd{cancel: cancel}
	ready, failed := make(chan struct{}, n), make(chan error, n)
	for range n {
		c.done.Go(func() {
			last := -1.0
			err := follow(ctx, where, counter, func(_ string, value float64) bool {
				switch {
				case last < 0:
					ready <- struct{}{}
				case value > last+1:
					c.missing.Add(int64(value - last - 1))
				}
				last = value
				c.delivered.Add(1)
				return true
			})
			failed <- err // and nobody hears it when the crowd is closed
		})
	}
	limit := time.After(30 * time.Second)
	for i := range n {
		select {
		case <-ready:
		case err := <-failed:
			c.close()
			return nil, fmt.Errorf("one of %d subscribers: %w", n, err)
		case <-limit:
			c.close()
			return nil, fmt.Errorf("of %d subscribers only %d got something", n, i)
		}
	}
	return c, nil
}

// close ends all subscribers, and returns how many updates they missed.
func (c *crowd) close() int {
	c.cancel()
	c.done.Wait()
	return int(c.missing.Load())
}
