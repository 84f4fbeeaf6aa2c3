//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"sync"
	"time"
)

// A measure is one row of the table.
type measure struct {
	name   string // for -only
	title  string
	target string
	run    func(b *bench) (outcome, error)
}

// An outcome is what a measure found. Met is nil if it has no target.
type outcome struct {
	Value string `json:"value"`
	Met   *bool  `json:"met,omitempty"`
	Note  string `json:"note,omitempty"`
	Ratio *ratio `json:"ratio,omitempty"`
}

var measures = []measure{
	caGet, caGetP99, caGetFloor, caGetFloorP99, caGetFastCS, caGetCaproto, caGetLoaded,
	caPut, caPutP99, caPutIOC, caPutFastCS, caPutCaproto, caConnect, caArray, caCounters,
	restGet, restGetOne, restGetFastCS, restPutFastCS, graphQuery, busRoundTrip,
	unsolicitedToSSE, polledToSSE, unsolicitedToCA, polledToCA, putThroughLine, lineExchanges, fanOut,
	subscribersREST, subscribersGraphQL, subscribersGRPC,
	fullRate, fullRateGraphQL, fullRateGRPC, fullRateCA, watchCost, idleWithBroker, idleWithout, memory, memoryAttribute, memoryClient, neverRead, lateJoin,
}

// A bench has what measures share.
type bench struct {
	dir      string // for what is needed while it runs
	gateway  string // binary
	nobroker string // binary built with -tags nobroker
	// keepAlive is the bare program beside an idle gateway.
	keepAlive string
	pairs     int
	window    time.Duration // of one measurement

	// What several measures need is made when the first one asks.
	epics func() (*epics, error)
	gets  func() (*rounds, error)
	puts  func() (*rounds, error)

	atEnd []func()
}

func newBench(dir string, pairs int, window time.Duration) *bench {
	b := &bench{
		dir: dir, gateway: filepath.Join(dir, "gateway"), nobroker: filepath.Join(dir, "gateway-nobroker"),
		keepAlive: filepath.Join(dir, "keepalive"), pairs: pairs, window: window,
	}
	b.epics = sync.OnceValues(func() (*epics, error) { return findEPICS(b) })
	b.gets = sync.OnceValues(func() (*rounds, error) { return takeGets(b) })
	b.puts = sync.OnceValues(func() (*rounds, error) { return takePuts(b) })
	return b
}

func (b *bench) end() {
	for _, end := range b.atEnd {
		end()
	}
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "-pinned" {
		fail(execPinned(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == "-floor" {
		fail(runFloor(os.Args[2], os.Args[3:]))
		return
	}
	only := flag.String("only", "*", "run the measures with names like this, as in 'ca-*', and write them to the page beside the others")
	pairs := flag.Int("pairs", minPairs+1, "pairs of each ratio")
	window := flag.Duration("window", 400*time.Millisecond, "length of one measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fail(run(ctx, *only, *pairs, *window))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string, pairs int, window time.Duration) error {
	if pairs < minPairs {
		return fmt.Errorf("%d pairs are too few: at least %d", pairs, minPairs)
	}
	dir, err := os.MkdirTemp("", "polygate-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := setEnvironment(); err != nil {
		return err
	}
	b := newBench(dir, pairs, window)
	defer b.end()
	if err := errors.Join(
		build(ctx, "./cmd/gateway", b.gateway), build(ctx, "./cmd/gateway", b.nobroker, "-tags", "nobroker"),
		build(ctx, "./bench/keepalive", b.keepAlive),
	); err != nil {
		return err
	}
	if err := pinSelf(); err != nil {
		return err
	}
	results := map[string]outcome{}
	for _, m := range measures {
		switch wanted, err := path.Match(only, m.name); {
		case err != nil:
			return fmt.Errorf("-only %s: %w", only, err)
		case !wanted:
			continue
		}
		fmt.Fprintf(os.Stderr, "%s ...\n", m.title)
		result, err := m.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Fprintf(os.Stderr, "  %s  %s\n", result.Value, result.Note)
		results[m.name] = result
	}
	if len(results) == 0 {
		return fmt.Errorf("there is no measure like %q", only)
	}
	return writeReport(results)
}

func build(ctx context.Context, source, binary string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-o", binary}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, source)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s (run this from the root of the repository): %w", source, err)
	}
	return nil
}

// against makes the outcome of a ratio, which may have a target.
func against(r ratio, bound *bound, note string) outcome {
	r.Bound = bound
	out := outcome{Value: r.String(), Ratio: &r, Note: note}
	if bound != nil && r.measurable() {
		met := bound.holds(r.Median)
		out.Met = &met
	}
	return out
}

// absolute makes the outcome of a count.
func absolute(value string, met bool, note string) outcome {
	return outcome{Value: value, Met: &met, Note: note}
}
