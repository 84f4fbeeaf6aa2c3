//go:build linux

package main

import (
	"fmt"
	"slices"
	"time"
)

// counterPV is the first of the counters, on all servers.
const counterPV = "TEST:CALC00000"

var caCounters = measure{
	name: "ca-counters", title: "1,000 counters at 10 Hz to one libca client, 1,000 samples each: the server's processor time, over softIoc's",
	target: "none missing; at most 2, later 1", run: runCACounters,
}

// runCACounters has three servers side by side, the gateway and softIoc twice, each
// with its client. All samples are checked; the processor time is taken in windows.
func runCACounters(b *bench) (outcome, error) {
	const counters, samples = 1000, 1000
	records := counterRecords(counters)
	var servers []*caServer
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	for _, start := range []func() (*caServer, error){
		func() (*caServer, error) { return b.startCA(counterPV, countersDevice(counters, 10)) },
		func() (*caServer, error) { return b.startIOC(counterPV, records) },
		func() (*caServer, error) { return b.startIOC(counterPV, records) },
	} {
		s, err := start()
		if err != nil {
			return outcome{}, err
		}
		servers = append(servers, s)
	}
	counts := make([]*counting, len(servers))
	for i, s := range servers {
		var err error
		if counts[i], err = s.client.count(counters, samples); err != nil {
			return outcome{}, err
		}
	}
	used, err := processorTimes(servers, b.pairs, samples/10*time.Second*9/10)
	if err != nil {
		return outcome{}, err
	}
	for _, c := range counts {
		if err := c.wait(); err != nil {
			return outcome{}, err
		}
	}
	r := ratioOf(used[0], used[1], used[2])
	out := against(r, atMost(2), fmt.Sprintf("%.3f against %.3f cores; missing or wrong: %s, of softIoc %s",
		r.Subject, r.Reference, counts[0], counts[1]))
	if !counts[0].perfect() {
		out.Met = new(bool) // whatever can be measured of the time
	}
	return out, nil
}

// processorTimes returns the share of a core that each server uses, in windows that
// together last for total.
func processorTimes(servers []*caServer, windows int, total time.Duration) ([][]float64, error) {
	shares := make([][]float64, len(servers))
	before := make([]time.Duration, len(servers))
	ticker := time.NewTicker(total / time.Duration(windows+1))
	defer ticker.Stop()
	last := time.Now()
	for w := range windows + 1 {
		now := <-ticker.C
		for i, s := range servers {
			after, err := cpuTime(s.pid)
			if err != nil {
				return nil, err
			}
			if w > 0 {
				shares[i] = append(shares[i], float64(after-before[i])/float64(now.Sub(last)))
			}
			before[i] = after
		}
		last = now
	}
	return shares, nil
}

// A counting is what a client sees of counters.
type counting struct {
	client *caClient
	found  []float64 // samples; missing, come again, with time stamps out of order, not in alarm MINOR
}

// count subscribes to counters and returns when each has spoken.
func (c *caClient) count(counters, samples int) (*counting, error) {
	if _, err := c.ask("count TEST:CALC %d %d", counters, samples); err != nil {
		return nil, err
	}
	return &counting{client: c}, nil
}

// wait returns when each counter has given all its samples.
func (c *counting) wait() error {
	found, err := c.client.answer()
	if err == nil && len(found) != 5 {
		err = fmt.Errorf("the client on libca: a count of %v", found)
	}
	c.found = found
	return err
}

func (c *counting) samples() float64 { return c.found[0] }

func (c *counting) perfect() bool {
	return !slices.ContainsFunc(c.found[1:], func(n float64) bool { return n != 0 })
}

func (c *counting) String() string {
	if c.perfect() {
		return "none"
	}
	return fmt.Sprintf("%.0f missing, %.0f repeated, %.0f with times out of order, %.0f not in MINOR", c.found[1], c.found[2], c.found[3], c.found[4])
}

var fullRateCA = measure{
	name: "full-rate-ca", title: "the same to one Channel Access client on libca",
	target: "none missing, at most one core", run: runFullRateCA,
}

// runFullRateCA measures the gateway, then softIoc alone.
func runFullRateCA(b *bench) (outcome, error) {
	const counters, samples = 10_000, 100
	measured := func(start func() (*caServer, error)) (*counting, float64, error) {
		s, err := start()
		if err != nil {
			return nil, 0, err
		}
		defer s.stop()
		count, err := s.client.count(counters, samples)
		if err != nil {
			return nil, 0, err
		}
		before, err := cpuTime(s.pid)
		if err != nil {
			return nil, 0, err
		}
		begun := time.Now()
		if err := count.wait(); err != nil {
			return nil, 0, err
		}
		elapsed := time.Since(begun)
		after, err := cpuTime(s.pid)
		return count, float64(after-before) / float64(elapsed), err
	}
	mine, cores, err := measured(func() (*caServer, error) { return b.startCA(counterPV, countersDevice(counters, 10)) })
	if err != nil {
		return outcome{}, err
	}
	theirs, iocCores, err := measured(func() (*caServer, error) { return b.startIOC(counterPV, counterRecords(counters)) })
	if err != nil {
		return outcome{}, err
	}
	return absolute(fmt.Sprintf("%.0f missing, %.2f cores", mine.found[1], cores), mine.perfect() && cores <= 1,
		fmt.Sprintf("%.0f samples; missing or wrong: %s; softIoc alone %.2f cores, missing or wrong: %s", mine.samples(), mine, iocCores, theirs)), nil
}
